// Copies as curves over size: which records make one, and the line that was fitted through it.
import { pathText } from '../format.js';
import { groupBy } from '../model.js';
import { boundOf, fastestCopy, hostMemory, wayOrder } from './copies.js';

/** @returns {string} the same for records of one way of copying: a panel's */
const wayKey = ({ case: c }) =>
  [c.kind, c.pattern, Boolean(c.bidirectional), hostMemory(c)].join('/');

const seriesKey = (record) => {
  const c = record.case;
  return [
    record.place.journal.name,
    record.device,
    record.engine,
    c.executor,
    c.issue,
    c.grid,
    c.block,
    record.mode,
  ].join('/');
};
const pathOf = ({ case: c }) => pathText(c);

/** The path with the most sizes, and its records by size. */
function longestPath(records) {
  let best = { path: '', records: [] };
  for (const [path, some] of groupBy(records, pathOf)) {
    if (some.length > best.records.length) best = { path, records: some };
  }
  return { path: best.path, records: best.records.sort((a, b) => a.case.bytes - b.case.bytes) };
}

/** The copy_curve record that was fitted through these records; it has no mode of its own. */
function fitOf(fits, record) {
  const key = (one) => seriesKey({ ...one, mode: '' }) + wayKey(one) + pathOf(one);
  return fits.find((fit) => key(fit) === key(record));
}

/**
 * A curve a place, executor, issue and launch.
 * @returns {Object[]} { place, case, mode, path, points, best, bound, fit }: `points` are records
 *     by size, `best` GB/s, `bound` that of the largest copy that has one, `fit` a copy_curve record
 *     or undefined
 */
function curvesOf(records, fits) {
  const curves = [];
  for (const some of groupBy(records, seriesKey).values()) {
    const { path, records: points } = longestPath(some);
    if (points.length < 2) continue;
    const last = points.at(-1);
    curves.push({
      place: last.place,
      case: last.case,
      mode: last.mode,
      path,
      points,
      best: fastestCopy(points).rates.gb_per_s,
      bound: points.map(boundOf).filter(Boolean).at(-1),
      fit: fitOf(fits, last),
    });
  }
  return curves;
}

/** @returns {[string, Object[]][]} the curves of each way of copying, in the order of panels */
export function copyCurves(model) {
  const copies = model.records.filter(
    (r) => r.benchmark === 'copy' && r.case.bytes > 0 && r.rates.gb_per_s > 0,
  );
  const fits = model.records.filter((r) => r.benchmark === 'copy_curve');
  return [...groupBy(copies, wayKey)]
    .map(([key, records]) => [key, curvesOf(records, fits)])
    .filter(([, curves]) => curves.length)
    .sort(([, a], [, b]) => wayOrder(a[0].case) - wayOrder(b[0].case));
}
