// Bus bandwidth of collectives against size: a panel for each call, with a curve for each engine and
// lines at the sizes where another engine becomes the fastest.
import { bytes, number, spaces, words } from '../format.js';
import { differing, modeLabel, placeLabels } from '../labels.js';
import { groupBy } from '../model.js';
import { callKey, RATE } from '../plot/collective_series.js';
import { curveChart, sizesOf } from '../plot/curves.js';
import { fastestRanges } from '../plot/fastest.js';

export const order = 20;
export const section = {
  id: 'collectives',
  title: 'Collectives: bus bandwidth against size',
  short: 'Collectives',
};

const rateOf = ({ rates }) => rates[RATE];
const boundOf = ({ verdict }) => verdict?.rate === RATE && verdict.bound;
const drawn = curveChart({
  rateOf,
  boundOf: (points) => points.map(boundOf).filter(Boolean).at(-1),
  unit: 'GB/s',
  name: 'bus bandwidth',
  size: 'size, as nccl-tests counts it',
  roof: 'roofline',
  columns: {
    us: ({ seconds }) => number(seconds.median * 1e6),
    'GB/s': (record) => number(rateOf(record)),
  },
});

const curveKey = ({ place, device, engine, mode, case: c }) =>
  [place.journal.name, device, engine, mode, c.ranks, c.packet].join('/');
const ranksOf = ({ case: c }) => `${c.ranks} ranks`;

/** Names curves by the facts in which they differ. */
function named(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const mode = modeLabel(curves);
  const ranks = differing(curves, [ranksOf]);
  for (const one of curves) {
    const cut = one.case.packet && `${bytes(one.case.packet)} packets`;
    const facts = ranks.map((fact) => fact(one));
    one.name = spaces(labels.get(one.place), one.engine, cut, facts, mode(one));
  }
  return curves;
}

/** fastestRanges() for each place and number of ranks, within which engines can be compared. */
const rangesOf = (curves) =>
  [...groupBy(curves, ({ place, case: c }) => `${place.journal.name}/${place.device}/${c.ranks}`)]
    .map(([, some]) => fastestRanges(some))
    .filter((ranges) => ranges.length);

/** Reference lines at the sizes where another engine becomes the fastest. */
const changes = (groups) =>
  groups.flatMap((ranges) =>
    ranges.slice(1).map(({ curve, from }) => ({
      axis: 'x',
      at: Math.log2(from),
      label: `${curve.name} fastest from ${bytes(from)}`,
      position: 'insideStartTop',
    })),
  );

function sentence(ranges) {
  const [{ curve }, ...others] = ranges;
  if (!others.length) return `${curve.name} is the fastest at every size, or as fast as any.`;
  const range = ({ curve: one, from, to }, i, { length }) => {
    if (i === 0) return `${one.name} up to ${bytes(to)}`;
    if (i === length - 1) return `${one.name} from ${bytes(from)} on`;
    return `${one.name} from ${bytes(from)} to ${bytes(to)}`;
  };
  return `The fastest, or as fast as any: ${ranges.map(range).join(', ')}.`;
}

function panel(key, all, xs) {
  const ranges = rangesOf(named(all));
  const [{ case: c }] = all;
  return drawn.panel({
    all,
    xs,
    id: `collective-${key}`,
    title: [
      spaces(words(c.collective), c.type, c.op, c.layout && words(c.layout)),
      c.root > 0 && `root ${c.root}`,
      c.in_place ? 'in place' : 'out of place',
    ],
    about: (curves) => !differing(curves, [ranksOf]).length && `${ranksOf(curves[0])}.`,
    findings: ranges.map(sentence),
    lines: changes(ranges),
    tableOf: 'drawn',
  });
}

export function panels(model) {
  const measured = model.records.filter(
    (one) => one.benchmark === 'collective' && one.case.bytes > 0 && rateOf(one) > 0,
  );
  const groups = drawn.groups(measured, callKey, curveKey);
  const sizes = sizesOf(groups);
  return groups.map(([key, curves]) => panel(key, curves, sizes));
}
