// The best figures of some records, one for each kind of work. A row has the `order` of its kind, the
// `figure`'s name, its `value` and that as a `text`, its share `of` the ceiling ('–': none is known), and
// what reached it, `by`. Rows with one `like` (by default the figure) can be compared between machines:
// by their ratio or, if `share` is true, by their difference; a `like` of null with none.
import {
  bytes,
  caseText,
  commas,
  DASH,
  number,
  percent,
  plain,
  plural,
  ratio,
  semicolons,
  words,
} from './format.js';
import { addedOf, fastest, groupBy, typeOf, wordOf } from './model.js';
import { boundOf, copyTitle, fastestCopy, wayOrder } from './plot/copies.js';
import { overlapGroups } from './plot/overlap_series.js';
import { mean, valuesOf } from './plot/overlap_words.js';
import { isMeasuredStep, itemsOf, itemsText, peakShare, sizeText } from './plot/training_series.js';

/** After those of GEMMs and all copies. */
const ORDER = { collective: 1000, overlap: 1001, isolated: 1002, fabric: 1003, training: 1004, run: 1005 };

/** The note on a best figure that is SUSPECT-HIGH. */
const doubt = (record) =>
  ['SUSPECT-HIGH', 'unknown: busy'].includes(wordOf(record)) ? ` (${wordOf(record)})` : '';

const has = (benchmark, rate) => (one) => one.benchmark === benchmark && one.rates[rate] > 0;

/** "62% of peak 989.4"; "" if no limit is known */
const shareText = (value, limit, kind = '') =>
  limit > 0 ? `${percent(value / limit)} of ${kind}${plain(limit)}` : '';

const peakOf = (record) => record.place.ceiling.tflops?.[typeOf(record)];

/** How figures of a rate are told: that of the fastest record, with its unit. */
const byRate = (rate, unit) => ({
  best: (some) => fastest(some, rate),
  value: ({ rates }) => rates[rate],
  text: (top) => `${number(top.rates[rate])} ${unit}${doubt(top)}`,
});

/**
 * The kinds of work of which the best record has a row: those records that `is` says, with a row for each
 * `figure`. All else is of the `best` of these; `value` and `text` get all of them as well.
 */
const GEMM = {
  order: () => -1,
  is: has('gemm', 'tflops'),
  figure: ({ case: c }) => `GEMM, ${c.dtype}`,
  ...byRate('tflops', 'TFLOP/s'),
  of: (top) => {
    const kind = top.place.ceiling.source === 'measured' ? 'measured peak ' : 'dense peak ';
    return shareText(top.rates.tflops, peakOf(top), kind);
  },
  by: (top, mode) => commas(caseText(top), top.engine, mode.gemm(top)),
};

const COPY = {
  order: (top) => wayOrder(top.case),
  is: has('copy', 'gb_per_s'),
  figure: ({ case: c }) => `${copyTitle(c)}, by ${c.executor}`,
  ...byRate('gb_per_s', 'GB/s'),
  best: fastestCopy,
  of: (top) => shareText(top.rates.gb_per_s, boundOf(top)),
  by: (top, mode) => commas(caseText(top), mode.copy(top)),
};

/** Over all sizes, in place and out of place. */
const COLLECTIVE = {
  order: () => ORDER.collective,
  is: has('collective', 'busbw_gb_per_s'),
  figure: ({ case: c }) => commas(words(c.collective), c.type, plural(c.ranks, 'rank')),
  ...byRate('busbw_gb_per_s', 'GB/s'),
  of: (top) => shareText(top.rates.busbw_gb_per_s, top.verdict?.bound),
  by: ({ engine, case: c }) => {
    const cut = c.packet && `packets of ${bytes(c.packet)}`;
    return commas(engine, bytes(c.bytes), cut, c.in_place && 'in place');
  },
};

/** The fastest GEMM of each type among sides of overlaps alone; rates are of one device. */
const rateOfOne = (record) => record.rates.tflops / addedOf(record);
const ISOLATED = {
  order: () => ORDER.isolated,
  is: has('overlap_isolated', 'tflops'),
  figure: (record) => `GEMM of an overlap alone, ${typeOf(record)}, a device`,
  best: (some) => some.reduce((a, b) => (rateOfOne(b) > rateOfOne(a) ? b : a)),
  value: rateOfOne,
  text: (top) => `${number(rateOfOne(top))} TFLOP/s`,
  of: (top) => shareText(rateOfOne(top), peakOf(top), 'peak '),
  by: (top) => commas(caseText(top), top.engine),
};

/** Of each operation over the network, for each kind of memory. */
const FABRIC = {
  order: () => ORDER.fabric,
  is: has('fabric', 'gbit_per_s'),
  figure: ({ case: c }) =>
    commas(
      words(c.operation),
      c.bidirectional && c.operation !== 'all_to_all' && 'both ways',
      c.memory_path ? `GPU memory ${c.memory_path}` : `${c.memory} memory`,
      c.provider,
    ),
  ...byRate('gbit_per_s', 'Gbit/s'),
  of: ({ rates: { percent_of_link: share } }) =>
    share > 0 ? `${percent(share / 100)} of the link` : '',
  by: ({ case: c }) =>
    commas(bytes(c.bytes), plural(c.rails, 'rail'), c.window && `window ${c.window}`),
};

const TRAINING = {
  order: () => ORDER.training,
  is: isMeasuredStep,
  figure: ({ case: c }) => `training, ${c.model}`,
  ...byRate('tflops', ''),
  value: ({ rates }) => itemsOf(rates),
  text: (top) => `${itemsText(top.rates)}${doubt(top)}`,
  of: (top) => shareText(top.rates.tflops, peakShare(top)?.peak, 'peak '),
  by: ({ engine, case: c }) => `${engine}, ${c.recipe}, ${sizeText(c)}`,
  like: ({ case: c }) => `training ${c.model} ${c.recipe} ${sizeText(c)}`,
};

const lastEvaluation = ({ curves }) => curves?.evaluation_loss?.filter(Number.isFinite).at(-1);
const lastLoss = ({ curves }) => curves?.loss?.filter(Number.isFinite).at(-1);
const areEvaluated = (runs) => runs.every((run) => lastEvaluation(run) !== undefined);
const lossOf = (runs) => (areEvaluated(runs) ? lastEvaluation : lastLoss);

/** The lowest loss of the runs of each model on each text: by the evaluation part, if all have that. */
const RUN = {
  order: () => ORDER.run,
  is: (record) => record.benchmark === 'train_run' && lastLoss(record) !== undefined,
  figure: ({ case: c }) => `trained, ${c.model} on ${c.data}`,
  best: (some) => some.reduce((a, b) => (lossOf(some)(b) < lossOf(some)(a) ? b : a)),
  value: (top, some) => lossOf(some)(top),
  text: (top, some) =>
    `${areEvaluated(some) ? 'evaluation loss' : 'loss'} ${number(lossOf(some)(top))}`,
  of: () => '',
  by: ({ engine, case: c }) => `${engine}, ${c.recipe}, ${plural(c.steps, 'step')}`,
  like: () => null,
};

const rowsOf = (records, kind, mode) =>
  [...groupBy(records.filter(kind.is), kind.figure)].map(([figure, some]) => {
    const top = kind.best(some);
    return {
      order: kind.order(top),
      figure,
      value: kind.value(top, some),
      text: kind.text(top, some),
      of: kind.of(top) || DASH,
      by: kind.by(top, mode),
      like: kind.like?.(top),
    };
  });

/** For each pair of works that overlap, the policy with the highest mean fraction of ideal. */
function overlapRows(records) {
  const kept = ({ scenarios }, policy) => {
    const fractions = valuesOf(scenarios, policy, 'fraction_of_ideal');
    const bounds = valuesOf(scenarios, policy, 'bound');
    return { policy, fraction: mean(fractions), bound: mean(bounds), count: fractions.length };
  };
  return overlapGroups({ records }).flatMap((group) => {
    const all = group.policies.map((policy) => kept(group, policy)).filter(({ count }) => count);
    if (!all.length) return [];
    const best = all.reduce((a, b) => (b.fraction > a.fraction ? b : a));
    return [
      {
        order: ORDER.overlap,
        figure: `${words(group.computing)} beside ${words(group.collective)}, mean`,
        value: best.fraction,
        share: true,
        text: `${ratio(best.fraction)} of ideal`,
        of: `bound ${ratio(best.bound)}`,
        by: `policy ${best.policy}, ${plural(best.count, 'scenario')}`,
      },
    ];
  });
}

const same = () => '';

/**
 * @param {Object[]} records measured ones
 * @param {{gemm: Function, copy: Function}} [mode] texts of how a record was sampled; by default none
 * @returns {{order: number, figure: string, value: number, text: string, of: string, by: string,
 *     like?: string|null, share?: boolean}[]}
 */
export const keyRows = (records, mode = { gemm: same, copy: same }) => [
  ...[GEMM, COPY, COLLECTIVE].flatMap((kind) => rowsOf(records, kind, mode)),
  ...overlapRows(records),
  ...[ISOLATED, FABRIC, TRAINING, RUN].flatMap((kind) => rowsOf(records, kind, mode)),
];

const SENTENCE_ROWS = 2;

/** @returns {string} a sentence of a few key figures, of different kinds of work if possible */
export function bestFigures(records) {
  const rows = keyRows(records);
  const first = [...groupBy(rows, ({ order }) => order).values()].map(([row]) => row);
  const chosen = [...new Set([...first, ...rows])].slice(0, SENTENCE_ROWS);
  const sentences = chosen.map(({ figure, text, of, by }) => {
    const facts = semicolons(of !== DASH && of, by);
    return `${figure}: ${text}${facts && ` (${facts})`}`;
  });
  return semicolons(sentences);
}
