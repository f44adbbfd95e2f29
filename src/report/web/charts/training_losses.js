// Curves of training runs over steps: a panel for each text, a curve for each run. Marks are losses of the
// part of the text that is not trained on.
import { commas, count, milliseconds, number, plain, semicolons, spaces } from '../format.js';
import { differing, placeLabels, placeName, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { linearAxis } from '../plot/axes.js';
import { common } from '../plot/draw.js';
import { markColour, MOST_LOOKS, points, symbolAt } from '../plot/marks.js';
import { fewer, panelOf } from '../plot/panel.js';
import { columnTooltip } from '../plot/tooltip.js';
import { itemsText, section } from '../plot/training_series.js';
import { tableOf } from '../table.js';

export const order = 36;
export { section };

/** What can be drawn; the names of the curves in records. */
const CURVES = [
  { name: 'loss', key: 'loss' },
  { name: 'norm of the gradients', key: 'gradient_norm' },
  { name: 'learning rate', key: 'learning_rate' },
];
/** The steps that are drawn: those behind this share of the longest run. */
const RANGES = [
  { name: 'all', from: 0 },
  { name: 'the last half', from: 0.5 },
  { name: 'the last tenth', from: 0.9 },
];
const TABLE_ROWS = 20; // of a table, beside those of evaluations

/** The facts in which runs can differ, in the order in which names have them. */
const FACTS = [
  ({ engine }) => engine,
  ({ case: c }) => c.model,
  ({ case: c }) => `${c.layers} layers`,
  ({ case: c }) => c.recipe,
  ({ case: c }) => c.optimizer ?? 'adamw',
  ({ case: c }) => `batch ${c.batch}${c.accumulate > 1 ? ` x ${c.accumulate}` : ''}`,
  ({ case: c }) => `sequence ${c.sequence}`,
  ({ case: c }) => `seed ${c.seed}`,
  ({ case: c }) => `${c.steps} steps`,
];

/** Names runs by the facts in which they differ; by their places, if these are different devices or no
 * other facts tell them apart. */
function namesOf(records) {
  const labels = placeLabels(records.map(({ place }) => place));
  const facts = differing(records, FACTS);
  const names = records.map((record) => commas(facts.map((fact) => fact(record))));
  const devices = new Set(records.map(({ place }) => placeName({ ...place, count: 1 }))).size;
  const [{ case: c }] = records;
  return names.map((name, i) => {
    const shared = names.filter((other) => other === name).length > 1;
    const label = (devices > 1 || shared) && labels.get(records[i].place);
    return commas(name, label) || `${c.model}, ${c.recipe}`;
  });
}

const isFigure = ([, y]) => Number.isFinite(y);

/** The points [step, value] of a curve. */
function curveOf({ metrics, curves }, key) {
  const first = metrics.first_step ?? 1;
  return (curves?.[key] ?? []).map((value, i) => [first + i, value]).filter(isFigure);
}

const evaluationsOf = ({ curves }) =>
  (curves?.evaluation_step ?? [])
    .map((step, i) => [step, curves.evaluation_loss?.[i]])
    .filter(isFigure);

/** A curve of up to thousands of points, of which as many are drawn as can be seen. */
const line = (mark, data, theme) => ({
  type: 'line',
  name: mark.name,
  data,
  showSymbol: false,
  sampling: 'lttb',
  lineStyle: { color: markColour(mark, theme), width: 1.4, type: mark.dash },
  itemStyle: { color: markColour(mark, theme) },
  emphasis: { disabled: true },
});

function option(runs, { width, theme, chosen: [which, range] }) {
  const { key, name } = CURVES[which];
  const last = Math.max(...runs.map(({ record }) => curveOf(record, 'loss').at(-1)[0]));
  const begin = RANGES[range].from * last;
  const from = (data) => data.filter(([step]) => step >= begin);
  const lines = runs.map(({ record }) => from(curveOf(record, key)));
  const evaluations = runs.map(({ record }) => (which ? [] : from(evaluationsOf(record))));
  const all = [...lines, ...evaluations].flat();
  const steps = all.length ? all.map(([step]) => step) : [0, 1];
  const values = all.length ? all.map(([, value]) => value) : [0, 1];
  const xAxis = linearAxis(theme, ends(steps), 'step', 28, count, width < 480 ? 4 : 8);
  return {
    ...common(theme),
    grid: { left: 62, right: 18, top: 14, bottom: 46 },
    tooltip: columnTooltip(theme, (step) => `step ${count(step)}`, ([, y]) => number(y), rowName),
    xAxis: { ...xAxis, max: last },
    yAxis: linearAxis(theme, ends(values), name, 46, plain, 6),
    series: [
      ...runs.map(({ mark }, i) => line(mark, lines[i], theme)),
      ...runs.map(({ mark }, i) => ({ ...points(mark, evaluations[i], theme, 8), z: 5 })),
    ],
  };
}

/** The least and the largest value of a list that may be too long for arguments of a call. */
const ends = (values) => [
  values.reduce((a, b) => Math.min(a, b)),
  values.reduce((a, b) => Math.max(a, b)),
];

/** What a tooltip calls a point. */
const rowName = ({ seriesName, seriesType }) =>
  seriesType === 'line' ? seriesName : `${seriesName}, evaluated`;

const sorted = (values) => [...new Set(values)].sort((a, b) => a - b);

/** Losses at some steps, among them all of evaluations. */
function table(runs) {
  const losses = runs.map(({ record }) => new Map(curveOf(record, 'loss')));
  const evaluated = runs.map(({ record }) => new Map(evaluationsOf(record)));
  const every = sorted(losses.flatMap((one) => [...one.keys()]));
  const step = Math.max(1, Math.ceil(every.length / TABLE_ROWS));
  const some = every.filter((_, i) => i % step === 0 || i === every.length - 1);
  const columns = runs.flatMap(({ mark }, i) => [
    [`${mark.name}, loss`, losses[i]],
    ...(evaluated[i].size ? [[`${mark.name}, evaluated`, evaluated[i]]] : []),
  ]);
  return tableOf(
    sorted([...some, ...evaluated.flatMap((one) => [...one.keys()])]),
    { Step: String },
    Object.fromEntries(columns.map(([name, values]) => [name, (at) => number(values.get(at))])),
  );
}

/** A finding of each run: where its loss began and ended, and how fast it was. */
function told({ mark, record }) {
  const losses = curveOf(record, 'loss');
  const [[first, before], [last, after]] = [losses[0], losses.at(-1)];
  const evaluated = evaluationsOf(record).at(-1);
  const parts = semicolons(
    `loss ${number(before)} at step ${count(first)}, ${number(after)} at step ${count(last)}`,
    evaluated && `evaluated ${number(evaluated[1])}`,
    `${milliseconds(record.seconds.median)} a step`,
    itemsText(record.rates),
  );
  return `${mark.name}: ${parts}.`;
}

function panel(data, records) {
  const names = namesOf(records);
  const all = records.map((record, i) => ({
    record,
    mark: {
      ...{ name: names[i], colour: i, ...symbolAt(i) },
      ...{ line: true, dash: i % 2 ? 'dashed' : 'solid' },
    },
  }));
  const runs = all.slice(0, MOST_LOOKS);
  const places = runs.map(({ record }) => record.place);
  const several = differing(records, [({ case: c }) => c.model]).length;
  const { model, recipe } = records[0].case;
  return panelOf({
    id: `training-losses-${data}`,
    title: [`Runs on ${data}`, spaces(!several && model, records.length === 1 && recipe)],
    caption: [
      simulatedNote(places),
      'Marks: the loss of text that is not trained on.',
      fewer(runs.length, all.length, 'runs', 'first'),
    ],
    findings: runs.map(told),
    span: 'full',
    height: (width) => (width < 480 ? 300 : 380),
    legend: runs.map(({ mark }) => mark),
    places,
    choices: [
      { name: 'Curve', values: CURVES.map(({ name }) => name), start: 0 },
      { name: 'Steps', values: RANGES.map(({ name }) => name), start: 0 },
    ],
    option: (how) => option(runs, how),
    table: table(runs),
  });
}

export function panels(model) {
  const runs = model.records.filter(
    (one) =>
      one.benchmark === 'train_run' &&
      one.outcome === 'measured' &&
      curveOf(one, 'loss').length > 0,
  );
  return [...groupBy(runs, ({ case: c }) => c.data ?? 'data')].map(([data, some]) =>
    panel(data, some),
  );
}
