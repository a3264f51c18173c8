// A box to ask about any item.
export default {
  emits: ["ask"],
  props: { label: String, hint: String },
  data: () => ({ text: "" }),
  template: `
    <form class="ecm-ask" role="search" @submit.prevent="ask">
      <input v-model="text" type="search" :aria-label="label" :placeholder="hint" autocomplete="off" spellcheck="false">
      <button type="submit" class="ecm-button">Ask</button>
    </form>`,
  methods: {
    ask() {
      if (this.text) this.$emit("ask", this.text);
    },
  },
};
