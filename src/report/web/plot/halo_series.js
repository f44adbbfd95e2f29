// What the charts of halo exchange share: names of curves, and what these show in words.
import { commas, percent, ratio, spaces } from '../format.js';
import { modeLabel, placeLabels } from '../labels.js';

/** The section of all charts of halo exchange. */
export const section = { id: 'halo', title: 'Halo exchange (Jacobi)', short: 'Halo' };

export const isMeasured = ({ benchmark, rates }) => benchmark === 'halo' && rates.gb_per_s > 0;

/** The key of a curve: of a place, engine, overlap and graph. */
export const makerKey = ({ place, device, mode, engine, case: c }) =>
  [place.journal.name, device, mode, engine, c.overlap, c.graph].join('/');

/** Names curves by their engine and by what else they differ in. */
export function named(curves) {
  const labels = placeLabels(curves.map(({ place }) => place));
  const mode = modeLabel(curves);
  for (const one of curves) {
    const facts = spaces(one.engine, one.case.overlap && 'overlap', one.case.graph && 'graph');
    one.name = commas(labels.get(one.place), facts, mode(one));
  }
  return curves;
}

const SAME = 1.03; // curves that are nowhere further apart coincide

/** The largest ratio of two curves at a place that both have; 0: they share none. */
function apart(one, other, xOf, rateOf) {
  const ratios = one.points.flatMap((record) => {
    const same = other.points.find((point) => xOf(point) === xOf(record));
    const over = same ? rateOf(record) / rateOf(same) : 0;
    return over > 0 ? [Math.max(over, 1 / over)] : [];
  });
  return Math.max(0, ...ratios);
}

const listed = (names) =>
  names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0];

/**
 * What curves show, in sentences: which is the best at the last place, by how much, and which coincide.
 * @param {Object[]} curves see curvesOf() @param {{xOf, rateOf, lower: boolean, at: (x) => string}} what
 */
export function conclusions(curves, { xOf, rateOf, lower, at }) {
  if (curves.length < 2) return [];
  const last = Math.max(...curves.flatMap(({ points }) => points.map(xOf)));
  const there = curves
    .flatMap((curve) => {
      const record = curve.points.find((point) => xOf(point) === last);
      return record ? [{ curve, rate: rateOf(record) }] : [];
    })
    .sort((a, b) => (lower ? a.rate - b.rate : b.rate - a.rate));
  const over = (i) => Math.max(there[0].rate / there[i].rate, there[i].rate / there[0].rate);
  const equal = there.filter((_, i) => over(i) <= SAME).map(({ curve }) => curve);
  const slowest = there.length - 1;
  const names = listed(equal.map(({ name }) => name));
  const fast = equal.length > 1 ? 'are equally fast' : 'is the fastest';
  const far = `${there[slowest].curve.name} takes ${ratio(over(slowest))} times as long`;
  const whole = `${at(last)} all curves are within ${percent(over(slowest) - 1)}.`;
  const said = equal.length === there.length ? whole : `${at(last)} ${names} ${fast}; ${far}.`;
  const best = there.length < 2 ? '' : said;
  const groups = [];
  for (const curve of curves) {
    const group = groups.find((some) =>
      some.every((one) => {
        const most = apart(one, curve, xOf, rateOf);
        return most > 0 && most <= SAME;
      }),
    );
    if (group) group.push(curve);
    else groups.push([curve]);
  }
  const same = groups
    .filter((some) => some.length > 1)
    .map((some) => listed(some.map(({ name }) => name)))
    .map((all) => `${all} coincide: nowhere more than ${percent(SAME - 1)} apart.`);
  return [best, ...same].filter(Boolean);
}
