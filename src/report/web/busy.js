// A banner where figures are in doubt because other programs used the CPU.
import { h } from './dom.js';
import { plural } from './format.js';
import { wordOf } from './model.js';

/** @returns {Node[]} the banner; none if the machine was quiet */
export function busyBanner(model) {
  const busy = model.records.filter((record) => wordOf(record) === 'unknown: busy');
  if (!busy.length) return [];
  const why = busy[0].verdict.sentence.replace(/^unknown: busy: /, '');
  const text = `The machine was busy: ${plural(busy.length, 'figure')} of the CPU ${busy.length === 1 ? 'is' : 'are'} in doubt (${why}). Measure again on a quiet machine.`;
  return [h('p', { class: 'headline bad' }, text)];
}
