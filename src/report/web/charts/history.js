// Figures over time, from a store of many runs: a panel for each benchmark, a curve for each device and
// host. What is drawn is one figure of the benchmark, at first the one that its last run changed most.
import { commas, DASH, minute, number, percentage, plain, plural, unitOf, words } from '../format.js';
import { differing } from '../labels.js';
import { groupBy } from '../model.js';
import { linearAxis, timeAxis } from '../plot/axes.js';
import { common } from '../plot/draw.js';
import { curve, MOST_LOOKS, symbolAt } from '../plot/marks.js';
import { fewer, panelOf } from '../plot/panel.js';
import { columnTooltip } from '../plot/tooltip.js';
import { tableOf } from '../table.js';

export const order = 80;
export const section = { id: 'history', title: 'Figures over time', short: 'Over time' };

/** The facts in which devices can differ, in the order in which names have them. */
const FACTS = [
  ({ model, device }) => model || device,
  ({ host }) => host || 'unknown host',
  ({ device }) => device,
];

const placeKey = ({ model, device, host }) => JSON.stringify([model, device, host]);
const figureKey = ({ engine, case: text, rate }) => JSON.stringify([engine, text, rate]);
const figureName = ({ engine, case: text, rate }) => [text, engine, unitOf(rate)].join(', ');

/** @returns {number} the median as `duet history` prints it; NaN of no values */
function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @returns {number} the last value over the median of those before it, less 1; NaN for one value */
function changeOf({ values }) {
  const before = medianOf(values.slice(0, -1));
  return before > 0 ? values.at(-1) / before - 1 : NaN;
}

/** How much the last run of any device changed a figure; 0 where nothing can be said. */
const largestChange = (series) =>
  Math.max(...series.map((one) => Math.abs(changeOf(one)) || 0));

const signed = (change) =>
  Number.isFinite(change) ? `${change > 0 ? '+' : ''}${percentage(100 * change)}` : DASH;

/** Marks of devices by key, named by the facts in which they differ. */
function marksOf(devices) {
  const differ = differing(devices, FACTS);
  const facts = differ.length ? differ : [FACTS[0]];
  const markOf = (one, i) => ({
    ...{ ...symbolAt(i), colour: i, line: true },
    name: facts.map((fact) => fact(one)).join(', '),
  });
  return new Map(devices.slice(0, MOST_LOOKS).map((one, i) => [placeKey(one), markOf(one, i)]));
}

const pointsOf = ({ times, values, revisions }) =>
  times.map((time, i) => [Date.parse(time), values[i], revisions[i]]);

function option(figures, marks, { width, theme, chosen: [which] }) {
  const drawn = figures[which].filter((one) => marks.has(placeKey(one)));
  const all = drawn.flatMap(pointsOf);
  const [times, values] = [0, 1].map((place) => (all.length ? all.map((p) => p[place]) : [0, 1]));
  const unit = unitOf(figures[which][0].rate);
  const textOf = ([, y, revision]) => commas(`${number(y)} ${unit}`, revision);
  return {
    ...common(theme),
    grid: { left: 66, right: 20, top: 14, bottom: 48 },
    tooltip: columnTooltip(theme, (time) => minute(new Date(time).toISOString()), textOf),
    xAxis: timeAxis(theme, times, 'when the run was started, UTC', width < 480 ? 3 : 7),
    yAxis: linearAxis(theme, values, unit, 50, plain, 6),
    series: drawn.map((one) => curve(marks.get(placeKey(one)), pointsOf(one), theme)),
  };
}

const table = (figures) =>
  tableOf(
    figures.flat(),
    {
      Figure: figureName,
      Device: ({ device, model }) => commas(device, model),
      Host: ({ host }) => host,
    },
    {
      Runs: ({ values }) => String(values.length),
      First: ({ values }) => number(values[0]),
      Median: ({ values }) => number(medianOf(values)),
      Last: ({ values }) => number(values.at(-1)),
      Change: (one) => signed(changeOf(one)),
    },
  );

/** What the last runs changed most. */
function findings(figures) {
  const [most] = figures
    .flat()
    .filter((one) => Number.isFinite(changeOf(one)))
    .sort((a, b) => Math.abs(changeOf(b)) - Math.abs(changeOf(a)));
  if (!most) return ['No figure has two runs yet.'];
  const where = [most.device, most.host].filter(Boolean).join(' on ');
  const before = plural(most.values.length - 1, 'earlier run');
  return [
    `The largest change by a last run: ${figureName(most)}, ${where}: ${signed(changeOf(most))} against the median of ${before}.`,
  ];
}

function panel(benchmark, series) {
  const figures = [...groupBy(series, figureKey).values()].sort(
    (a, b) => largestChange(b) - largestChange(a),
  );
  const devices = [...groupBy(series, placeKey).values()].map(([first]) => first);
  const marks = marksOf(devices);
  const name = words(benchmark);
  return panelOf({
    id: `history-${benchmark}`,
    title: [`${name[0].toUpperCase()}${name.slice(1)} over time`],
    caption: [fewer(marks.size, devices.length, 'devices', 'first')],
    findings: findings(figures),
    span: 'full',
    height: (width) => (width < 480 ? 300 : 360),
    legend: [...marks.values()],
    places: devices.map(({ model, device }) => ({
      ...{ count: 1, model: model || device, simulated: device.startsWith('sim:') },
    })),
    choices: [{ name: 'Figure', values: figures.map(([one]) => figureName(one)), start: 0 }],
    option: (how) => option(figures, marks, how),
    table: table(figures),
  });
}

export const panels = ({ data }) =>
  [...groupBy(data.history ?? [], ({ benchmark }) => benchmark)].map(([benchmark, series]) =>
    panel(benchmark, series),
  );
