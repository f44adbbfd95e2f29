// Groups records of collectives into curves over size.
import { groupBy } from '../model.js';

export const RATE = 'busbw_gb_per_s';

/** @returns {string} the key of a panel: equal for all records of one call */
export const callKey = ({ case: c }) =>
  [c.collective, c.type, c.op, c.root, c.layout, c.in_place ? 'in-place' : 'out-of-place']
    .filter((part) => part !== undefined && part !== '')
    .join('/');

const seriesKey = ({ place, device, engine, mode, case: c }) =>
  [place.journal.name, device, engine, mode, c.ranks, c.packet].join('/');

function curvesOf(records) {
  return [...groupBy(records, seriesKey).values()]
    .filter((some) => some.length > 1)
    .map((some) => {
      const points = [...some].sort((a, b) => a.case.bytes - b.case.bytes);
      const { place, engine, mode, case: c } = points.at(-1);
      const bounds = points
        .map(({ verdict }) => verdict?.rate === RATE && verdict.bound)
        .filter(Boolean);
      const best = Math.max(...points.map(({ rates }) => rates[RATE]));
      return { place, engine, mode, case: c, points, best, bound: bounds.at(-1) };
    });
}

/**
 * @returns {{key: string, curves: Object[]}[]} for each call its curves, one for each place, engine,
 *     mode, number of ranks and size of packets
 */
export function collectiveCurves(model) {
  const measured = model.records.filter(
    (r) => r.benchmark === 'collective' && r.case.bytes > 0 && r.rates[RATE] > 0,
  );
  return [...groupBy(measured, callKey)]
    .map(([key, records]) => ({ key, curves: curvesOf(records) }))
    .filter(({ curves }) => curves.length);
}
