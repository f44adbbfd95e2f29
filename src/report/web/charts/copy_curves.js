// Copy bandwidth against size: a panel for each way of copying, a curve for each executor and issue.
//
// A chart module exports
//   order     its section's place among the charts (a number)
//   section   { id, title, short } of its section (short: its name in the bar); modules may share one
//   panels(model) -> [{
//     id, title, caption     texts; the id is unique on the page
//     findings               what the chart says in words: strings, or { text, alert: true }
//     span                   'half' (two beside each other where there is room) or 'full'
//     height                 (width) => pixels; minWidth: below it the chart scrolls in its own box
//     legend                 marks (plot/marks.js); their names are those of the series
//     places                 where its figures come from (model.js): named in a saved picture
//     choices                what may be drawn (choices.js): a field each; left out: nothing to choose
//     option({ width, theme, chosen }) -> the chart without its legend, `chosen` a place in the values
//                            of each choice; a panel without one is a table
//     table                  { columns: [{ name, numeric }], rows: [[text]] }: the same in numbers
//   }]
// panels() returns [] if the journals have no records for the chart; its section then does not appear.
// A new chart needs only a file in this folder: the bundle includes all of them.
import { bytes, launch, number } from '../format.js';
import { modeLabel, placeLabels, shortModel, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { sizeAxis } from '../plot/axes.js';
import { copyLooks, copyTitle, makerOf } from '../plot/copies.js';
import { copyCurves } from '../plot/copy_series.js';
import { common } from '../plot/draw.js';
import { curve, doubtMarks, doubtRings, points, referenceLines, tellable } from '../plot/marks.js';
import { nearOnes, span, valuesOf } from '../plot/peaks.js';
import { LOGARITHMIC, scaleChoice, scaleOf } from '../plot/scales.js';
import { columnTooltip } from '../plot/tooltip.js';

export const order = 10;
export const section = { id: 'copy', title: 'Copy bandwidth against size', short: 'Copies' };

const MOST_CURVES = 12; // more would not be readable; the data table has all

/** Names curves by the facts in which they differ: place, executor, issue, launch and mode. */
function nameCurves(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const several = new Set(curves.map((one) => launch(one.case))).size > 1;
  const mode = modeLabel(curves);
  for (const one of curves) {
    one.variant = [several && launch(one.case), mode(one)].filter(Boolean).join(' ');
    const words = [labels.get(one.place), one.case.executor, one.case.issue, one.variant];
    one.name = words.filter(Boolean).join(' ');
  }
}

/** Chooses up to MOST_CURVES of the fastest curves, by tellable() of marks.js, in their own order. */
function choose(all) {
  const rate = (some) => Math.max(...some.map(({ best }) => best));
  const makers = [...groupBy(all, makerOf).values()];
  const some = tellable(makers, rate, ([{ place }]) => place).flat();
  const chosen = some.sort((a, b) => b.best - a.best).slice(0, MOST_CURVES);
  return all.filter((one) => chosen.includes(one));
}

function markCurves(curves) {
  const looks = copyLooks(curves);
  curves.forEach((one, i) => {
    one.mark = { ...looks[i], name: one.name, note: `${number(one.best)} GB/s`, line: true };
  });
}

/** Marks on a fitted line: the sizes at which it reaches 50, 80 and 90% of its limit, and n1/2. */
function fitPoints({ fit, mark }, level, theme) {
  const limit = fit?.rates.asymptotic_gb_per_s;
  if (!limit || !level) return [];
  const at = (size, share) => (size > 0 ? [[Math.log2(size), level(limit * share)]] : []);
  const shares = [50, 80, 90].flatMap((share) =>
    at(fit.rates[`bytes_${share}_percent`], share / 100),
  );
  const half = points(
    { ...mark, symbol: 'diamond', hollow: true },
    at(fit.rates.n_half_bytes, 0.5),
    theme,
    9,
  );
  const ticks = {
    ...points({ ...mark, hollow: false }, shares, theme),
    symbol: 'rect',
    symbolSize: [2, 17],
  };
  return [ticks, half].map((series) => ({
    ...series,
    silent: true,
    tooltip: { show: false },
    z: 4,
  }));
}

// The positions of labels, from the highest line down, so that neighbouring labels do not overlap.
const LABELS = ['insideStartTop', 'insideStartBottom', 'insideEndTop', 'insideEndBottom'];

function roofs(curves, level) {
  const bounds = curves
    .filter((one) => one.bound)
    .map(({ bound, place }) => ({ at: bound, place }));
  const groups = nearOnes(bounds).reverse();
  return groups.flatMap((group, row) => {
    const names = [...new Set(group.map((one) => shortModel(one.place.model)))];
    const whose = groups.length > 1 ? ` (${names.join(', ')})` : '';
    const label = `roofline ${span(group)} GB/s${whose}`;
    const position = LABELS[row % LABELS.length];
    return valuesOf(group).map((at, i, { length }) => ({
      axis: 'y',
      at: level(at),
      label: i === length - 1 ? label : '',
      position,
    }));
  });
}

const WHAT = {
  xOf: ({ case: c }) => c.bytes,
  rateOf: ({ rates }) => rates.gb_per_s,
  ...{ lower: false, name: 'bandwidth', unit: 'GB/s' },
};

function option(curves, sizes, { width, theme, chosen: [which] }) {
  const scale = scaleOf(which, curves, WHAT);
  const pointData = (record) => {
    const [x, rate] = [WHAT.xOf(record), WHAT.rateOf(record)];
    return [Math.log2(x), scale.y(x, rate)];
  };
  const withRecord = (record) => ({ value: pointData(record), record });
  const rates = curves.flatMap((one) => [
    ...one.points.map((record) => record.rates.gb_per_s),
    one.bound ?? 0,
  ]);
  const tip = columnTooltip(theme, (list) => {
    const rows = list.filter(({ seriesType }) => seriesType === 'line');
    if (!rows.length) return null;
    const text = ({ value, seriesName }) => [seriesName, scale.text(value[1])];
    return { title: bytes(Math.round(2 ** rows[0].value[0])), rows: rows.map(text) };
  });
  return {
    ...common(theme),
    grid: { left: 52, right: 16, top: 14, bottom: 48 },
    tooltip: tip,
    xAxis: sizeAxis(theme, sizes, bytes),
    yAxis: scale.axis(theme, rates, width < 420),
    series: [
      referenceLines(scale.level ? roofs(curves, scale.level) : [], theme),
      ...curves.map((one) => curve(one.mark, one.points.map(pointData), theme)),
      ...curves.flatMap((one) => fitPoints(one, scale.level, theme)),
      ...curves.flatMap((one) => doubtRings(one.name, one.points.map(withRecord), theme)),
    ],
  };
}

function sizeTable(curves) {
  const sizes = [...new Set(curves.flatMap((one) => one.points.map((r) => r.case.bytes)))].sort(
    (a, b) => a - b,
  );
  const columns = [
    { name: 'Size' },
    ...curves.map((one) => ({ name: `${one.name}, GB/s`, numeric: true })),
  ];
  const rateAt = (one, size) =>
    one.points.find((record) => record.case.bytes === size)?.rates.gb_per_s;
  return {
    columns,
    rows: sizes.map((size) => [bytes(size), ...curves.map((one) => number(rateAt(one, size)))]),
  };
}

function panel(key, all, sizes) {
  nameCurves(all);
  const curves = choose(all);
  markCurves(curves);
  const paths = [...new Set(curves.map((one) => one.path))].filter(
    (path) => !path.startsWith('all'),
  );
  const fitted = curves.some((one) => one.fit);
  return {
    id: `copy-${key.replaceAll('/', '-')}`,
    title: copyTitle(curves[0].case),
    caption: [
      simulatedNote(curves.map((one) => one.place)),
      paths.length
        ? `${curves[0].case.kind === 'local' ? 'Device' : 'Path'} ${paths.join('; ')}.`
        : '',
      fitted ? 'Diamond: n1/2; upright ticks: from here on 50, 80, 90% of the limit.' : '',
      all.length > curves.length ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: [],
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: [...curves.map((one) => one.mark), ...doubtMarks(curves.flatMap((one) => one.points))],
    places: curves.map((one) => one.place),
    choices: [scaleChoice(LOGARITHMIC)],
    option: (how) => option(curves, sizes, how),
    table: sizeTable(all),
  };
}

export function panels(model) {
  const groups = copyCurves(model);
  // All panels share one axis of sizes, so that they can be compared. Rates differ too much for that.
  const sizes = groups.flatMap(([, curves]) =>
    curves.flatMap((one) => one.points.map((record) => record.case.bytes)),
  );
  return groups.map(([key, curves]) => panel(key, curves, sizes));
}
