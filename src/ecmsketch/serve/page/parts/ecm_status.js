// How fresh the data is. The age counts up in the browser, so that nothing is sent while nothing changes.
export default {
  props: { status: Object, name: String },
  data: () => ({ clock: Date.now(), offset: 0 }),
  template: `
    <div class="ecm-status" :class="status.state" role="status">
      <i class="ecm-dot" aria-hidden="true"></i>
      <span class="ecm-state">{{ status.word }}</span>
      <span v-if="status.asof" class="ecm-asof">{{ status.asof }}</span>
      <span v-if="status.written" class="ecm-age" aria-live="off">{{ age }}</span>
      <span v-if="status.sites" class="ecm-speak">{{ status.sites }}</span>
      <span v-if="status.rejected" class="ecm-rejected" title="Rows that were not counted; How sure? says why">{{ status.rejected }}</span>
    </div>`,
  mounted() {
    this.timer = setInterval(() => (this.clock = Date.now()), 1000);
  },
  unmounted() {
    clearInterval(this.timer);
  },
  watch: {
    status: {
      immediate: true,
      handler(status) {
        this.clock = Date.now();
        this.offset = status.sent * 1000 - this.clock; // the clocks of browser and server may differ
      },
    },
  },
  computed: {
    age() {
      const seconds = Math.max(0, Math.round((this.clock + this.offset) / 1000 - this.status.written));
      if (seconds < 60) return `written ${seconds} s ago`;
      if (seconds < 3600) return `written ${Math.floor(seconds / 60)} min ago`;
      if (seconds < 172800) return `written ${Math.floor(seconds / 3600)} h ago`;
      return `written ${Math.floor(seconds / 86400)} days ago`;
    },
  },
};
