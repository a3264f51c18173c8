// What monitors noticed, newest first.
export default {
  props: { alarms: Array, empty: String },
  template: `
    <ul class="ecm-alarms" aria-label="Alarms" aria-live="polite">
      <li v-for="(alarm, place) in alarms || []" :key="place" :class="alarm.tone">
        <i class="ecm-dot" aria-hidden="true"></i><span class="ecm-name">{{ alarm.text }}</span>
        <time>{{ alarm.when }}</time><span class="ecm-note">{{ alarm.note }}</span>
      </li>
      <li v-if="alarms && alarms.length === 0" class="ecm-empty">{{ empty }}</li>
    </ul>`,
};
