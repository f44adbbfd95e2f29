// Groups records of copies into a matrix of device pairs, and finds slow pairs. The reference of a pair
// is the value that its verdict expects or, if not all pairs have one, the median of all pairs.
import { number, pathText, percent } from '../format.js';
import { groupBy, upperMedian } from '../model.js';

export const OUTLIER = 0.1; // share of the reference by which a slow pair is under it
const MOST_NAMED = 6; // pairs named one by one

const launchKey = ({ case: c }) => `${c.grid}/${c.block}`;

function most(groups, better) {
  return [...groups].reduce((best, group) => (!best || better(group, best) ? group : best), null);
}

/**
 * The matrix of one way of copying. It has the size with the most pairs (of several, the largest), and
 * of that size the launch with the most pairs (of several, the fastest).
 * @returns {Object} { size, pairs (records), middle (their median, GB/s), expected (whether all
 *     have an expected value), launches (their number), case, place }
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

/** @returns {number} the deviation of a pair from its reference: -0.1 is 10% under */
export const deviationOf = (record, matrix) =>
  record.rates.gb_per_s / (matrix.expected ? record.verdict.expected : matrix.middle) - 1;

/** @returns {boolean} whether a pair is slow */
export const isUnder = (record, matrix) => deviationOf(record, matrix) < -OUTLIER;

/** @returns {string} the name of the reference */
export const reference = (matrix) => (matrix.expected ? 'what is expected' : 'the median');

/** @returns {Array} findings of a panel: the slow pairs, or that there are none */
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
