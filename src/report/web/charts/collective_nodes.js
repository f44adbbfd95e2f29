// Bus bandwidth of collectives over the number of nodes: a panel for each call, at the largest size that
// several numbers of nodes have, a curve for each engine. What a study reports stands beside it.
import { bytes, count, number, words } from '../format.js';
import { modeLabel, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { valueAxis } from '../plot/axes.js';
import { callKey, RATE } from '../plot/collective_series.js';
import { reportedMarks } from '../plot/marks.js';
import { LINEAR } from '../plot/scales.js';
import { sizeCurves } from '../plot/size_curves.js';

export const order = 20.5; // behind the charts over size
export { section } from './collective_curves.js';

const MARGIN = 0.2; // of a doubling, from the outer marks to the ends of the axis

const nodesOf = ({ case: c, nodes }) => nodes ?? c.nodes;
const rateOf = (one) => one.rates?.[RATE] ?? one[RATE];

/** The same simulated cluster with other numbers of nodes is another device. */
const clusterOf = ({ device }) => device.replace(/:nodes=\d+/, '');

function nodesAxis(theme, nodes, text, name) {
  const sorted = [...new Set(nodes)].sort((a, b) => a - b);
  const axis = valueAxis(theme, sorted, name, text);
  return { ...axis, min: axis.min - MARGIN, max: axis.max + MARGIN };
}

const drawn = sizeCurves({
  rateOf,
  unit: 'GB/s',
  name: 'bus bandwidth',
  size: 'nodes',
  roof: '',
  over: { of: nodesOf, text: count, axis: nodesAxis, column: 'Nodes' },
  start: LINEAR,
});

/** Curves of records of one call and size, whatever journals they are from. */
function curvesOf(records) {
  const key = (one) => [clusterOf(one), one.engine, one.mode, one.case.packet].join('/');
  const groups = [...groupBy(records, key).values()];
  const clusters = new Set(records.map(clusterOf)).size > 1;
  const mode = modeLabel(records);
  return groups.map((some) => {
    const points = [...some].sort((a, b) => nodesOf(a) - nodesOf(b));
    const [{ engine, place }] = points;
    const name = [clusters && clusterOf(points[0]), engine, mode(points[0])];
    const best = Math.max(...points.map(rateOf));
    return { place, points, name: name.filter(Boolean).join(' '), best, bound: 0 };
  });
}

function largestOfSeveral(records) {
  const sizes = [...groupBy(records, ({ case: c }) => c.bytes)].filter(
    ([, some]) => new Set(some.map(nodesOf)).size > 1,
  );
  return sizes.sort(([a], [b]) => b - a)[0]?.[1];
}

const studiesOf = (reported) =>
  reportedMarks(reported).map((mark) => ({
    mark,
    points: reported
      .filter(({ device }) => device === mark.device)
      .map((row) => ({ size: nodesOf(row), rate: rateOf(row) })),
  }));

function table(curves, reported) {
  const row = (name, one, source) => [name, count(nodesOf(one)), number(rateOf(one)), source];
  return {
    columns: [
      { name: 'Series' },
      ...['Nodes', 'GB/s'].map((name) => ({ name, numeric: true })),
      { name: 'Source' },
    ],
    rows: [
      ...curves.flatMap(({ name, points }) => points.map((one) => row(name, one, ''))),
      ...reported.map((one) => row(`${one.device}, reported elsewhere`, one, one.source)),
    ],
  };
}

function panel(model, key, records) {
  const [{ case: c }] = records;
  const all = curvesOf(records);
  const curves = drawn.tell(all);
  const reported = (model.data.reported_collectives ?? []).filter(
    ({ collective }) => collective === c.collective,
  );
  const studies = studiesOf(reported);
  const nodes = [...curves.flatMap(({ points }) => points), ...reported].map(nodesOf);
  const what = [words(c.collective), c.type, c.op, bytes(c.bytes)].filter(Boolean).join(' ');
  const places = curves.flatMap(({ points }) => points.map(({ place }) => place));
  return {
    id: `collective-nodes-${key.replaceAll(/[^\w]+/g, '-')}`,
    title: `${what} over nodes, ${c.in_place ? 'in place' : 'out of place'}`,
    caption: [
      simulatedNote(places),
      curves.length < all.length ? `The fastest ${curves.length} of ${all.length} curves.` : '',
      reported.length ? 'The study measured its largest size, with 8 GPUs a node.' : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: [],
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: [...drawn.legend(curves), ...studies.map(({ mark }) => mark)],
    places: [...new Set(places)],
    choices: drawn.choices,
    option: (how) => drawn.option(curves, nodes, [], how, studies),
    table: table(all, reported),
  };
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
