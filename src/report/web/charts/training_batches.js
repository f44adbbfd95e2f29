// Throughput of training steps against the size of the batch: a panel for each model that was measured
// with several, a curve for each engine and recipe.
import { number } from '../format.js';
import { differing } from '../labels.js';
import { groupBy } from '../model.js';
import { counted, curveChart } from '../plot/curves.js';
import { itemsOf, measuredSteps, memoryOf, section, seriesNames } from '../plot/training_series.js';

export const order = 35;
export { section };

const batchOf = ({ case: c }) => c.batch;
const rateOf = ({ rates }) => itemsOf(rates);

const curvesIn = (unit, size) =>
  curveChart({
    rateOf,
    unit,
    name: 'rate',
    size,
    over: counted(batchOf, 'Batch'),
    columns: {
      [unit]: (record) => number(rateOf(record)),
      ms: ({ seconds }) => (seconds.median * 1e3).toFixed(3),
      GB: (record) => number(memoryOf(record) / 1e9),
    },
    wide: true,
  });

const TOKENS = curvesIn('tokens/s', 'batch, sequences');
const SAMPLES = curvesIn('samples/s', 'batch, samples');

const modelKey = ({ case: c }) =>
  [c.model, c.layers, c.sequence].filter((part) => part !== undefined).join('-');

/** The last record of each batch of a name. */
const lastOf = (records, nameOf) => [
  ...new Map(records.map((one) => [`${batchOf(one)}/${nameOf(one)}`, one])).values(),
];

function panel(key, records, others) {
  const drawn = records[0].case.sequence ? TOKENS : SAMPLES;
  const nameOf = seriesNames(records);
  const all = drawn.curves(lastOf(records, nameOf), nameOf);
  if (!all.length) return [];
  for (const one of all) one.name = nameOf(one.points[0]);
  const [{ case: c }] = records;
  const same = others.filter((one) => one.case.model === c.model);
  return [
    drawn.panel({
      all,
      id: `training-batches-${key}`,
      title: [
        `${c.model} against batch`,
        c.sequence && `sequence ${c.sequence}`,
        differing(same, [(one) => one.case.layers]).length && `${c.layers} layers`,
      ],
    }),
  ];
}

export function panels(model) {
  const all = measuredSteps(model).filter((one) => batchOf(one) > 0);
  return [...groupBy(all, modelKey)].flatMap(([key, records]) => panel(key, records, all));
}
