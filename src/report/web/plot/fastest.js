// Finds which of several engines is the fastest at which sizes, by the intervals of their medians.
import { groupBy } from '../model.js';

/** The upper and the lower end of the interval of a record's median. */
const most = ({ seconds }) => seconds.ci_high ?? seconds.median;
const least = ({ seconds }) => seconds.ci_low ?? seconds.median;

/** The curves at one size than which no other is faster by more than both intervals. */
function unbeaten(points) {
  const bar = Math.min(...points.map(({ record }) => most(record)));
  return points.filter(({ record }) => least(record) <= bar).map(({ curve }) => curve);
}

/**
 * Divides the sizes into ranges. The curve of a range is the one that stays unbeaten for the most sizes
 * from the range's beginning; of several, the one that is faster at its end.
 * @param {Object[]} curves of one place and number of ranks: records in `points`
 * @returns {{curve: Object, from: number, to: number}[]} in order of sizes; [] if fewer than two sizes
 *     have at least two curves
 */
export function fastestRanges(curves) {
  const all = curves.flatMap((curve) => curve.points.map((record) => ({ curve, record })));
  const sizes = [...groupBy(all, ({ record }) => record.case.bytes)]
    .filter(([, points]) => points.length > 1)
    .sort(([a], [b]) => a - b)
    .map(([bytes, points]) => ({ bytes, points, first: unbeaten(points) }));
  if (sizes.length < 2) return [];
  const ranges = [];
  for (let at = 0; at < sizes.length; ) {
    const stays = (curve) => {
      const end = sizes.findIndex(({ first }, i) => i >= at && !first.includes(curve));
      return end < 0 ? sizes.length : end;
    };
    const end = Math.max(...sizes[at].first.map(stays));
    const secondsAt = (curve) =>
      sizes[end - 1].points.find((point) => point.curve === curve).record.seconds.median;
    const [curve] = sizes[at].first
      .filter((one) => stays(one) === end)
      .sort((a, b) => secondsAt(a) - secondsAt(b));
    ranges.push({ curve, from: sizes[at].bytes, to: sizes[end - 1].bytes });
    at = end;
  }
  return ranges;
}
