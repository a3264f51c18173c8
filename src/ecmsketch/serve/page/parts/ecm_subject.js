// What the history is about: all arrivals, one item, or two. Long items are cut; the whole text comes on demand.
export default {
  emits: ["compare", "drop", "whole"],
  props: { subjects: Array, comparing: Boolean, can: Boolean, problem: String, full: String },
  template: `
    <div class="ecm-subject">
      <div v-for="(subject, place) in subjects" :key="place" class="ecm-about">
        <i class="ecm-swatch" :class="'line' + place" aria-hidden="true"></i>
        <span class="ecm-name">{{ subject.text }}</span>
        <strong class="ecm-count">{{ subject.value }}</strong>
        <span class="ecm-bounds">{{ subject.bounds }}</span>
        <button v-if="subject.cut" type="button" class="ecm-link" @click="$emit('whole', subject.key)">whole text</button>
        <button v-if="subject.key" type="button" class="ecm-link" :aria-label="'Remove ' + subject.text"
            @click="$emit('drop', subject.key)">remove</button>
      </div>
      <button v-if="can" type="button" class="ecm-button ecm-compare" :aria-pressed="String(comparing)"
          @click="$emit('compare')">{{ comparing ? "Now pick a second item" : "Compare" }}</button>
      <p v-if="problem" class="ecm-problem" role="alert">{{ problem }}</p>
      <q-dialog :model-value="!!full" @update:model-value="$emit('whole', null)">
        <div class="ecm-card ecm-whole" role="dialog" aria-label="Whole text of the item">
          <pre tabindex="0">{{ full }}</pre>
          <button type="button" class="ecm-button" @click="$emit('whole', null)">Close</button>
        </div>
      </q-dialog>
    </div>`,
};
