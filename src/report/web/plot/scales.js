// What the y axis of curves of rates is: rates over their logarithm or from zero, or their ratio to the
// best of all curves at the same place on the x axis, which shows differences that the others hide.
import { number, plain, ratio } from '../format.js';
import { groupBy } from '../model.js';
import { decadeAxis, linearAxis } from './axes.js';

/** Rates over their decimal logarithm: `to` gives coordinates of the y axis, `from` rates. */
const DECADES = { to: Math.log10, from: (y) => 10 ** y, axis: decadeAxis };
/** Rates over themselves from zero, in the form of DECADES. */
const FROM_ZERO = {
  to: (rate) => rate,
  from: (y) => y,
  axis: (theme, rates, ...how) => linearAxis(theme, [0, ...rates], ...how, 6),
};
/** Rates over themselves, near their own range. */
const IN_RANGE = { ...FROM_ZERO, axis: (theme, rates, ...how) => linearAxis(theme, rates, ...how, 6) };

/** The scales by their place in a choice. */
export const LOGARITHMIC = 0;
export const LINEAR = 1;
export const NEAR = 2;
const RATIO = 3;
const KINDS = [DECADES, FROM_ZERO, IN_RANGE];

/** The choice of a scale, of which `start` is the first. */
export const scaleChoice = (start) => ({
  name: 'Scale',
  values: ['logarithmic', 'linear', 'linear, not from 0', 'ratio to the best'],
  start,
});

/**
 * @param {number} which a place in the choice's values
 * @param {Object[]} curves with records in `points`
 * @param {{xOf: (record) => number, rateOf: (record) => number, lower: boolean, name: string,
 *     unit: string}} of `lower`: the lowest is the best
 * @returns {{y: (x: number, rate: number) => number, text: (y: number) => string,
 *     level: ((rate: number) => number)|null, axis: (theme, rates: number[], narrow: boolean) => Object}}
 *     `y`: the coordinate of a rate at a place, NaN if nothing can be compared there; `level`: that of a
 *     rate at every place, null if it has none
 */
export function scaleOf(which, curves, { xOf, rateOf, lower, name, unit }) {
  if (which !== RATIO) {
    const { to, from, axis } = KINDS[which];
    return {
      y: (_, rate) => to(rate),
      text: (y) => `${number(from(y))} ${unit}`,
      level: to,
      axis: (theme, rates, narrow) => axis(theme, rates, narrow ? unit : `${name}, ${unit}`, 36, plain),
    };
  }
  const all = curves.flatMap(({ points }) => points);
  const best = new Map(
    [...groupBy(all, xOf)].map(([x, some]) => {
      const rates = some.map(rateOf);
      return [x, lower ? Math.min(...rates) : Math.max(...rates)];
    }),
  );
  const y = (x, rate) => rate / (best.get(x) ?? NaN);
  const ratios = all.map((record) => y(xOf(record), rateOf(record)));
  return {
    y,
    text: (value) => `${ratio(value)} of the best`,
    level: null,
    axis: (theme, _, narrow) =>
      IN_RANGE.axis(theme, [...ratios, 1], narrow ? 'of the best' : `${name}, of the best`, 36, ratio),
  };
}
