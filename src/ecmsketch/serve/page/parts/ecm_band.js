// A history with its band, drawn by ECharts as NiceGUI ships it. It gets numbers and times, never the text of items.
export default {
  props: { history: Array }, // empty, or one object: a list is not copied by the server
  template: `<div class="ecm-chart" role="img" :aria-label="shown ? shown.say : 'No history yet'"></div>`,
  computed: {
    shown() {
      return this.history?.[0];
    },
  },
  async mounted() {
    const { echarts } = await import("nicegui-echart");
    if (!this.$el.isConnected) return;
    this.chart = echarts.init(this.$el, null, { renderer: "canvas" });
    this.sizes = new ResizeObserver(() => this.chart.resize());
    this.sizes.observe(this.$el);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.draw();
  },
  beforeUnmount() {
    this.sizes?.disconnect();
    this.themes?.disconnect();
    this.chart?.dispose();
  },
  watch: {
    history() {
      this.draw();
    },
  },
  methods: {
    colour(name) {
      return getComputedStyle(document.body).getPropertyValue(name).trim();
    },
    draw() {
      if (!this.chart) return;
      if (!this.shown) return this.chart.clear();
      const muted = this.colour("--ecm-muted"), rule = this.colour("--ecm-rule");
      const text = { color: muted, fontFamily: "Roboto, sans-serif", fontSize: 11 };
      this.chart.setOption(
        {
          animation: false,
          grid: { left: 8, right: 12, top: 12, bottom: 4, containLabel: true },
          tooltip: {
            trigger: "axis", renderMode: "richText", confine: true, formatter: this.words,
            backgroundColor: this.colour("--ecm-card"), borderColor: rule,
            textStyle: { ...text, color: this.colour("--ecm-text"), fontSize: 12 },
          },
          xAxis: { type: "category", data: this.shown.labels, boundaryGap: false, axisLabel: { ...text, hideOverlap: true, margin: 14, alignMinLabel: "left", alignMaxLabel: "right" },
            axisLine: { lineStyle: { color: rule } }, axisTick: { show: false } },
          yAxis: { type: "value", min: 0, axisLabel: text, splitLine: { lineStyle: { color: rule } }, splitNumber: 4 },
          series: this.shown.lines.flatMap((line, place) => this.series(line, place)),
        },
        { notMerge: true },
      );
    },
    series(line, place) {
      const color = this.colour(`--ecm-line${place}`);
      const plain = { type: "line", showSymbol: false, silent: true, symbol: "none" };
      const hidden = { ...plain, stack: `band${place}`, lineStyle: { opacity: 0 }, emphasis: { disabled: true } };
      return [
        { ...hidden, data: line.low },
        { ...hidden, data: line.high.map((high, n) => high - line.low[n]), areaStyle: { color, opacity: 0.2 } },
        { ...plain, data: line.value, lineStyle: { color, width: 2 }, itemStyle: { color } },
      ];
    },
    words(points) {
      const at = points[0].dataIndex;
      const number = (value) => Number(value.toFixed(1)).toLocaleString("en");
      const lines = this.shown.lines.map(
        (line, place) =>
          `${this.shown.lines.length > 1 ? (place ? "second: " : "first: ") : ""}${number(line.value[at])}` +
          `  (${number(line.low[at])} to ${number(line.high[at])})`,
      );
      return [this.shown.labels[at], ...lines].join("\n");
    },
  },
};
