// How halo exchange scales over ranks: a panel for each grid, scaling and norm, a curve for each engine.
// Rates are of one rank, so that perfect scaling is a level line. What a study reports stands beside it.
import { count, number, percentage, plural } from '../format.js';
import { differing } from '../labels.js';
import { groupBy, ofSameCase } from '../model.js';
import { counted, curveChart, MARGIN } from '../plot/curves.js';
import { conclusions, isMeasured, makerKey, named, section } from '../plot/halo_series.js';
import { LINEAR } from '../plot/scales.js';
import { tableOf } from '../table.js';

export const order = 21;
export { section };

const ranksOf = ({ case: c, ranks }) => ranks ?? c.ranks;

/** @returns {number} GB/s of one rank; of a record or of a study's row, which has 8 bytes a point too */
const rateOf = (one) => {
  const rate = one.rates?.gb_per_s ?? (8e-6 * one.nx * one.ny) / one.milliseconds;
  return rate / ranksOf(one);
};

/** @returns {number} GB/s that the memory of a record's rank allows; 0: not known */
const boundOf = (record) => {
  const { verdict } = record;
  return verdict?.rate === 'gb_per_s' && verdict.bound > 0 ? verdict.bound / ranksOf(record) : 0;
};

const drawn = curveChart({
  rateOf,
  bestOf: (points) => rateOf(points.at(-1)),
  boundOf: (points) => boundOf(points.at(-1)),
  unit: 'GB/s',
  name: 'rate of a rank',
  size: 'ranks',
  roof: 'memory',
  over: counted(ranksOf, 'Ranks', MARGIN),
  start: LINEAR,
});

const ARTEFACT =
  'The efficiency of the reported rows is an artefact: their sweep on one GPU takes 472 ms, where ' +
  'memory allows one in 0.64 ms, as every point adds to one word by an atomic operation; such work ' +
  'divides by any number of GPUs.';

const panelKey = ({ case: c }) => [c.nx, c.ny, c.scaling, c.norm].join('-');

const reportedFor = (model, { nx, ny, scaling, norm }) =>
  scaling === 'strong'
    ? (model.data.reported_halo ?? []).filter(
        (one) => one.nx === nx && one.ny === ny && one.norm === norm,
      )
    : [];

/** @returns {Object|undefined} the record `halo_scaling` of a measured one */
const scalingOf = (model, record) => ofSameCase(model, record, 'halo_scaling');

/** A row for each case, with its efficiency over the fastest case of one rank, and the studies' rows. */
function table(model, curves, reported) {
  const own = ({ name, points }) =>
    points.map((record) => ({
      ...{ name, one: record, ms: record.seconds.median * 1e3 },
      ...{ efficiency: scalingOf(model, record)?.rates.efficiency ?? NaN },
      source: (scalingOf(model, record)?.warnings ?? []).join(' '),
    }));
  const elsewhere = reported.map((one) => ({
    ...{ name: `${one.device}, ${one.variant}, reported elsewhere`, one, ms: one.milliseconds },
    ...{ efficiency: NaN, source: one.source },
  }));
  return tableOf(
    [...curves.flatMap(own), ...elsewhere],
    { Series: ({ name }) => name },
    {
      Ranks: ({ one }) => count(ranksOf(one)),
      'ms an iteration': ({ ms }) => number(ms),
      'GB/s a rank': ({ one }) => number(rateOf(one)),
      efficiency: ({ efficiency }) => percentage(100 * efficiency),
    },
    { 'Source, or a warning': ({ source }) => source },
  );
}

function panel(model, [key, records]) {
  const [{ case: c }] = records;
  const all = named(drawn.curves(records, makerKey, 1));
  const reported = reportedFor(model, c);
  const weak = c.scaling === 'weak';
  return drawn.panel({
    all,
    reported,
    noteOf: ({ points, best }) => {
      const reached = scalingOf(model, points.at(-1))?.rates.efficiency;
      if (!reached) return `${number(best)} GB/s`;
      return `${percentage(100 * reached)} on ${ranksOf(points.at(-1))}`;
    },
    id: `halo-scaling-${key}`,
    title: [
      `${weak ? 'Weak' : 'Strong'} scaling`,
      `${count(c.nx)} columns`,
      plural(c.ny, 'row') + (weak ? ' a rank' : ''),
      `norm ${c.norm}`,
    ],
    about: () => 'Perfect scaling is a level line; each point has its sweep and its exchange.',
    after: reported.length && ARTEFACT,
    findings: conclusions(all, {
      ...{ xOf: ranksOf, rateOf, lower: false },
      at: (some) => `On ${plural(some, 'rank')}`,
    }),
    height: (width) => (width < 420 ? 300 : 360),
    table: table(model, all, reported),
  });
}

export function panels(model) {
  const scalings = model.records.filter((one) => isMeasured(one) && one.case.scaling !== 'none');
  return [...groupBy(scalings, panelKey)]
    .filter(([, records]) => differing(records, [ranksOf]).length)
    .map((group) => panel(model, group));
}
