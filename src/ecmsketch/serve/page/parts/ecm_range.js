// The chosen range: presets, and a slider whose steps grow with the range.
export default {
  emits: ["choose"],
  props: { presets: Array, last: Number, most: Number, text: String, words: String },
  data: () => ({ dragged: null }),
  template: `
    <div class="ecm-range" role="group" aria-label="Range">
      <div class="ecm-presets">
        <button v-for="preset in presets" :key="preset.last" type="button" :aria-pressed="String(preset.last === last)"
            :aria-label="'Last ' + preset.long" @click="$emit('choose', preset.last)">{{ preset.text }}</button>
      </div>
      <input type="range" min="0" max="1000" :value="dragged ?? place" :aria-label="'Range: ' + words" :aria-valuetext="words"
          @input="dragged = Number($event.target.value)" @change="choose">
      <output class="ecm-last">{{ dragged === null ? text : near(ticks(dragged)) }}</output>
    </div>`,
  watch: {
    last() {
      this.dragged = null; // until the answer is there the slider stays where it was put
    },
  },
  computed: {
    place() {
      return this.most > 1 ? Math.round((1000 * Math.log(this.last)) / Math.log(this.most)) : 1000;
    },
  },
  methods: {
    ticks(place) {
      return Math.max(1, Math.min(this.most, Math.round(Math.exp((place / 1000) * Math.log(this.most)))));
    },
    near(last) {
      const below = this.presets.filter((preset) => preset.last <= last).pop();
      return below ? `${(last / below.last).toFixed(1).replace(/\.0$/, "")} × ${below.text}` : `${last}`;
    },
    choose(event) {
      const last = this.ticks(event.target.value);
      if (last === this.last) this.dragged = null;
      else this.$emit("choose", last);
    },
  },
};
