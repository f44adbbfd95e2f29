// Bus bandwidth of collectives over the number of nodes: a panel for each call, at the largest size that
// several numbers of nodes have, a curve for each engine. What a study reports stands beside it.
import { bytes, count, number, spaces, words } from '../format.js';
import { differing, modeLabel } from '../labels.js';
import { groupBy } from '../model.js';
import { callKey, RATE } from '../plot/collective_series.js';
import { counted, curveChart, MARGIN } from '../plot/curves.js';
import { LINEAR } from '../plot/scales.js';
import { tableOf } from '../table.js';

export const order = 20.5; // behind the charts over size
export { section } from './collective_curves.js';

const nodesOf = ({ case: c, nodes }) => nodes ?? c.nodes;
const rateOf = (one) => one.rates?.[RATE] ?? one[RATE];

/** The same simulated cluster with other numbers of nodes is another device. */
const clusterOf = ({ device }) => device.replace(/:nodes=\d+/, '');

const drawn = curveChart({
  rateOf,
  unit: 'GB/s',
  name: 'bus bandwidth',
  size: 'nodes',
  over: counted(nodesOf, 'Nodes', MARGIN),
  start: LINEAR,
});

const curveKey = (one) => [clusterOf(one), one.engine, one.mode, one.case.packet].join('/');

/** Curves of records of one call and size, whatever journals they are from. */
function curvesOf(records) {
  const clusters = differing(records, [clusterOf]);
  const mode = modeLabel(records);
  const curves = drawn.curves(records, curveKey, 1);
  for (const one of curves)
    one.name = spaces(clusters.map((of) => of(one.points[0])), one.engine, mode(one));
  return curves;
}

function largestOfSeveral(records) {
  const sizes = [...groupBy(records, ({ case: c }) => c.bytes)].filter(
    ([, some]) => differing(some, [nodesOf]).length,
  );
  return sizes.sort(([a], [b]) => b - a)[0]?.[1];
}

const table = (curves, reported) =>
  tableOf(
    [
      ...curves.flatMap(({ name, points }) => points.map((one) => ({ name, one }))),
      ...reported.map((one) => ({ name: `${one.device}, reported elsewhere`, one })),
    ],
    { Series: ({ name }) => name },
    { Nodes: ({ one }) => count(nodesOf(one)), 'GB/s': ({ one }) => number(rateOf(one)) },
    { Source: ({ one }) => one.source ?? '' },
  );

function panel(model, key, records) {
  const [{ case: c }] = records;
  const all = curvesOf(records);
  const reported = (model.data.reported_collectives ?? []).filter(
    ({ collective }) => collective === c.collective,
  );
  return drawn.panel({
    all,
    reported,
    id: `collective-nodes-${key}`,
    title: [
      `${spaces(words(c.collective), c.type, c.op, bytes(c.bytes))} over nodes`,
      c.in_place ? 'in place' : 'out of place',
    ],
    after: reported.length && 'The study measured its largest size, with 8 GPUs a node.',
    places: [...new Set(records.map(({ place }) => place))],
    table: table(all, reported),
  });
}

export function panels(model) {
  const measured = model.records.filter(
    (one) => one.benchmark === 'collective' && nodesOf(one) > 1 && rateOf(one) > 0,
  );
  return [...groupBy(measured, callKey)]
    .map(([key, records]) => [key, largestOfSeveral(records)])
    .filter(([, records]) => records)
    .map(([key, records]) => panel(model, key, records));
}
