// Rate of messages over the network against size: a panel for each operation and memory, a curve for
// each place and use of the rails.
import { bytes, commas, number, words } from '../format.js';
import { differing, modeLabel, placeLabels } from '../labels.js';
import { curveChart, sizesOf } from '../plot/curves.js';

export const order = 25;
export const section = {
  id: 'fabric',
  title: 'Messages between nodes: rate against size',
  short: 'Fabric',
};

const rateOf = ({ rates }) => rates.gbit_per_s;
const drawn = curveChart({
  rateOf,
  boundOf: (points) => Math.max(...points.map(({ verdict }) => verdict?.bound ?? 0)),
  unit: 'Gbit/s',
  name: 'rate',
  size: 'size of a message',
  roof: 'links',
  columns: {
    'Gbit/s': (record) => number(rateOf(record)),
    'median latency, us': ({ rates }) => number(rates.latency_p50_us),
  },
});

const parts = (list) => list.filter((part) => part !== undefined && part !== '').join('/');

/** @returns {string} the key of a panel: equal for all records of one operation and kind of memory */
const panelKey = ({ case: c }) =>
  parts([c.operation, c.bidirectional ? 'two-way' : 'one-way', c.memory, c.memory_path, c.provider]);

const curveKey = ({ place, device, mode, case: c }) =>
  parts([
    ...[place.journal.name, device, mode, c.nodes, c.rails, c.mode],
    ...[c.operation === 'all_to_all' ? '' : c.window, c.chunk, c.issue, c.producers, c.fifo],
  ]);

const fact = (axis, text) => ({ case: c }) => (c[axis] === undefined ? '' : text(c[axis]));

/** The facts in which curves of one panel can differ, in the order in which names have them. */
const FACTS = [
  fact('nodes', (value) => `${value} nodes`),
  fact('rails', (value) => `${value} rails`),
  fact('mode', words),
  fact('window', (value) => `window ${value}`),
  fact('issue', words),
  fact('producers', (value) => `${value} producers`),
  fact('fifo', (value) => `fifo ${value}`),
  fact('chunk', (value) => (value > 0 ? `pieces of ${bytes(value)}` : 'in one piece')),
];

/** Names curves by the facts in which they differ. */
function named(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const mode = modeLabel(curves);
  const facts = differing(curves, FACTS);
  for (const one of curves)
    one.name = commas(labels.get(one.place), facts.map((of) => of(one)), mode(one)) || 'rate';
  return curves;
}

function panel(key, all, xs) {
  const [{ case: c }] = all;
  return drawn.panel({
    all: named(all),
    xs,
    id: `fabric-${key}`,
    title: [
      words(c.operation),
      c.bidirectional && c.operation !== 'all_to_all' && 'both ways',
      c.memory_path ? `GPU memory, ${c.memory_path}` : `${c.memory} memory`,
      `by ${c.provider}`,
    ],
    tableOf: 'drawn',
  });
}

export function panels(model) {
  const measured = model.records.filter(
    (one) => one.benchmark === 'fabric' && one.case.bytes > 0 && rateOf(one) > 0,
  );
  const groups = drawn.groups(measured, panelKey, curveKey);
  const sizes = sizesOf(groups);
  return groups.map(([key, curves]) => panel(key, curves, sizes));
}
