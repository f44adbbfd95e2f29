// Copies as a matrix of pairs: which records make one, and which pairs fall out of it.
import { number, percent, place as short } from '../format.js';
import { groupBy, median } from '../model.js';

export const OUTLIER = 0.1; // of the median

const launchKey = ({ case: c }) => `${c.grid}/${c.block}`;

function most(groups, better) {
  return [...groups].reduce((best, group) => (!best || better(group, best) ? group : best), null);
}

/**
 * Of one way of copying: the size with the most pairs (then the largest), the fastest launch.
 * @returns {Object} { size, pairs (records), middle (their median, GB/s), launches, case, place }
 */
export function matrixOf(records) {
  const [size, atSize] = most(
    groupBy(records, (r) => r.case.bytes),
    ([a, some], [b, best]) => some.length > best.length || (some.length === best.length && a > b),
  );
  const middle = (some) => median(some.map((r) => r.rates.gb_per_s));
  const launches = groupBy(atSize, launchKey);
  const [, chosen] = most(
    launches,
    ([, some], [, best]) =>
      some.length > best.length || (some.length === best.length && middle(some) > middle(best)),
  );
  const byPath = groupBy(chosen, ({ case: c }) => `${c.source} ${c.destination}`);
  const pairs = [...byPath.values()].map((some) => some.at(-1));
  return {
    size,
    pairs,
    middle: middle(pairs),
    launches: launches.size,
    case: chosen[0].case,
    place: chosen[0].place,
  };
}

/** @returns {number} how far a pair is from the median, relative to it: -0.1 is 10% under */
export const deviationOf = (record, matrix) => record.rates.gb_per_s / matrix.middle - 1;
const outliersOf = (matrix) =>
  matrix.pairs
    .filter((record) => Math.abs(deviationOf(record, matrix)) > OUTLIER)
    .sort((a, b) => a.rates.gb_per_s - b.rates.gb_per_s);

/** @returns {string} "0 > 3", or "0 <> 3" for both ways */
export function pathText({ case: c }) {
  return `${short(c.source)} ${c.bidirectional ? '<>' : '>'} ${short(c.destination)}`;
}

/** @returns {Array} what the matrix says in words: outliers, or that there are none */
export function findingsOf(matrix) {
  const outliers = outliersOf(matrix);
  if (!outliers.length) {
    const widest = Math.max(...matrix.pairs.map((record) => Math.abs(deviationOf(record, matrix))));
    const within = widest < 0.001 ? '0.1%' : percent(widest);
    return [
      `All ${matrix.pairs.length} pairs are within ${within} of the median, ${number(matrix.middle)} GB/s.`,
    ];
  }
  return outliers.map((record) => {
    const deviation = deviationOf(record, matrix);
    const side = deviation < 0 ? 'under' : 'above';
    const text =
      `${pathText(record)} moves ${number(record.rates.gb_per_s)} GB/s, ` +
      `${percent(Math.abs(deviation))} ${side} the median of all pairs.`;
    return { text, alert: true };
  });
}

/** The devices at an end ("source", "destination") of the pairs, in the order of their numbers. */
export function devicesAt(matrix, end) {
  const names = new Set(matrix.pairs.map(({ case: c }) => c[end]));
  return [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}
