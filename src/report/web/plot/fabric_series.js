// Groups records of messages over the network into curves over size.
import { groupBy } from '../model.js';

const parts = (list) => list.filter((part) => part !== undefined && part !== '').join('/');

/** @returns {string} the key of a panel: equal for all records of one operation and kind of memory */
const panelKey = ({ case: c }) =>
  parts([c.operation, c.bidirectional ? 'two-way' : 'one-way', c.memory, c.memory_path, c.provider]);

const curveKey = ({ place, device, mode, case: c }) =>
  parts([
    ...[place.journal.name, device, mode, c.nodes, c.rails, c.mode],
    ...[c.operation === 'all_to_all' ? '' : c.window, c.chunk, c.issue, c.producers, c.fifo],
  ]);

function curveOf(records) {
  const points = [...records].sort((a, b) => a.case.bytes - b.case.bytes);
  const { place, mode, case: c } = points.at(-1);
  const bound = Math.max(...points.map(({ verdict }) => verdict?.bound ?? 0));
  const best = Math.max(...points.map(({ rates }) => rates.gbit_per_s));
  return { place, mode, case: c, points, best, bound };
}

/**
 * @returns {{key: string, curves: Object[]}[]} the curves of each operation and memory, one for each
 *     place, number of nodes and rails, mode of rails, window, and way of issuing
 */
export function fabricCurves(model) {
  const measured = model.records.filter(
    (r) => r.benchmark === 'fabric' && r.case.bytes > 0 && r.rates.gbit_per_s > 0,
  );
  return [...groupBy(measured, panelKey)]
    .map(([key, records]) => ({
      key,
      curves: [...groupBy(records, curveKey).values()]
        .filter((some) => some.length > 1)
        .map(curveOf),
    }))
    .filter(({ curves }) => curves.length);
}
