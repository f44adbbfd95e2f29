// How training scales over devices: a panel for each model and size, a curve for each engine and recipe.
// Rates are of one device, so that perfect scaling is a level line.
import { commas, count, milliseconds, number, percentage, plural } from '../format.js';
import { differing } from '../labels.js';
import { groupBy } from '../model.js';
import { counted, curveChart, MARGIN } from '../plot/curves.js';
import { LINEAR } from '../plot/scales.js';
import { communicationOf, devicesOf, rateOf, scalingGroups } from '../plot/scaling_series.js';
import {
  describeReported,
  itemsNumber,
  itemsOf,
  itemsText,
  itemsUnit,
  REPORTED_MARKS,
  section,
} from '../plot/training_series.js';
import { tableOf } from '../table.js';

export const order = 35.5; // behind the chart over batches
export { section };

const curvesIn = (unit) =>
  curveChart({
    rateOf,
    unit,
    name: 'rate of a device',
    size: 'devices',
    over: counted(devicesOf, 'Devices', MARGIN),
    start: LINEAR,
    wide: true,
  });

const DRAWN = { 'tokens/s': curvesIn('tokens/s'), 'samples/s': curvesIn('samples/s') };

/** Scaling efficiency: the rate of one of a step's devices over that of one device alone. */
const efficiency = (one, base) => percentage(base ? (100 * rateOf(one)) / rateOf(base) : NaN);

/** The step of one device that a study reports of its device. */
const reportedBase = (reported, { device }) =>
  reported.find((one) => one.device === device && devicesOf(one) === 1);

const rateRows = (one, rates, base) => ({
  'all devices': itemsText(rates),
  'a device': `${itemsNumber(rateOf(one))} ${itemsUnit(rates)}`,
  efficiency: efficiency(one, base),
});

function describe(record, { name, base, baseName }, sums) {
  return {
    title: `${record === base ? baseName : name}, ${plural(devicesOf(record), 'device')}`,
    rows: {
      ...rateRows(record, record.rates, base),
      'a step': milliseconds(record.seconds.median),
      exposed: sums && milliseconds(sums.exposed_seconds),
      hidden: sums && percentage(sums.hidden_percent),
    },
  };
}

const describeStudy = (one, reported) =>
  describeReported(one, {
    devices: count(devicesOf(one)),
    ...rateRows(one, one, reportedBase(reported, one)),
  });

const reportedName = ({ device, recipe }) => commas(`${device}, reported elsewhere`, recipe);

/** A row for each figure: steps of one device, those of each curve, and what others report. */
function table(unit, every, reported, sumsOf) {
  const bases = groupBy(
    every.filter(({ base }) => base),
    ({ base }) => base,
  );
  const measured = [
    ...[...bases].map(([base, [{ baseName }]]) => ({ name: baseName, one: base, base })),
    ...every.flatMap(({ name, base, points }) =>
      points.filter((one) => one !== base).map((one) => ({ name, one, base })),
    ),
  ].map((row) => ({ ...row, rates: row.one.rates, sums: sumsOf(row.one) }));
  const elsewhere = reported.map((one) => ({
    ...{ name: reportedName(one), one, base: reportedBase(reported, one), rates: one },
  }));
  return tableOf(
    [...measured, ...elsewhere],
    { Series: ({ name }) => name },
    {
      Devices: ({ one }) => count(devicesOf(one)),
      [`${unit}, all`]: ({ rates }) => itemsNumber(itemsOf(rates)),
      [`${unit} a device`]: ({ one }) => itemsNumber(rateOf(one)),
      efficiency: ({ one, base }) => efficiency(one, base),
      'ms a step': ({ one }) => number(one.seconds?.median * 1e3),
      'ms exposed': ({ sums }) => number(sums?.exposed_seconds * 1e3),
      hidden: ({ sums }) => percentage(sums?.hidden_percent),
    },
    { Source: ({ one }) => one.source ?? '' },
  );
}

/** Where several figures of a number of devices are reported: that they differ. */
function disagreements(reported) {
  const same = groupBy(reported, (one) => `${reportedName(one)}/${devicesOf(one)}`);
  return [...same.values()]
    .filter((some) => differing(some, [itemsOf]).length)
    .map((some) => {
      const rates = some.map((one) => itemsNumber(itemsOf(one))).join(' and ');
      const devices = plural(devicesOf(some[0]), 'device');
      return `The figures reported of ${devices} disagree: ${rates} ${itemsUnit(some[0])}.`;
    });
}

function titleOf({ case: c, cpu }, groups) {
  const others = groups.filter((one) => one.case.model === c.model);
  return [
    `${c.model} against devices`,
    `batch ${c.batch}`,
    c.sequence && `sequence ${c.sequence}`,
    differing(others, [(one) => one.case.layers]).length && `${c.layers} layers`,
    cpu && 'CPU',
  ];
}

function panel(group, groups, model) {
  const { key, curves: all, reported } = group;
  const unit = itemsUnit(all[0].points[0].rates);
  const sumsOf = (record) => communicationOf(model, record);
  return DRAWN[unit].panel({
    all,
    reported,
    noteOf: ({ base, points }) => {
      const last = points.at(-1);
      const rate = `${itemsNumber(rateOf(last))} ${unit} a device`;
      return `${base ? efficiency(last, base) : rate} on ${devicesOf(last)}`;
    },
    told: (one, curve) =>
      curve ? describe(one, curve, sumsOf(one)) : describeStudy(one, reported),
    id: `training-scaling-${key}`,
    title: titleOf(group, groups),
    about: () => [
      'Batch and sequence are those of each device; perfect scaling is a level line.',
      all.some(({ points }) => points.at(-1).engine === 'none') &&
        'With "none" no gradients are summed.',
    ],
    after: [reported.length && REPORTED_MARKS, disagreements(reported)].flat(),
    height: (width) => (width < 420 ? 300 : 360),
    table: table(unit, all, reported, sumsOf),
  });
}

/** One figure alone says nothing of scaling. */
const isWorthAPanel = ({ curves, reported }) =>
  new Set(curves.flatMap(({ points }) => points)).size + reported.length > 1;

export function panels(model) {
  const groups = scalingGroups(model).filter(isWorthAPanel);
  return groups.map((group) => panel(group, groups, model));
}
