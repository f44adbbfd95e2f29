// GEMM rates: a row for each shape, a mark for each engine and place, beside the dense peak and the
// figures that others have reported.
import { number, percent, plain, seconds, shape } from '../format.js';
import { simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { linearAxis, rowAxis } from '../plot/axes.js';
import { common } from '../plot/draw.js';
import { BEST, bestOf, peaksOf, reportedOf, seriesOf, shiftOf } from '../plot/gemm_series.js';
import { doubtMarks, doubtRings, points, referenceLines, reportedMarks } from '../plot/marks.js';
import { pointTooltip } from '../plot/tooltip.js';

export const order = 30;
export const section = { id: 'gemm', title: 'Matrix multiplication rates', short: 'GEMM' };

const LINE = 14; // pixels from one line of labels to the next

/** The height of a row in pixels. Rows with many series are higher, to keep the series apart. */
const rowHeight = (series) => Math.min(60, 20 + 6 * series.length);

const layoutOf = (c) => (c.accumulate ? `${c.layout}-accumulated` : c.layout);

// CPUs have panels of their own: on an axis with room for GPUs, all their rates would be near zero.
const panelKey = ({ case: c, place }) =>
  [c.dtype, layoutOf(c), c.output ?? c.dtype, place.kind === 'host' ? 'CPU' : ''].join('/');

function describe(record, row) {
  const peak = record.place.ceiling.tflops?.[record.case.dtype];
  const rows = [
    ['rate', `${number(record.rates.tflops)} TFLOP/s`],
    ['median', seconds(record.seconds?.median)],
  ];
  if (record.mode) rows.push(['mode', record.mode]);
  if (peak) rows.push(['of peak', percent(record.rates.tflops / peak)]);
  if (record.verdict?.expected)
    rows.push(['expected', `${number(record.verdict.expected)} TFLOP/s`]);
  if (record.notes?.algorithm) rows.push(['algorithm', record.notes.algorithm]);
  return { title: row === BEST ? `${row}: ${shape(record.case)}` : row, rows };
}

/** The pixels above the plot for the labels of peaks. */
const topOf = ({ peaks }) => 26 + (peaks.filter(({ label }) => label).length > 1 ? LINE : 0);

function option(panel, { width, theme }) {
  const { rows, series, reported, peaks } = panel;
  const narrow = width < 480;
  const place = (one, record, row) => ({
    value: [record.rates.tflops, row + shiftOf(series, series.indexOf(one))],
    record,
    row: rows[row],
  });
  const dataOf = (one) => [
    ...one.records.map((record) => place(one, record, rows.indexOf(shape(record.case)))),
    ...(rows.includes(BEST) ? [place(one, bestOf(one), rows.indexOf(BEST))] : []),
  ];
  const others = reportedMarks(reported);
  const elsewhere = (mark, i) =>
    reported
      .filter(({ device }) => device === mark.device)
      .map((one) => ({ value: [one.tflops, one.row + shiftOf(others, i)], reported: one }));
  const tip = pointTooltip(theme, ({ data, seriesName }) => {
    if (data?.reported) {
      const { device, tflops, source } = data.reported;
      return {
        title: `${device}, reported elsewhere`,
        rows: [
          ['rate', `${number(tflops)} TFLOP/s`],
          ['source', source],
        ],
      };
    }
    if (!data?.record) return null;
    const { title, rows: told } = describe(data.record, data.row);
    return { title, rows: [['series', seriesName], ...told] };
  });
  const rates = [
    ...series.flatMap((one) => one.records.map((r) => r.rates.tflops)),
    ...reported.map((one) => one.tflops),
    ...peaks.map((one) => one.at),
  ];
  const xAxis = linearAxis(theme, rates, 'TFLOP/s', 28, plain, narrow ? 4 : 8);
  return {
    ...common(theme),
    grid: { left: narrow ? 122 : 148, right: 18, top: topOf(panel), bottom: 46 },
    tooltip: tip,
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

function table({ series, reported, rows }) {
  const columns = [
    { name: 'M x N x K' },
    { name: 'Series' },
    { name: 'TFLOP/s', numeric: true },
    { name: 'of peak', numeric: true },
    { name: 'Algorithm or source' },
  ];
  const measured = series.flatMap((one) =>
    one.records.map((record) => {
      const peak = record.place.ceiling.tflops?.[record.case.dtype];
      return [
        shape(record.case),
        one.mark.name,
        number(record.rates.tflops),
        peak ? percent(record.rates.tflops / peak) : '–',
        record.notes?.algorithm ?? '',
      ];
    }),
  );
  const elsewhere = reported.map((one) => [
    rows[one.row],
    `${one.device}, reported elsewhere`,
    number(one.tflops),
    '–',
    one.source ?? '',
  ]);
  return { columns, rows: [...measured, ...elsewhere] };
}

function panelOf(model, key, records) {
  const [dtype, layout, output, cpu] = key.split('/');
  const shapes = [...new Set(records.map((record) => shape(record.case)))];
  const withBest =
    (model.data.reported ?? []).some((one) => one.dtype === dtype && !one.m) &&
    layout === 'nn' &&
    !cpu;
  const rows = withBest ? [...shapes, BEST] : shapes;
  const { series, left } = seriesOf(records);
  const reported = reportedOf(model, key, rows);
  const shown = series.flatMap((one) => one.records);
  const panel = { rows, series, reported, peaks: peaksOf(shown, dtype, reported.length > 0) };
  return {
    id: `gemm-${key.replaceAll('/', '-')}`,
    title: `${dtype}${output !== dtype ? ` to ${output}` : ''}, layout ${layout}${cpu ? ', CPU' : ''}`,
    caption: [
      simulatedNote(records.map(({ place }) => place)),
      'Rows: M x N x K.',
      left ? `The fastest ${series.length} of ${series.length + left} series.` : '',
      panel.peaks.length ? '' : 'No peak is known for this type.',
      reported.length
        ? 'Hollow grey marks were reported elsewhere; the data names their sources.'
        : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: [],
    span: 'full',
    height: () => 46 + topOf(panel) + rows.length * rowHeight(series),
    legend: [...series.map((one) => one.mark), ...reportedMarks(reported), ...doubtMarks(shown)],
    places: shown.map(({ place }) => place),
    option: (how) => option(panel, how),
    table: table(panel),
  };
}

export function panels(model) {
  const gemms = model.records.filter(
    (record) => record.benchmark === 'gemm' && record.rates.tflops > 0 && record.case.m,
  );
  return [...groupBy(gemms, panelKey)].map(([key, records]) => panelOf(model, key, records));
}
