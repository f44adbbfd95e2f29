// How training scales over devices: a panel for each model and size, a curve for each engine and recipe.
// Rates are of one device, so that perfect scaling is a level line.
import { count, milliseconds, number, percentage, plural } from '../format.js';
import { simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { valueAxis } from '../plot/axes.js';
import { reportedMarks } from '../plot/marks.js';
import { communicationOf, devicesOf, rateOf, scalingGroups } from '../plot/scaling_series.js';
import { LINEAR } from '../plot/scales.js';
import { sizeCurves } from '../plot/size_curves.js';
import { pointTooltip } from '../plot/tooltip.js';
import {
  describeReported,
  itemsNumber,
  itemsOf,
  itemsText,
  itemsUnit,
  REPORTED_MARKS,
  section,
} from '../plot/training_series.js';

export const order = 35.5; // behind the chart over batches
export { section };

const MARGIN = 0.2; // of a doubling, from the outer marks to the ends of the axis

/** An axis with a tick at each number of devices that has a figure. */
function devicesAxis(theme, devices, text, name) {
  const sorted = [...new Set(devices)].sort((a, b) => a - b);
  const axis = valueAxis(theme, sorted, name, text);
  return { ...axis, min: axis.min - MARGIN, max: axis.max + MARGIN };
}

const curvesIn = (unit) =>
  sizeCurves({
    rateOf,
    unit,
    name: 'rate of a device',
    size: 'devices',
    roof: '',
    over: { of: devicesOf, text: count, axis: devicesAxis, column: 'Devices' },
    start: LINEAR,
  });

const DRAWN = { 'tokens/s': curvesIn('tokens/s'), 'samples/s': curvesIn('samples/s') };

const millisecondsText = (seconds) => number(seconds * 1e3);

/** Scaling efficiency: the rate of one of a step's devices over that of one device alone. */
const efficiency = (one, base) => percentage(base ? (100 * rateOf(one)) / rateOf(base) : NaN);

/** The step of one device that a study reports of its device. */
const reportedBase = (reported, { device }) =>
  reported.find((one) => one.device === device && devicesOf(one) === 1);

const rateRows = (one, rates, base) => [
  ['all devices', itemsText(rates)],
  ['a device', `${itemsNumber(rateOf(one))} ${itemsUnit(rates)}`],
  ['efficiency', efficiency(one, base)],
];

function describe(record, { name, base, baseName }, sumsOf) {
  const sums = sumsOf(record);
  return {
    title: `${record === base ? baseName : name}, ${plural(devicesOf(record), 'device')}`,
    rows: [
      ...rateRows(record, record.rates, base),
      ['a step', milliseconds(record.seconds.median)],
      ...(sums ? [['exposed', milliseconds(sums.exposed_seconds)]] : []),
      ...(sums ? [['hidden', percentage(sums.hidden_percent)]] : []),
    ],
  };
}

function describeStudy(one, reported) {
  const rows = rateRows(one, one, reportedBase(reported, one));
  return describeReported(one, [['devices', count(devicesOf(one))], ...rows]);
}

/** What a tooltip tells of a point: the `index`-th of the series of this name. */
function describePoint({ curves, studies, reported, sumsOf }, name, index) {
  const own = curves.find((one) => one.name === name);
  if (own) return describe(own.points[index], own, sumsOf);
  const study = studies.find(({ mark }) => mark.name === name);
  return study ? describeStudy(study.points[index].step, reported) : null;
}

function option(told, how) {
  const { drawn, curves, reported, studies } = told;
  const devices = [...curves.flatMap(({ points }) => points), ...reported].map(devicesOf);
  const chart = drawn.option(curves, devices, [], how, studies);
  return {
    ...chart,
    grid: { ...chart.grid, left: 66 },
    yAxis: { ...chart.yAxis, nameGap: 50 },
    tooltip: pointTooltip(how.theme, ({ seriesName, dataIndex }) =>
      describePoint(told, seriesName, dataIndex),
    ),
  };
}

const reportedName = ({ device, recipe }) =>
  [`${device}, reported elsewhere`, recipe].filter(Boolean).join(', ');

/** What studies report, as points of their marks. */
const studiesOf = (reported) =>
  reportedMarks(reported).map((mark) => ({
    mark,
    points: reported
      .filter(({ device }) => device === mark.device)
      .map((step) => ({ size: devicesOf(step), rate: rateOf(step), step })),
  }));

const rateCells = (name, one, rates, base) => [
  name,
  count(devicesOf(one)),
  itemsNumber(itemsOf(rates)),
  itemsNumber(rateOf(one)),
  efficiency(one, base),
];

/** A row for each figure: steps of one device, those of each curve, and what others report. */
function table(unit, every, reported, sumsOf) {
  const row = (name, record, base) => {
    const { exposed_seconds: exposed, hidden_percent: hidden } = sumsOf(record) ?? {};
    const times = [millisecondsText(record.seconds.median), millisecondsText(exposed)];
    return [...rateCells(name, record, record.rates, base), ...times, percentage(hidden), ''];
  };
  const bases = groupBy(
    every.filter(({ base }) => base),
    ({ base }) => base,
  );
  const numbers = ['Devices', `${unit}, all`, `${unit} a device`, 'efficiency'];
  const times = ['ms a step', 'ms exposed', 'hidden'];
  return {
    columns: [
      { name: 'Series' },
      ...[...numbers, ...times].map((name) => ({ name, numeric: true })),
      { name: 'Source' },
    ],
    rows: [
      ...[...bases].map(([base, [{ baseName }]]) => row(baseName, base, base)),
      ...every.flatMap(({ name, base, points }) =>
        points.filter((one) => one !== base).map((one) => row(name, one, base)),
      ),
      ...reported.map((one) => [
        ...rateCells(reportedName(one), one, one, reportedBase(reported, one)),
        ...['–', '–', '–', one.source],
      ]),
    ],
  };
}

/** Where several figures of a number of devices are reported: that they differ. */
function disagreements(reported) {
  const same = groupBy(reported, (one) => `${reportedName(one)}/${devicesOf(one)}`);
  return [...same.values()]
    .filter((some) => new Set(some.map(itemsOf)).size > 1)
    .map((some) => {
      const rates = some.map((one) => itemsNumber(itemsOf(one))).join(' and ');
      const devices = plural(devicesOf(some[0]), 'device');
      return `The figures reported of ${devices} disagree: ${rates} ${itemsUnit(some[0])}.`;
    });
}

function captionOf({ curves, every, reported }) {
  const places = curves.flatMap(({ points }) => points.map(({ place }) => place));
  return [
    simulatedNote(places),
    'Batch and sequence are those of each device; perfect scaling is a level line.',
    every.some(({ points }) => points.at(-1).engine === 'none')
      ? 'With "none" no gradients are summed.'
      : '',
    curves.length < every.length ? `The fastest ${curves.length} of ${every.length} curves.` : '',
    reported.length ? REPORTED_MARKS : '',
    ...disagreements(reported),
  ]
    .filter(Boolean)
    .join(' ');
}

function titleOf({ case: c, cpu }, groups) {
  const others = groups.filter((one) => one.case.model === c.model);
  const layers = new Set(others.map((one) => one.case.layers)).size > 1;
  return [
    `${c.model} against devices`,
    `batch ${c.batch}`,
    c.sequence && `sequence ${c.sequence}`,
    layers && `${c.layers} layers`,
    cpu && 'CPU',
  ]
    .filter(Boolean)
    .join(', ');
}

function panel(group, groups, model) {
  const { key, curves: every, reported } = group;
  const unit = itemsUnit(every[0].points[0].rates);
  const drawn = DRAWN[unit];
  const sumsOf = (record) => communicationOf(model, record);
  const curves = drawn.tell(every);
  for (const { mark, base, points } of curves) {
    const last = points.at(-1);
    const reached = base ? efficiency(last, base) : `${itemsNumber(rateOf(last))} ${unit} a device`;
    mark.note = `${reached} on ${devicesOf(last)}`;
  }
  const studies = studiesOf(reported);
  const told = { drawn, curves, every, reported, studies, sumsOf };
  return {
    id: `training-scaling-${key.replaceAll(/[^\w]+/g, '-')}`,
    title: titleOf(group, groups),
    caption: captionOf(told),
    findings: [],
    span: 'half',
    height: (width) => (width < 420 ? 300 : 360),
    legend: [...drawn.legend(curves), ...studies.map(({ mark }) => mark)],
    places: curves.map(({ place }) => place),
    choices: drawn.choices,
    option: (how) => option(told, how),
    table: table(unit, every, reported, sumsOf),
  };
}

/** One figure alone says nothing of scaling. */
const isWorthAPanel = ({ curves, reported }) =>
  new Set(curves.flatMap(({ points }) => points)).size + reported.length > 1;

export function panels(model) {
  const groups = scalingGroups(model).filter(isWorthAPanel);
  return groups.map((group) => panel(group, groups, model));
}
