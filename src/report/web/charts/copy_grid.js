// Copy bandwidth against the grid: how many blocks, of how many threads, a copy by kernel needs. The
// chart appears for journals whose copies were run with several grids.
import { bytes, number, pathText, percent, plain, spaces } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { fastest, groupBy } from '../model.js';
import { linearAxis, valueAxis } from '../plot/axes.js';
import { boundOf, copyTitle } from '../plot/copies.js';
import { common } from '../plot/draw.js';
import { curve, doubtMarks, doubtRings, referenceLines, symbolAt } from '../plot/marks.js';
import { panelOf } from '../plot/panel.js';
import { columnTooltip } from '../plot/tooltip.js';
import { tableOf } from '../table.js';

export const order = 15;
export const section = { id: 'grid', title: 'Copy bandwidth against the grid', short: 'Grid' };

const FEWEST = 3; // grids of a curve
const ENOUGH = 0.95; // of the best rate

const panelKey = ({ place, device, case: c }) =>
  [
    ...[place.journal.name, device, c.kind, c.executor, c.issue, c.pattern],
    ...[Boolean(c.bidirectional), c.bytes],
  ].join('/');
const gridOf = ({ case: c }) => c.grid;
const rateOf = ({ rates }) => rates.gb_per_s;

/** A curve for each number of threads, for the first path that was measured. */
function curvesOf(records) {
  const [path] = groupBy(records, ({ case: c }) => pathText(c)).values();
  const byBlock = [...groupBy(path, (record) => record.case.block)].sort(([a], [b]) => a - b);
  return byBlock.map(([block, some], i) => {
    const points = some.sort((a, b) => gridOf(a) - gridOf(b));
    const name = block ? `${block} threads a block` : 'the device’s choice of threads';
    return { points, mark: { name, colour: i, ...symbolAt(i), line: true } };
  });
}

/** A finding: the fewest threads that reach ENOUGH of the best rate. */
function finding(records) {
  const best = fastest(records, 'gb_per_s').rates.gb_per_s;
  const enough = ({ rates }) => rates.gb_per_s >= ENOUGH * best && rates.gb_per_s <= best;
  const near = records.filter(enough);
  const size = ({ case: c }) => c.grid * (c.block || 1);
  const { case: c, rates } = near.reduce((a, b) => (size(b) < size(a) ? b : a));
  const threads = c.block ? ` of ${c.block} threads` : '';
  return `${c.grid} blocks${threads} move ${number(rates.gb_per_s)} GB/s, ${percent(rates.gb_per_s / best)} of the best, ${number(best)}.`;
}

function option(curves, bound, { width, theme }) {
  const records = curves.flatMap((one) => one.points);
  const data = ({ points }) =>
    points.map((record) => ({ value: [Math.log2(gridOf(record)), rateOf(record)], record }));
  const roof = bound ? [{ axis: 'y', at: bound, label: `roofline ${plain(bound)} GB/s` }] : [];
  const rates = [...records.map(rateOf), bound ?? 0, 0];
  return {
    ...common(theme),
    grid: { left: 52, right: 16, top: 14, bottom: 48 },
    tooltip: columnTooltip(
      theme,
      (x) => `${Math.round(2 ** x)} blocks`,
      ([, y]) => `${number(y)} GB/s`,
    ),
    xAxis: valueAxis(theme, records.map(gridOf), 'blocks', plain),
    yAxis: linearAxis(theme, rates, width < 420 ? 'GB/s' : 'bandwidth, GB/s', 36, plain, 5),
    series: [
      referenceLines(roof, theme),
      ...curves.map((one) => curve(one.mark, data(one), theme)),
      ...curves.flatMap((one) => doubtRings(one.mark.name, data(one), theme)),
    ],
  };
}

function table(curves) {
  const grids = [...new Set(curves.flatMap((one) => one.points.map(gridOf)))].sort((a, b) => a - b);
  const at = (one, grid) => one.points.find((record) => gridOf(record) === grid);
  const rate = (one) => [
    `${one.mark.name}, GB/s`,
    (grid) => number(at(one, grid)?.rates.gb_per_s),
  ];
  return tableOf(grids, {}, { Blocks: String, ...Object.fromEntries(curves.map(rate)) });
}

function panel(key, records, label) {
  const curves = curvesOf(records);
  const shown = curves.flatMap((one) => one.points);
  const [{ case: c, place }] = shown;
  const path = `${c.kind === 'local' ? 'Device' : 'Path'} ${pathText(c)}`;
  return panelOf({
    id: `grid-${key}`,
    title: [copyTitle(c), spaces(c.executor, c.issue), label],
    caption: [simulatedNote([place]), `${path}, ${bytes(c.bytes)}.`],
    findings: [finding(shown)],
    legend: [...curves.map((one) => one.mark), ...doubtMarks(shown)],
    places: [place],
    option: (how) => option(curves, boundOf(shown[0]), how),
    table: table(curves),
  });
}

export function panels(model) {
  const copies = model.records.filter(
    (one) => one.benchmark === 'copy' && gridOf(one) > 0 && rateOf(one) > 0,
  );
  const groups = [...groupBy(copies, panelKey)].filter(
    ([, records]) => new Set(records.map(gridOf)).size >= FEWEST,
  );
  const labels = placeLabels(groups.map(([, [{ place }]]) => place));
  return groups.map(([key, records]) => panel(key, records, labels.get(records[0].place)));
}
