// What is wrong with the store, and what happens next.
export default {
  props: { title: String, words: String, advice: String, over: Boolean },
  template: `
    <section class="ecm-card ecm-notice" :class="{ over }" role="alert" aria-live="assertive">
      <h2>{{ title }}</h2><p>{{ words }}</p><p class="ecm-note">{{ advice }}</p>
    </section>`,
};
