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
//     option({ width, theme }) -> the chart without its legend; a panel without one is a table
//     table                  { columns: [{ name, numeric }], rows: [[text]] }: the same in numbers
//   }]
// It returns [] where the journals have nothing for it, and its section then does not appear.
// A kind of result gets its chart by a file in this folder: nothing else has to be named anywhere.
import { bytes, launch, number, plain } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { decadeAxis, sizeAxis } from '../plot/axes.js';
import { copyMark, copyTitle } from '../plot/copies.js';
import { copyCurves } from '../plot/copy_series.js';
import { common } from '../plot/draw.js';
import { curve, LOW_MARK, lowRings, points, referenceLines } from '../plot/marks.js';
import { columnTooltip } from '../plot/tooltip.js';

export const order = 10;
export const section = { id: 'copy', title: 'Copy bandwidth against size', short: 'Copies' };

const MOST_CURVES = 12; // more cannot be told apart; the data has them all

function nameCurves(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const places = [...labels.keys()];
  const launches = new Set(curves.map((one) => launch(one.case)));
  curves.forEach((one, index) => {
    const words = [labels.get(one.place), one.case.executor, one.case.issue];
    if (launches.size > 1) words.push(launch(one.case));
    one.name = words.filter(Boolean).join(' ');
    const mark = copyMark(one.case, places.length > 1 ? places.indexOf(one.place) : null);
    one.mark = {
      ...mark,
      name: one.name,
      note: `${number(one.best)} GB/s`,
      line: true,
      ...(launches.size > 1 ? { colour: index } : {}),
    };
  });
  return curves;
}

/** The points on a curve from which on it stays above shares of its limit, and n1/2. */
function fitPoints({ fit, mark }, theme) {
  const limit = fit?.rates.asymptotic_gb_per_s;
  if (!limit) return [];
  const at = (size, share) => (size > 0 ? [[Math.log2(size), Math.log10(limit * share)]] : []);
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

function roofs(curves) {
  const byBound = groupBy(
    curves.filter((one) => one.bound),
    (one) => one.bound,
  );
  return [...byBound].map(([bound, some]) => {
    const names = [...new Set(some.map((one) => one.place.model))];
    const whose = byBound.size > 1 ? ` (${names.join(', ')})` : '';
    return { axis: 'y', at: Math.log10(bound), label: `roofline ${plain(bound)} GB/s${whose}` };
  });
}

const pointData = (record) => [Math.log2(record.case.bytes), Math.log10(record.rates.gb_per_s)];

function option(curves, sizes, { width, theme }) {
  const low = curves.flatMap((one) =>
    one.points.filter((record) => record.verdict?.word === 'LOW'),
  );
  const rates = curves.flatMap((one) => [
    ...one.points.map((record) => record.rates.gb_per_s),
    one.bound ?? 0,
  ]);
  const tip = columnTooltip(theme, (list) => {
    const rows = list.filter(({ seriesType }) => seriesType === 'line');
    if (!rows.length) return null;
    const text = ({ value, seriesName }) => [seriesName, `${number(10 ** value[1])} GB/s`];
    return { title: bytes(Math.round(2 ** rows[0].value[0])), rows: rows.map(text) };
  });
  return {
    ...common(theme),
    grid: { left: 52, right: 16, top: 14, bottom: 48 },
    tooltip: tip,
    xAxis: sizeAxis(theme, sizes, bytes),
    yAxis: decadeAxis(theme, rates, width < 420 ? 'GB/s' : 'bandwidth, GB/s', 36, plain),
    series: [
      referenceLines(roofs(curves), theme, 'insideStartTop'),
      ...curves.map((one) => curve(one.mark, one.points.map(pointData), theme)),
      ...curves.flatMap((one) => fitPoints(one, theme)),
      ...lowRings(low.map(pointData), theme),
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
  const fastest = [...nameCurves(all)].sort((a, b) => b.best - a.best).slice(0, MOST_CURVES);
  const curves = all.filter((one) => fastest.includes(one));
  const paths = [...new Set(curves.map((one) => one.path))].filter(
    (path) => !path.startsWith('all'),
  );
  const fitted = curves.some((one) => one.fit);
  const low = curves.some((one) => one.points.some((record) => record.verdict?.word === 'LOW'));
  return {
    id: `copy-${key.replaceAll('/', '-')}`,
    title: copyTitle(curves[0].case),
    caption: [
      simulatedNote(curves.map((one) => one.place)),
      paths.length
        ? `${curves[0].case.kind === 'local' ? 'Device' : 'Path'} ${paths.map(pathText).join('; ')}.`
        : '',
      fitted ? 'Diamond: n1/2; upright ticks: from here on 50, 80, 90% of the limit.' : '',
      all.length > curves.length ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: [],
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: [...curves.map((one) => one.mark), ...(low ? [LOW_MARK] : [])],
    option: (how) => option(curves, sizes, how),
    table: sizeTable(all),
  };
}

const pathText = (path) => {
  const [from, to] = path.split(' > ');
  return from === to ? from : path;
};

export function panels(model) {
  const groups = copyCurves(model);
  // One scale of sizes for all panels, so that they can be compared; rates differ by too much.
  const sizes = groups.flatMap(([, curves]) =>
    curves.flatMap((one) => one.points.map((record) => record.case.bytes)),
  );
  return groups.map(([key, curves]) => panel(key, curves, sizes));
}
