// Groups records of training steps: a row for each model, a series for each engine and recipe. Also
// what studies report of the same models.
import { commas, count, milliseconds, number, spaces } from '../format.js';
import { differing, placeLabels, placeName } from '../labels.js';
import { groupBy, typeOf } from '../model.js';
import { tellable } from './marks.js';
import { fewer } from './panel.js';

/** The section of all charts of training. */
export const section = { id: 'training', title: 'Training steps', short: 'Training' };

/**
 * How the FLOP of a step can be counted (docs/training.md). Studies state theirs by the first.
 * `rate`: the record's rate by that count.
 */
export const COUNTS = [
  { name: '6N', rate: 'six_n_tflops' },
  { name: '6N + attention', rate: 'six_n_attention_tflops' },
  { name: 'causal attention', rate: 'tflops' },
  { name: 'as executed', rate: 'hardware_tflops' },
];

/** @returns {number} tokens/s or, of a model without tokens, samples/s; of a record or a study's step */
export const itemsOf = ({ tokens_per_s: tokens, samples_per_s: samples }) => tokens ?? samples;

/** @returns {string} tokens/s or samples/s without the unit: 950,586 */
export const itemsNumber = (rate) => (rate >= 1000 ? count(Math.round(rate)) : number(rate));

/** @returns {string} "tokens/s"; of rates, or of a study's step */
export const itemsUnit = (rates) => (rates.tokens_per_s === undefined ? 'samples/s' : 'tokens/s');

/** @returns {string} "950,586 tokens/s" */
export const itemsText = (rates) => `${itemsNumber(itemsOf(rates))} ${itemsUnit(rates)}`;

/** @returns {number|undefined} TFLOP/s by a count of COUNTS; without attention 6N is all there is */
export function tflopsBy({ rates, case: c }, { rate }) {
  const sixN = rates.six_n_tflops ?? (6 * c.parameters * itemsOf(rates)) / 1e12;
  if (rate === 'six_n_tflops') return sixN;
  return rates[rate] ?? (c.sequence ? undefined : sixN);
}

/** @returns {number|undefined} bytes of a whole step */
export const memoryOf = ({ metrics, rates }) => metrics.memory_bytes ?? rates.memory_bytes;

/**
 * The share of the device's peak that matrices and causal attention reach.
 * @returns {{reached: number, peak: number}|undefined} undefined if no peak is known
 */
export function peakShare(record) {
  const peak = record.place.ceiling.tflops?.[typeOf(record)];
  return peak > 0 ? { reached: record.rates.tflops / peak, peak } : undefined;
}

/** @returns {string} "32 x 512": batch and sequence */
export const sizeText = (c) => [c.batch, c.sequence].filter(Boolean).join(' x ');

/** What a model is but for the size of its batches: `layers` and `parameters` may not be its own. */
const modelKey = ({ case: c }) => [c.model, c.layers, c.parameters].join('/');
const sizeKey = ({ case: c }) => sizeText(c);

/** The steps that studies report of the model and size of a case. */
export const reportedOf = (all, c) =>
  all.filter(
    (one) =>
      one.model === c.model &&
      one.parameters === c.parameters &&
      one.batch === c.batch &&
      one.sequence === c.sequence,
  );

const highest = (records) => Math.max(...records.map(({ rates }) => rates.tflops ?? 0));

/**
 * Of one model's records those of one size, for which the chart `has` something: one that a study
 * reports or, without it, the fastest.
 */
function oneSize(records, reported, has) {
  const sizes = [...groupBy(records, sizeKey).values()].filter((some) => some.some(has));
  const known = sizes.filter(([{ case: c }]) => reportedOf(reported, c).length);
  const some = known.length ? known : sizes;
  return some.reduce((a, b) => (highest(b) > highest(a) ? b : a));
}

/**
 * The rows of charts that compare models, each with records of one size.
 * @returns {{name: string, records: Object[], reported: Object[]}[]}
 */
function rowsOf(records, reported, has) {
  const models = [...groupBy(records, modelKey).values()];
  const names = models.map(([{ case: c }]) => c.model);
  return models.map((all) => {
    const own = oneSize(all, reported, has);
    const [{ case: c }] = own;
    const variant = names.filter((name) => name === c.model).length > 1 && `${c.layers} layers`;
    const name = commas(c.model, variant, sizeText(c));
    return { name, records: own, reported: reportedOf(reported, c) };
  });
}

const makerOf = ({ engine, case: c }) => spaces(engine, c.recipe, c.optimizer);

/**
 * Names records by engine, recipe and optimiser; by place and mode too, where several share these or
 * the places are different devices.
 * @returns {(record: Object) => string}
 */
export function seriesNames(records) {
  const labels = placeLabels(records.map(({ place }) => place));
  const devices = new Set(records.map(({ place }) => placeName({ ...place, count: 1 })));
  const made = groupBy(records, makerOf);
  const several = (record, of) => differing(made.get(makerOf(record)), [of]).length > 0;
  return (record) =>
    spaces(
      (devices.size > 1 || several(record, ({ place }) => place)) && labels.get(record.place),
      makerOf(record),
      several(record, ({ mode }) => mode ?? '') && record.mode,
    );
}

/** Up to MOST_LOOKS series, each { name, place, records }, and how many are left out. */
export function seriesOf(records) {
  const groups = [...groupBy(records, seriesNames(records))].map(([name, some]) => ({
    name,
    place: some[0].place,
    records: some,
  }));
  const series = tellable(
    groups,
    (one) => highest(one.records),
    ({ place }) => place,
  );
  return { series, left: groups.length - series.length };
}

/** Of one device: steps of several devices have figures of all of them. */
const isStep = ({ benchmark, case: c }) => benchmark === 'train' && c.model && !c.parallel;

const isMeasured = ({ outcome, rates }) => outcome === 'measured' && itemsOf(rates) > 0;

export const isMeasuredStep = (one) => isStep(one) && isMeasured(one);

/** @returns {Object[]} records of measured training steps of one device */
export const measuredSteps = ({ records }) => records.filter(isMeasuredStep);

/** @returns {Object[]} records of measured training steps that several devices, or one, make as ranks */
export const parallelSteps = ({ records }) =>
  records.filter(
    (one) =>
      one.benchmark === 'train' && one.case.parallel && one.case.ranks > 0 && isMeasured(one),
  );

/**
 * The records that charts by model draw. CPUs have charts of their own: on an axis with room for GPUs
 * all their bars would be near zero, and their times would leave GPUs no room.
 * @param {(record: Object) => boolean} [has] of which records, and so of which models, there is a chart
 * @param {boolean} [only] draws those records alone, without others of their models
 * @returns {{cpu: boolean, rows: Object[], series: Object[], left: number, lacking: Object[]}[]}
 *     `lacking`: records without figures
 */
export function trainingGroups(model, has = () => true, only = false) {
  const isCpu = ({ place }) => place.kind === 'host';
  return [false, true].flatMap((cpu) => {
    const measured = measuredSteps(model).filter((one) => isCpu(one) === cpu);
    const withIt = new Set(measured.filter(has).map(modelKey));
    const records = measured.filter((one) => (only ? has(one) : withIt.has(modelKey(one))));
    if (!records.length) return [];
    const rows = rowsOf(records, cpu ? [] : (model.data.reported_steps ?? []), has);
    const lacking = model.records.filter(
      (one) => isStep(one) && one.outcome !== 'measured' && isCpu(one) === cpu,
    );
    return [{ cpu, rows, ...seriesOf(rows.flatMap((row) => row.records)), lacking }];
  });
}

/** What a tooltip tells of a study's step; `figures` are rows instead of its rate and time. */
export const describeReported = (one, figures) => ({
  title: `${commas(one.model, sizeText(one), one.recipe)}: ${one.device}, reported elsewhere`,
  rows: {
    ...(figures ?? { rate: itemsText(one), 'a step': milliseconds(one.milliseconds / 1e3) }),
    'TFLOP/s, 6N': one.tflops && number(one.tflops),
    memory: one.memory_gb && `${number(one.memory_gb)} GB`,
    source: one.source,
  },
});

export const REPORTED_MARKS =
  'Hollow grey marks were reported elsewhere, of other devices; the data names their sources.';

/** The sentences that captions of charts by model have in common. */
export const captionWords = ({ series, left }, others) => [
  'Rows: model, batch x sequence.',
  others && REPORTED_MARKS,
  fewer(series.length, series.length + left, 'series'),
];
