// A banner for each machine whose figures are in doubt because other programs used its CPU.
import { h } from './dom.js';
import { plural } from './format.js';
import { machinesOf } from './machines.js';
import { wordOf } from './model.js';

/** @returns {Node[]} the banners; none if all machines were quiet */
export function busyBanner(model) {
  return machinesOf(model).flatMap(({ name, records }) => {
    const busy = records.filter((record) => wordOf(record) === 'unknown: busy');
    if (!busy.length) return [];
    const why = busy[0].verdict.sentence.replace(/^unknown: busy: /, '');
    const are = busy.length === 1 ? 'is' : 'are';
    const text = `${name} was busy: ${plural(busy.length, 'figure')} of its CPU ${are} in doubt (for the first, ${why}). Measure again on a quiet machine.`;
    return [h('p.headline.bad', text)];
  });
}
