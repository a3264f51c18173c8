// Large numbers, each with a note and a sparkline.
export default {
  props: { tiles: Array },
  template: `
    <ul class="ecm-tiles" aria-label="Totals">
      <li v-for="(tile, place) in tiles || [{}, {}, {}, {}]" :key="place" class="ecm-card ecm-tile" :class="tile.tone">
        <span class="ecm-label">{{ tile.label }}</span>
        <strong class="ecm-big"><template v-if="tiles">{{ tile.value }}</template><span v-else class="ecm-skeleton"></span></strong>
        <span class="ecm-note">{{ tile.note }}</span>
        <svg v-if="tile.points" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
          <path class="fill" :d="line(tile.points) + ' L100 24 L0 24 Z'" /><path class="line" :d="line(tile.points)" />
        </svg>
      </li>
    </ul>`,
  methods: {
    line(points) {
      const most = Math.max(...points, 1e-9);
      const step = 100 / Math.max(points.length - 1, 1);
      return points.map((y, n) => `${n ? "L" : "M"}${(n * step).toFixed(2)} ${(23 - (21 * y) / most).toFixed(2)}`).join("");
    },
  },
};
