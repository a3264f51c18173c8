// One small history for each site, all on the same scale.
export default {
  props: { sites: Array, note: String, slots: Number },
  template: `
    <div class="ecm-multiples">
      <ul aria-label="History by site">
        <li v-for="(site, place) in sites || []" :key="place" :aria-label="site.say">
          <span class="ecm-name">{{ site.text }}</span><span class="ecm-count">{{ site.value }}</span>
          <svg viewBox="0 0 100 32" preserveAspectRatio="none" aria-hidden="true">
            <path class="fill" :d="band(site)" /><path class="line" :d="line(site.points)" />
          </svg>
        </li>
      </ul>
      <p class="ecm-note">{{ note }}</p>
    </div>`,
  methods: {
    steps(values) {
      const step = 100 / Math.max(values.length - 1, 1);
      return values.map((y, n) => `${(n * step).toFixed(2)} ${(31 - 29 * y).toFixed(2)}`);
    },
    line(values) {
      return "M" + this.steps(values).join("L");
    },
    band(site) {
      return "M" + [...this.steps(site.low), ...this.steps(site.high).reverse()].join("L") + "Z";
    },
  },
};
