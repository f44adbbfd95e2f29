// Remarks on a record: why it has no figures, its verdict, what the engine chose, whether the device was
// throttled, warnings.
import { semicolons, words } from './format.js';
import { reasonOf } from './model.js';

/** @returns {string} why the device was throttled: "power cap; heat"; "" if it was not */
export const throttleOf = ({ telemetry }) => (telemetry?.throttle ?? []).join('; ');

function noteText([name, text]) {
  if (name === 'algorithm') return text;
  if (name === 'first_median') return `measured twice, its first median of ${text} was in doubt`;
  return `${words(name)}: ${text}`;
}

/** @returns {string} */
export function remarksOf(record) {
  const throttled = throttleOf(record);
  return semicolons(
    reasonOf(record),
    record.verdict?.sentence,
    Object.entries(record.notes ?? {}).map(noteText),
    throttled && `throttled: ${throttled}`,
    record.warnings ?? [],
  );
}
