// The best figures of some records, one for each kind of work. A row has the `order` of its kind, the
// `figure`'s name, its `value` and that as a `text`, its share `of` the ceiling ('–': none is known), and
// what reached it, `by`. Rows with one `like` (by default the figure) can be compared between machines:
// by their ratio or, if `share` is true, by their difference; a `like` of null with none.
import { bytes, caseText, number, percent, plain, plural, ratio, words } from './format.js';
import { addedOf, fastest, groupBy, typeOf, wordOf } from './model.js';
import { boundOf, copyTitle, fastestCopy, wayOrder } from './plot/copies.js';
import { overlapGroups } from './plot/overlap_series.js';
import { mean, valuesOf } from './plot/overlap_words.js';
import { itemsOf, itemsText, measuredSteps, peakShare, sizeText } from './plot/training_series.js';

const COLLECTIVE_ORDER = 1000; // after all copies
const OVERLAP_ORDER = 1001;
const ISOLATED_ORDER = 1002;
const FABRIC_ORDER = 1003;
const TRAINING_ORDER = 1004;
const RUN_ORDER = 1005;

/** The note on a best figure that is SUSPECT-HIGH. */
const doubt = (record) =>
  ['SUSPECT-HIGH', 'unknown: busy'].includes(wordOf(record)) ? ` (${wordOf(record)})` : '';

function gemmRows(records, mode) {
  const gemms = records.filter((r) => r.benchmark === 'gemm' && r.rates.tflops > 0);
  return [...groupBy(gemms, (record) => record.case.dtype)].map(([dtype, some]) => {
    const top = fastest(some, 'tflops');
    const peak = top.place.ceiling.tflops?.[dtype];
    const kind = top.place.ceiling.source === 'measured' ? 'measured peak' : 'dense peak';
    const of = peak > 0 ? `${percent(top.rates.tflops / peak)} of ${kind} ${plain(peak)}` : '–';
    return {
      order: -1,
      figure: `GEMM, ${dtype}`,
      value: top.rates.tflops,
      text: `${number(top.rates.tflops)} TFLOP/s${doubt(top)}`,
      of,
      by: [caseText(top), top.engine, mode(top)].filter(Boolean).join(', '),
    };
  });
}

/** The fastest GEMM of each type among sides of overlaps alone; rates are of one device. */
function isolatedRows(records) {
  const gemms = records.filter((r) => r.benchmark === 'overlap_isolated' && r.rates.tflops > 0);
  const rate = (record) => record.rates.tflops / addedOf(record);
  return [...groupBy(gemms, typeOf)].map(([dtype, some]) => {
    const top = some.reduce((a, b) => (rate(b) > rate(a) ? b : a));
    const peak = top.place.ceiling.tflops?.[dtype];
    return {
      order: ISOLATED_ORDER,
      figure: `GEMM of an overlap alone, ${dtype}, a device`,
      value: rate(top),
      text: `${number(rate(top))} TFLOP/s`,
      of: peak > 0 ? `${percent(rate(top) / peak)} of peak ${plain(peak)}` : '–',
      by: [caseText(top), top.engine].join(', '),
    };
  });
}

function copyRows(records, mode) {
  const copies = records.filter((r) => r.benchmark === 'copy' && r.rates.gb_per_s > 0);
  const groups = groupBy(copies, ({ case: c }) => `${copyTitle(c)}, by ${c.executor}`);
  return [...groups].map(([name, some]) => {
    const top = fastestCopy(some);
    const bound = boundOf(top);
    return {
      order: wayOrder(top.case),
      figure: name,
      value: top.rates.gb_per_s,
      text: `${number(top.rates.gb_per_s)} GB/s${doubt(top)}`,
      of: bound ? `${percent(top.rates.gb_per_s / bound)} of ${plain(bound)}` : '–',
      by: [caseText(top), mode(top)].filter(Boolean).join(', '),
    };
  });
}

/** The best bus bandwidth of each collective over all sizes, in place and out of place. */
function collectiveRows(records) {
  const some = records.filter((r) => r.benchmark === 'collective' && r.rates.busbw_gb_per_s > 0);
  const call = ({ case: c }) =>
    [words(c.collective), c.type, plural(c.ranks, 'rank')].filter(Boolean).join(', ');
  return [...groupBy(some, call)].map(([name, calls]) => {
    const top = fastest(calls, 'busbw_gb_per_s');
    const { bound } = top.verdict ?? {};
    const { bytes: size, in_place: inPlace, packet } = top.case;
    const cut = packet && `packets of ${bytes(packet)}`;
    return {
      order: COLLECTIVE_ORDER,
      figure: name,
      value: top.rates.busbw_gb_per_s,
      text: `${number(top.rates.busbw_gb_per_s)} GB/s${doubt(top)}`,
      of: bound > 0 ? `${percent(top.rates.busbw_gb_per_s / bound)} of ${plain(bound)}` : '–',
      by: [top.engine, bytes(size), cut, inPlace && 'in place'].filter(Boolean).join(', '),
    };
  });
}

/** The best rate of each operation over the network, for each kind of memory. */
function fabricRows(records) {
  const some = records.filter((r) => r.benchmark === 'fabric' && r.rates.gbit_per_s > 0);
  const way = ({ case: c }) =>
    [words(c.operation), c.bidirectional && c.operation !== 'all_to_all' && 'both ways']
      .concat(c.memory_path ? `GPU memory ${c.memory_path}` : `${c.memory} memory`, c.provider)
      .filter(Boolean)
      .join(', ');
  return [...groupBy(some, way)].map(([name, messages]) => {
    const top = fastest(messages, 'gbit_per_s');
    const share = top.rates.percent_of_link;
    return {
      order: FABRIC_ORDER,
      figure: name,
      value: top.rates.gbit_per_s,
      text: `${number(top.rates.gbit_per_s)} Gbit/s${doubt(top)}`,
      of: share > 0 ? `${percent(share / 100)} of the link` : '–',
      by: [
        bytes(top.case.bytes),
        plural(top.case.rails, 'rail'),
        top.case.window && `window ${top.case.window}`,
      ]
        .filter(Boolean)
        .join(', '),
    };
  });
}

/** The fastest training step of each model. */
function trainingRows(records) {
  const steps = measuredSteps({ records });
  return [...groupBy(steps, ({ case: c }) => c.model)].map(([name, some]) => {
    const top = fastest(some, 'tflops');
    const share = peakShare(top);
    return {
      order: TRAINING_ORDER,
      figure: `training, ${name}`,
      value: itemsOf(top.rates),
      text: `${itemsText(top.rates)}${doubt(top)}`,
      of: share === undefined ? '–' : `${percent(share.reached)} of peak ${plain(share.peak)}`,
      by: `${top.engine}, ${top.case.recipe}, ${sizeText(top.case)}`,
      like: `training ${name} ${top.case.recipe} ${sizeText(top.case)}`,
    };
  });
}

const lastEvaluation = ({ curves }) => curves?.evaluation_loss?.filter(Number.isFinite).at(-1);
const lastLoss = ({ curves }) => curves?.loss?.filter(Number.isFinite).at(-1);

/** The lowest loss of the runs of each model on each text: by the evaluation part, if all have that. */
function runRows(records) {
  const runs = records.filter((r) => r.benchmark === 'train_run' && lastLoss(r) !== undefined);
  return [...groupBy(runs, ({ case: c }) => `${c.model} on ${c.data}`)].map(([name, some]) => {
    const evaluated = some.every((run) => lastEvaluation(run) !== undefined);
    const lossOf = evaluated ? lastEvaluation : lastLoss;
    const best = some.reduce((a, b) => (lossOf(b) < lossOf(a) ? b : a));
    return {
      order: RUN_ORDER,
      figure: `trained, ${name}`,
      value: lossOf(best),
      text: `${evaluated ? 'evaluation loss' : 'loss'} ${number(lossOf(best))}`,
      of: '–',
      by: `${best.engine}, ${best.case.recipe}, ${plural(best.case.steps, 'step')}`,
      like: null,
    };
  });
}

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
        order: OVERLAP_ORDER,
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
  ...gemmRows(records, mode.gemm),
  ...copyRows(records, mode.copy),
  ...collectiveRows(records),
  ...overlapRows(records),
  ...isolatedRows(records),
  ...fabricRows(records),
  ...trainingRows(records),
  ...runRows(records),
];

const SENTENCE_ROWS = 2;

/** @returns {string} a sentence of a few key figures, of different kinds of work if possible */
export function bestFigures(records) {
  const rows = keyRows(records);
  const first = [...groupBy(rows, ({ order }) => order).values()].map(([row]) => row);
  const chosen = [...new Set([...first, ...rows])].slice(0, SENTENCE_ROWS);
  return chosen
    .map(({ figure, text, of, by }) => {
      const facts = [of !== '–' && of, by].filter(Boolean).join('; ');
      return `${figure}: ${text}${facts && ` (${facts})`}`;
    })
    .join('; ');
}
