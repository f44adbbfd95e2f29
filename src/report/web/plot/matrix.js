// Copies as a matrix of pairs: which records make one, and which pairs are slower than they should be:
// than their verdict expects or, where there is none, than the median.
import { number, pathText, percent } from '../format.js';
import { groupBy, upperMedian } from '../model.js';

export const OUTLIER = 0.1; // of what a pair is held against
const MOST_NAMED = 6; // pairs named one by one

const launchKey = ({ case: c }) => `${c.grid}/${c.block}`;

function most(groups, better) {
  return [...groups].reduce((best, group) => (!best || better(group, best) ? group : best), null);
}

/**
 * Of one way of copying: the size with the most pairs (then the largest), the fastest launch.
 * @returns {Object} { size, pairs (records), middle (their median, GB/s), expected (whether all
 *     have a verdict to be held against), launches, case, place }
 */
export function matrixOf(records) {
  const [size, atSize] = most(
    groupBy(records, (r) => r.case.bytes),
    ([a, some], [b, best]) => some.length > best.length || (some.length === best.length && a > b),
  );
  const middle = (some) => upperMedian(some.map((r) => r.rates.gb_per_s));
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
    expected: pairs.every(({ verdict }) => verdict?.expected > 0),
    launches: launches.size,
    case: chosen[0].case,
    place: chosen[0].place,
  };
}

/** @returns {number} how far a pair is from what it is held against: -0.1 is 10% under */
export const deviationOf = (record, matrix) =>
  record.rates.gb_per_s / (matrix.expected ? record.verdict.expected : matrix.middle) - 1;

/** @returns {boolean} whether a pair is slower than the others let expect */
export const isUnder = (record, matrix) => deviationOf(record, matrix) < -OUTLIER;

/** @returns {string} what pairs are held against */
export const reference = (matrix) => (matrix.expected ? 'what is expected' : 'the median');

/** @returns {Array} what the matrix says in words: pairs that are too slow, or that there are none */
export function findingsOf(matrix) {
  const { pairs } = matrix;
  const far = (record) => percent(Math.abs(deviationOf(record, matrix)));
  const under = pairs
    .filter((record) => isUnder(record, matrix))
    .sort((a, b) => deviationOf(a, matrix) - deviationOf(b, matrix));
  const against = ({ verdict }) =>
    matrix.expected
      ? `the ${number(verdict.expected)} GB/s expected`
      : `the median of all pairs, ${number(matrix.middle)} GB/s`;
  const text = (record) =>
    `${pathText(record.case)} moves ${number(record.rates.gb_per_s)} GB/s, ` +
    `${far(record)} under ${against(record)}.`;
  if (under.length > MOST_NAMED) {
    const first =
      `${under.length} of ${pairs.length} pairs are more than ${percent(OUTLIER)} under ` +
      `${reference(matrix)}. The slowest: ${text(under[0])}`;
    return [{ text: first, alert: true }];
  }
  if (under.length) return under.map((record) => ({ text: text(record), alert: true }));
  const rates = pairs.map((record) => record.rates.gb_per_s);
  const [from, to] = [Math.min(...rates), Math.max(...rates)].map(number);
  return [
    `No pair is more than ${percent(OUTLIER)} under ${reference(matrix)}; all ${pairs.length} move ${
      from === to ? from : `${from} to ${to}`
    } GB/s.`,
  ];
}

/** The devices at an end ("source", "destination") of the pairs, in the order of their numbers. */
export function devicesAt(matrix, end) {
  const names = new Set(matrix.pairs.map(({ case: c }) => c[end]));
  return [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}
