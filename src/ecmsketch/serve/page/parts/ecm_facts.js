// Terms and what they mean here, in words.
export default {
  props: { facts: Array },
  template: `
    <dl class="ecm-facts"><div v-for="fact in facts || []" :key="fact.term">
      <dt>{{ fact.term }}</dt><dd>{{ fact.words }}</dd>
    </div></dl>`,
};
