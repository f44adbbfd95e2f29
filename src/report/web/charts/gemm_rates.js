// GEMM rates: a row for each shape, a mark for each engine and place, beside the dense peak and the
// figures that others have reported.
import { DASH, number, percent, plain, seconds, shape } from '../format.js';
import { simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { linearAxis, rowAxis } from '../plot/axes.js';
import { common } from '../plot/draw.js';
import { BEST, bestOf, peaksOf, reportedOf, seriesOf, shiftOf } from '../plot/gemm_series.js';
import { doubtMarks, doubtRings, points, referenceLines, reportedMarks } from '../plot/marks.js';
import { fewer, panelOf } from '../plot/panel.js';
import { pointTooltip } from '../plot/tooltip.js';
import { tableOf } from '../table.js';

export const order = 30;
export const section = { id: 'gemm', title: 'Matrix multiplication rates', short: 'GEMM' };

const LINE = 14; // pixels from one line of labels to the next

/** The height of a row in pixels. Rows with many series are higher, to keep the series apart. */
const rowHeight = (series) => Math.min(60, 20 + 6 * series.length);

const layoutOf = (c) => (c.accumulate ? `${c.layout}-accumulated` : c.layout);

// CPUs have panels of their own: on an axis with room for GPUs, all their rates would be near zero.
const panelKey = ({ case: c, place }) =>
  [c.dtype, layoutOf(c), c.output ?? c.dtype, place.kind === 'host' ? 'CPU' : ''].join('/');

const ofPeak = ({ place, case: c, rates }) =>
  percent(rates.tflops / (place.ceiling.tflops?.[c.dtype] || NaN));

const describe = (record, row) => (series) => {
  const share = ofPeak(record);
  const { rates, mode, verdict, notes } = record;
  return {
    title: row === BEST ? `${row}: ${shape(record.case)}` : row,
    rows: {
      series,
      rate: `${number(rates.tflops)} TFLOP/s`,
      median: seconds(record.seconds?.median),
      mode,
      'of peak': share === DASH ? '' : share,
      expected: verdict?.expected && `${number(verdict.expected)} TFLOP/s`,
      algorithm: notes?.algorithm,
    },
  };
};

const describeReported = ({ device, tflops, source }) => () => ({
  title: `${device}, reported elsewhere`,
  rows: { rate: `${number(tflops)} TFLOP/s`, source },
});

/** The pixels above the plot for the labels of peaks. */
const topOf = ({ peaks }) => 26 + (peaks.filter(({ label }) => label).length > 1 ? LINE : 0);

function option(shown, { width, theme }) {
  const { rows, series, reported, peaks } = shown;
  const narrow = width < 480;
  const place = (one, record, row) => ({
    value: [record.rates.tflops, row + shiftOf(series, series.indexOf(one))],
    ...{ record, told: describe(record, rows[row]) },
  });
  const dataOf = (one) => [
    ...one.records.map((record) => place(one, record, rows.indexOf(shape(record.case)))),
    ...(rows.includes(BEST) ? [place(one, bestOf(one), rows.indexOf(BEST))] : []),
  ];
  const others = reportedMarks(reported);
  const elsewhere = (mark, i) =>
    reported
      .filter(({ device }) => device === mark.device)
      .map((one) => ({
        value: [one.tflops, one.row + shiftOf(others, i)],
        told: describeReported(one),
      }));
  const rates = [
    ...series.flatMap((one) => one.records.map((r) => r.rates.tflops)),
    ...reported.map((one) => one.tflops),
    ...peaks.map((one) => one.at),
  ];
  const xAxis = linearAxis(theme, rates, 'TFLOP/s', 28, plain, narrow ? 4 : 8);
  return {
    ...common(theme),
    grid: { left: narrow ? 122 : 148, right: 18, top: topOf(shown), bottom: 46 },
    tooltip: pointTooltip(theme),
    xAxis,
    yAxis: rowAxis(theme, rows),
    series: [
      peakLines(peaks, xAxis, theme),
      ...series.map((one) => points(one.mark, dataOf(one), theme)),
      ...others.map((mark, i) => points(mark, elsewhere(mark, i), theme, 9)),
      ...series.flatMap((one) => doubtRings(one.mark.name, dataOf(one), theme)),
    ],
  };
}

/** The lines of peaks. Their labels are above the plot, in two rows, each towards the plot's middle. */
function peakLines(peaks, { min, max }, theme) {
  let labels = 0;
  const lines = referenceLines(
    peaks.map((peak) => ({ axis: 'x', position: 'start', ...peak })),
    theme,
  );
  for (const [i, line] of lines.markLine.data.entries())
    Object.assign(line.label, {
      align: line.xAxis < (min + max) / 2 ? 'left' : 'right',
      distance: peaks[i].label && labels++ % 2 ? LINE + 6 : 6,
    });
  return lines;
}

const table = ({ series, reported, rows }) =>
  tableOf(
    [
      ...series.flatMap(({ mark: { name }, records }) => records.map((one) => ({ name, one }))),
      ...reported.map((study) => ({ name: `${study.device}, reported elsewhere`, study })),
    ],
    {
      'M x N x K': ({ one, study }) => (one ? shape(one.case) : rows[study.row]),
      Series: ({ name }) => name,
    },
    {
      'TFLOP/s': ({ one, study }) => number(one ? one.rates.tflops : study.tflops),
      'of peak': ({ one }) => (one ? ofPeak(one) : DASH),
    },
    { 'Algorithm or source': ({ one, study }) => (one ? one.notes?.algorithm : study.source) },
  );

function panel(model, key, records) {
  const [dtype, layout, output, cpu] = key.split('/');
  const shapes = [...new Set(records.map((record) => shape(record.case)))];
  const best = (model.data.reported ?? []).some((one) => one.dtype === dtype && !one.m);
  const rows = best && layout === 'nn' && !cpu ? [...shapes, BEST] : shapes;
  const { series, left } = seriesOf(records);
  const reported = reportedOf(model, key, rows);
  const shown = series.flatMap((one) => one.records);
  const told = { rows, series, reported, peaks: peaksOf(shown, dtype, reported.length > 0) };
  return panelOf({
    id: `gemm-${key}`,
    title: [
      output === dtype ? dtype : `${dtype} to ${output}`,
      `layout ${layout}`,
      cpu && 'CPU',
    ],
    caption: [
      simulatedNote(records.map(({ place }) => place)),
      'Rows: M x N x K.',
      fewer(series.length, series.length + left, 'series'),
      !told.peaks.length && 'No peak is known for this type.',
      reported.length &&
        'Hollow grey marks were reported elsewhere; the data names their sources.',
    ],
    span: 'full',
    height: () => 46 + topOf(told) + rows.length * rowHeight(series),
    legend: [...series.map((one) => one.mark), ...reportedMarks(reported), ...doubtMarks(shown)],
    places: shown.map(({ place }) => place),
    option: (how) => option(told, how),
    table: table(told),
  });
}

export function panels(model) {
  const gemms = model.records.filter(
    (record) => record.benchmark === 'gemm' && record.rates.tflops > 0 && record.case.m,
  );
  return [...groupBy(gemms, panelKey)].map(([key, records]) => panel(model, key, records));
}
