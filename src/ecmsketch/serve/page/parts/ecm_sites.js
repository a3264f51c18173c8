// The chosen sites. The server searches, so that thousands of sites cost the browser nothing.
export default {
  emits: ["all", "search", "toggle"],
  props: { label: String, matches: Array, more: String, some: Boolean },
  data: () => ({ text: "" }),
  template: `
    <button type="button" class="ecm-button ecm-sites" aria-haspopup="dialog" :aria-label="'Sites: ' + label">
      <span>{{ label }}</span><span aria-hidden="true">▾</span>
      <q-menu anchor="bottom left" self="top left" class="ecm-menu" max-height="420px" @show="opened" @before-hide="text = ''">
        <div role="dialog" aria-label="Choose sites">
          <input ref="search" v-model="text" type="search" placeholder="Search sites" aria-label="Search sites"
              @input="$emit('search', text)">
          <button type="button" class="ecm-all" :disabled="!some" @click="$emit('all')">All sites</button>
          <label v-for="site in matches" :key="site.key" class="ecm-site">
            <input type="checkbox" :checked="site.on" @change="$emit('toggle', site.key)"><span>{{ site.text }}</span>
          </label>
          <p v-if="more" class="ecm-note">{{ more }}</p>
        </div>
      </q-menu>
    </button>`,
  methods: {
    opened() {
      this.$emit("search", "");
      this.$refs.search.focus();
    },
  },
};
