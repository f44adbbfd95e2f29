// Rate of messages over the network against size: a panel for each operation and memory, a curve for
// each use of the rails.
import { bytes, number, words } from '../format.js';
import { modeLabel, placeLabels } from '../labels.js';
import { fabricCurves } from '../plot/fabric_series.js';
import { sizeCurves, sizesOf } from '../plot/size_curves.js';

export const order = 25;
export const section = {
  id: 'fabric',
  title: 'Messages between nodes: rate against size',
  short: 'Fabric',
};

const rateOf = ({ rates }) => rates.gbit_per_s;
const drawn = sizeCurves({
  rateOf,
  unit: 'Gbit/s',
  name: 'rate',
  size: 'size of a message',
  roof: 'links',
});

/** The facts in which curves of one panel can differ, in the order in which names have them. */
const FACTS = [
  ['nodes', (value) => `${value} nodes`],
  ['rails', (value) => `${value} rails`],
  ['mode', words],
  ['window', (value) => `window ${value}`],
  ['issue', words],
  ['producers', (value) => `${value} producers`],
  ['fifo', (value) => `fifo ${value}`],
  ['chunk', (value) => (value > 0 ? `pieces of ${bytes(value)}` : 'in one piece')],
];

/** Names curves by the facts in which they differ. */
function named(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const mode = modeLabel(curves);
  const differ = FACTS.filter(([axis]) => new Set(curves.map((one) => one.case[axis])).size > 1);
  for (const one of curves) {
    const facts = differ
      .filter(([axis]) => one.case[axis] !== undefined)
      .map(([axis, text]) => text(one.case[axis]));
    one.name = [labels.get(one.place), ...facts, mode(one)].filter(Boolean).join(', ') || 'rate';
  }
  return curves;
}

function titleOf({ case: c }) {
  const memory = c.memory_path ? `GPU memory, ${c.memory_path}` : `${c.memory} memory`;
  const way = c.bidirectional && c.operation !== 'all_to_all' ? ', both ways' : '';
  return `${words(c.operation)}${way}, ${memory}, by ${c.provider}`;
}

function panel({ key, curves: all }, sizes) {
  const curves = drawn.tell(named(all));
  const left = all.length - curves.length;
  return {
    id: `fabric-${key.replaceAll(/[^\w]+/g, '-')}`,
    title: titleOf(curves[0]),
    caption: left > 0 ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    findings: [],
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: drawn.legend(curves),
    places: curves.map((one) => one.place),
    choices: drawn.choices,
    option: (how) => drawn.option(curves, sizes, [], how),
    table: drawn.table(curves, ['Gbit/s', 'median latency, us'], (record) => [
      number(rateOf(record)),
      number(record.rates.latency_p50_us),
    ]),
  };
}

export function panels(model) {
  const groups = fabricCurves(model);
  const sizes = sizesOf(groups);
  return groups.map((group) => panel(group, sizes));
}
