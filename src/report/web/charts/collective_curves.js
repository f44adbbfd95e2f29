// Bus bandwidth of collectives against size: a panel for each call, with a curve for each engine and
// lines at the sizes where another engine becomes the fastest.
import { bytes, number, words } from '../format.js';
import { modeLabel, placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { collectiveCurves } from '../plot/collective_series.js';
import { fastestRanges } from '../plot/fastest.js';
import { sizeCurves, sizesOf } from '../plot/size_curves.js';

export const order = 20;
export const section = {
  id: 'collectives',
  title: 'Collectives: bus bandwidth against size',
  short: 'Collectives',
};

const rateOf = ({ rates }) => rates.busbw_gb_per_s;
const drawn = sizeCurves({
  rateOf,
  unit: 'GB/s',
  name: 'bus bandwidth',
  size: 'size, as nccl-tests counts it',
  roof: 'roofline',
});

/** Names curves by the facts in which they differ. */
function named(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const mode = modeLabel(curves);
  const several = new Set(curves.map((one) => one.case.ranks)).size > 1;
  for (const one of curves) {
    const ranks = several && `${one.case.ranks} ranks`;
    const cut = one.case.packet && `${bytes(one.case.packet)} packets`;
    one.name = [labels.get(one.place), one.engine, cut, ranks, mode(one)].filter(Boolean).join(' ');
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

function titleOf({ case: c }) {
  const what = [words(c.collective), c.type, c.op, c.layout && words(c.layout)];
  const root = c.root > 0 ? `, root ${c.root}` : '';
  return `${what.filter(Boolean).join(' ')}${root}, ${c.in_place ? 'in place' : 'out of place'}`;
}

function panel({ key, curves: all }, sizes) {
  const curves = drawn.tell(named(all));
  const ranges = rangesOf(all);
  const places = curves.map((one) => one.place);
  const ranks = [...new Set(curves.map((one) => one.case.ranks))];
  const left = all.length - curves.length;
  return {
    id: `collective-${key.replaceAll(/[^\w]+/g, '-')}`,
    title: titleOf(curves[0]),
    caption: [
      simulatedNote(places),
      ranks.length === 1 ? `${ranks[0]} ranks.` : '',
      left > 0 ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: ranges.map(sentence),
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: drawn.legend(curves),
    places,
    choices: drawn.choices,
    option: (how) => drawn.option(curves, sizes, changes(ranges), how),
    table: drawn.table(curves, ['us', 'GB/s'], (record) => [
      number(record.seconds.median * 1e6),
      number(rateOf(record)),
    ]),
  };
}

export function panels(model) {
  const groups = collectiveCurves(model);
  const sizes = sizesOf(groups);
  return groups.map((group) => panel(group, sizes));
}
