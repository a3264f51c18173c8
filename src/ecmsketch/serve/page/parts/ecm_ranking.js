// A list of items with their counts, as bars with whiskers for the bounds. Text is always interpolated, never HTML.
export default {
  emits: ["pick"],
  props: { rows: Array, slots: Number, selected: Array, empty: String, name: String, still: Boolean, tone: String },
  template: `
    <ol class="ecm-rows" :class="tone" :aria-label="name" :style="{ minHeight: slots * 46 + 'px' }">
      <template v-if="rows === null">
        <li v-for="n in slots" :key="n" class="ecm-row" aria-hidden="true"><span class="ecm-skeleton"></span></li>
      </template>
      <li v-else-if="rows.length === 0" class="ecm-empty">{{ empty }}</li>
      <li v-else v-for="(row, place) in rows" :key="place">
        <component :is="still ? 'div' : 'button'" class="ecm-row" :type="still ? null : 'button'"
            :class="{ chosen: selected && selected.includes(row.key) }"
            :aria-pressed="still ? null : String(!!selected && selected.includes(row.key))" :aria-label="row.say"
            @click="still || $emit('pick', row.key)"
            @keydown.down.prevent="move($event, 1)" @keydown.up.prevent="move($event, -1)">
          <span class="ecm-name">{{ row.text }}</span>
          <span class="ecm-count">{{ row.value }}</span>
          <span class="ecm-bar"><i :style="{ width: percent(row.bar) }"></i>
            <b v-if="row.high > row.low" :style="{ left: percent(row.low), width: percent(row.high - row.low) }"></b>
          </span>
          <span class="ecm-bounds">{{ row.bounds }}</span>
        </component>
      </li>
    </ol>`,
  methods: {
    percent(share) {
      return (100 * share).toFixed(2) + "%";
    },
    move(event, step) {
      const rows = [...this.$el.querySelectorAll("button")];
      rows[rows.indexOf(event.currentTarget) + step]?.focus();
    },
  },
};
