// Throughput of training steps against the size of the batch: a panel for each model that was measured
// with several, a curve for each engine and recipe.
import { count, number } from '../format.js';
import { simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { valueAxis } from '../plot/axes.js';
import { sizeCurves } from '../plot/size_curves.js';
import { itemsOf, measuredSteps, memoryOf, section, seriesNames } from '../plot/training_series.js';

export const order = 35;
export { section };

const OVER = {
  of: ({ case: c }) => c.batch,
  text: count,
  axis: (theme, batches, text, name) =>
    valueAxis(
      theme,
      [...new Set(batches)].sort((a, b) => a - b),
      name,
      text,
    ),
  column: 'Batch',
};

const curvesIn = (unit, size) =>
  sizeCurves({
    rateOf: ({ rates }) => itemsOf(rates),
    unit,
    name: 'rate',
    size,
    roof: '',
    over: OVER,
  });

const TOKENS = curvesIn('tokens/s', 'batch, sequences');
const SAMPLES = curvesIn('samples/s', 'batch, samples');

const modelKey = ({ case: c }) =>
  [c.model, c.layers, c.sequence].filter((part) => part !== undefined).join('-');

/** The curves of a model: those over two batches or more. */
function curvesOf(records) {
  const nameOf = seriesNames(records);
  return [...groupBy(records, nameOf)].flatMap(([name, some]) => {
    const points = [...groupBy(some, OVER.of).values()]
      .map((ofBatch) => ofBatch.at(-1))
      .sort((a, b) => OVER.of(a) - OVER.of(b));
    const best = Math.max(...points.map(({ rates }) => itemsOf(rates)));
    return points.length > 1 ? [{ name, place: points[0].place, points, best }] : [];
  });
}

function titleOf(records, all) {
  const [{ case: c }] = records;
  const others = all.filter(({ case: other }) => other.model === c.model);
  const differ = (axis) => new Set(others.map(({ case: other }) => other[axis])).size > 1;
  return [
    `${c.model} against batch`,
    c.sequence && `sequence ${c.sequence}`,
    differ('layers') && `${c.layers} layers`,
  ]
    .filter(Boolean)
    .join(', ');
}

function panel(key, records, all) {
  const drawn = records[0].case.sequence ? TOKENS : SAMPLES;
  const every = curvesOf(records);
  const curves = drawn.tell(every);
  if (!curves.length) return [];
  const places = curves.map(({ place }) => place);
  const batches = curves.flatMap(({ points }) => points.map(OVER.of));
  const left = every.length - curves.length;
  const one = {
    id: `training-batches-${key.replaceAll(/[^\w]+/g, '-')}`,
    title: titleOf(records, all),
    caption: [
      simulatedNote(places),
      left > 0 ? `The fastest ${curves.length} of ${every.length} curves.` : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: [],
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: drawn.legend(curves),
    places,
    choices: drawn.choices,
    option: (how) => {
      const chart = drawn.option(curves, batches, [], how);
      return {
        ...chart,
        grid: { ...chart.grid, left: 66 },
        yAxis: { ...chart.yAxis, nameGap: 50 },
      };
    },
    table: drawn.table(
      every,
      [drawn === TOKENS ? 'tokens/s' : 'samples/s', 'ms', 'GB'],
      (record) => [
        number(itemsOf(record.rates)),
        (record.seconds.median * 1e3).toFixed(3),
        number(memoryOf(record) / 1e9),
      ],
    ),
  };
  return [one];
}

export function panels(model) {
  const all = measuredSteps(model).filter(({ case: c }) => c.batch > 0);
  return [...groupBy(all, modelKey)].flatMap(([key, records]) => panel(key, records, all));
}
