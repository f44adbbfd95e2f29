// Bus bandwidth of collectives against size: a panel for each call, in place and not, a curve for each
// engine, and where one engine passes another.
import { bytes, number, words } from '../format.js';
import { modeLabel, placeLabels, simulatedNote } from '../labels.js';
import { collectiveCurves } from '../plot/collective_series.js';
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

/** Names curves by what differs. */
function named(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const mode = modeLabel(curves);
  const several = new Set(curves.map((one) => one.case.ranks)).size > 1;
  for (const one of curves) {
    const ranks = several && `${one.case.ranks} ranks`;
    one.name = [labels.get(one.place), one.engine, ranks, mode(one)].filter(Boolean).join(' ');
  }
  return curves;
}

/** Where an engine passes another within the sizes that both were measured at. */
const passes = ({ rates }) => rates.crossover_bytes > rates.smallest_bytes;

const crossings = (crossovers) =>
  crossovers.filter(passes).map(({ engine, rates }) => ({
    axis: 'x',
    at: Math.log2(rates.crossover_bytes),
    label: `${engine} from ${bytes(rates.crossover_bytes)}`,
    position: 'insideStartTop',
  }));

const sentence = ({ engine, case: c, rates }) =>
  `${engine} is at least as fast as ${c.against} ` +
  `${passes({ rates }) ? `from ${bytes(rates.crossover_bytes)} on` : 'at every size'}: ` +
  `${number(rates.times_as_fast)} times at ${bytes(rates.largest_bytes)}.`;

function titleOf({ case: c }) {
  const what = [words(c.collective), c.type, c.op, c.layout && words(c.layout)];
  const root = c.root > 0 ? `, root ${c.root}` : '';
  return `${what.filter(Boolean).join(' ')}${root}, ${c.in_place ? 'in place' : 'out of place'}`;
}

function panel({ key, curves: all, crossovers }, sizes) {
  const curves = drawn.tell(named(all));
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
    findings: crossovers.map(sentence),
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: drawn.legend(curves),
    places,
    option: (how) => drawn.option(curves, sizes, crossings(crossovers), how),
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
