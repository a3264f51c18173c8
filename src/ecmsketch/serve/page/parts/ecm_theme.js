// Light or dark: follows the system until a choice is made, which this browser remembers.
const PLACE = "ecmsketch-theme";
export default {
  data: () => ({ choice: localStorage.getItem(PLACE) || "auto" }),
  template: `
    <button type="button" class="ecm-button ecm-theme" :aria-label="'Colours: ' + choice + '. Change'" @click="next">
      <span aria-hidden="true">{{ { auto: "◐", light: "☀", dark: "☾" }[choice] }}</span>
    </button>`,
  created() {
    this.apply();
  },
  methods: {
    apply() {
      this.$q.dark.set(this.choice === "auto" ? "auto" : this.choice === "dark");
    },
    next() {
      const shown = this.$q.dark.isActive ? "dark" : "light";
      this.choice = this.choice === "auto" ? (shown === "dark" ? "light" : "dark") : this.choice === "light" ? "dark" : "light";
      localStorage.setItem(PLACE, this.choice);
      this.apply();
    },
  },
};
