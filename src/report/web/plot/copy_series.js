// Groups records of copies into curves over size, with the lines that were fitted through them.
import { number, pathText, percent } from '../format.js';
import { groupBy } from '../model.js';
import { boundOf, fastestCopy, hostMemory, wayOrder } from './copies.js';

/** @returns {string} the key of a panel: equal for all records of one way of copying */
const wayKey = ({ case: c }) =>
  [c.kind, c.pattern, Boolean(c.bidirectional), hostMemory(c)].join('/');

const seriesKey = ({ place, device, engine, mode, case: c }) =>
  [place.journal.name, device, engine, c.executor, c.issue, c.grid, c.block, mode].join('/');
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

const MOST_MISS = 0.1;
const MOST_BEYOND = 0.5;

/**
 * Decides whether a line is shown: only if it is near its points. Journals of earlier builds also have
 * lines that are not.
 * @returns {{fit?: Object, miss?: number, noFit?: string}} the record, the largest relative distance
 *     of the line from a point, or why there is no line
 */
function believed(fit, points, best) {
  if (!fit || fit.notes?.no_fit) return { noFit: fit?.notes.no_fit };
  const { latency_us: latency, asymptotic_gb_per_s: limit } = fit.rates;
  const missOf = ({ rates, seconds }) =>
    Math.abs(latency / 1e6 / seconds.median + rates.gb_per_s / limit - 1);
  const miss = Math.max(...points.map(missOf));
  if (miss > MOST_MISS) return { noFit: `the line misses a size by ${percent(miss)}` };
  if (limit > (1 + MOST_BEYOND) * best)
    return { noFit: `its limit is ${number(limit / best)} times the best that was measured` };
  return latency > 0 ? { fit, miss } : { noFit: 'no latency shows' };
}

/**
 * The curves of a way of copying: one for each place, engine, executor, issue, launch and mode.
 * @returns {Object[]} { place, case, mode, path, points, best, bound, fit, miss, noFit }: `points`
 *     are records by size, `best` is in GB/s, `bound` is that of the largest copy that has one, `fit`
 *     is a copy_curve record that describes the points within `miss`, or undefined with the reason in
 *     `noFit`
 */
function curvesOf(records, fits) {
  return [...groupBy(records, seriesKey).values()].flatMap((some) => {
    const { path, records: points } = longestPath(some);
    if (points.length < 2) return [];
    const last = points.at(-1);
    const { place, case: c, mode } = last;
    const best = fastestCopy(points).rates.gb_per_s;
    const bound = points.map(boundOf).filter(Boolean).at(-1);
    const line = believed(fitOf(fits, last), points, best);
    return [{ place, case: c, mode, path, points, best, bound, ...line }];
  });
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
