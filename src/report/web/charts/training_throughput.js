// Throughput of training steps: a row for each model, a bar for each engine and recipe, beside what
// studies report. Tokens/s differ a hundredfold between models, so bars are of TFLOP/s; tokens/s and the
// time of a step stand behind them.
import { count, milliseconds, number, percent, plain } from '../format.js';
import { simulatedNote } from '../labels.js';
import { reasonOf } from '../model.js';
import { linearAxis, rowAxis } from '../plot/axes.js';
import { spans } from '../plot/bars.js';
import { common } from '../plot/draw.js';
import { doubtMarks, doubtRings, points, reportedMarks, symbolAt } from '../plot/marks.js';
import { pointTooltip } from '../plot/tooltip.js';
import {
  captionWords,
  COUNTS,
  describeReported,
  itemsOf,
  itemsText,
  measuredSteps,
  memoryOf,
  peakShare,
  section,
  seriesNames,
  sizeText,
  tflopsBy,
  trainingGroups,
} from '../plot/training_series.js';

export const order = 32;
export { section };

const BAR = 9; // pixels
const SLOT = 15; // pixels from one bar to the next
const WIDE = 700; // a chart of this width has room for texts behind the bars
const TEXT = 175; // pixels for them

const gigabytes = (value) => (value > 0 ? `${plain(value / 1e9)} GB` : '–');

/**
 * TFLOP/s of a study's step by a count. By 6N they are as stated; others follow from its tokens/s and
 * from the FLOP of a token, which a measured record of the same model has.
 */
function reportedTflops(one, by, record) {
  if (by === COUNTS[0] && one.tflops) return one.tflops;
  return (itemsOf(one) * tflopsBy(record, by)) / itemsOf(record.rates);
}

function describe(record, row, name) {
  return {
    title: `${row}, ${name}`,
    rows: [
      ['rate', itemsText(record.rates)],
      ['a step', milliseconds(record.seconds.median)],
      ...COUNTS.map((one) => [`TFLOP/s, ${one.name}`, number(tflopsBy(record, one))]),
      ['of peak', percent(peakShare(record)?.reached)],
      ['memory', gigabytes(memoryOf(record))],
      ['parameters', count(record.case.parameters)],
    ],
  };
}

/**
 * The places of the bars, from the top: of each model its series, then what studies report; and of the
 * models, beside the middle of their bars.
 */
function laidOut({ rows, series }, others) {
  let next = 0;
  const bars = [];
  const middles = rows.map(({ name, records, reported }) => {
    const first = next;
    for (const [at, one] of series.entries())
      for (const record of records.filter((each) => one.records.includes(each)))
        bars.push({ place: next++, at, record, row: name });
    for (const [at, mark] of others.entries())
      for (const one of reported.filter(({ device }) => device === mark.device))
        bars.push({ place: next++, at, reported: one, record: records[0], row: name });
    const middle = (first + next - 1) / 2;
    next += 1; // a gap
    return middle;
  });
  return { bars, middles, slots: next };
}

const figureOf = ({ reported, record }, by) =>
  reported ? reportedTflops(reported, by, record) : tflopsBy(record, by);

const textOf = ({ reported, record }) =>
  reported
    ? `${itemsText(reported)}, ${milliseconds(reported.milliseconds / 1e3)}`
    : `${itemsText(record.rates)}, ${milliseconds(record.seconds.median)}`;

/** The ends of some bars that have a figure. */
const endsOf = (bars, by) =>
  bars
    .map((bar) => ({ ...bar, value: [figureOf(bar, by), bar.place], text: textOf(bar) }))
    .filter(({ value: [figure] }) => figure > 0);

const behind = (theme, muted) => ({
  show: true,
  position: 'right',
  distance: 6,
  formatter: ({ data }) => data.text,
  color: muted ? theme.muted : theme.text,
  fontSize: 11,
});

function option(told, { width, theme, chosen: [which] }) {
  const { rows, marks, others, bars, middles, slots } = told;
  const by = COUNTS[which];
  const wide = width >= WIDE;
  const own = (at) => bars.filter((bar) => bar.at === at && !bar.reported);
  const reported = (at) => bars.filter((bar) => bar.at === at && bar.reported);
  const measured = marks.map((_, at) => endsOf(own(at), by));
  const elsewhere = others.map((_, at) => endsOf(reported(at), by));
  const figures = [...measured, ...elsewhere].flat().map(({ value }) => value[0]);
  const tip = pointTooltip(theme, ({ data, seriesName }) => {
    if (data?.reported) return describeReported(data.reported);
    return data?.record ? describe(data.record, data.row, seriesName) : null;
  });
  const label = (muted) => (wide ? { label: behind(theme, muted) } : {});
  const names = rows.map(({ name }) => name);
  const lengths = (ends) =>
    ends.map(({ value: [end, place], record, row }) => ({ value: [0, place, end], record, row }));
  return {
    ...common(theme),
    grid: { left: told.left, right: wide ? TEXT : 18, top: 10, bottom: 46 },
    tooltip: tip,
    xAxis: linearAxis(theme, [0, ...figures], `TFLOP/s, ${by.name}`, 28, plain, wide ? 8 : 4),
    yAxis: {
      ...rowAxis(theme, names, middles),
      ...{ min: -0.8, max: slots - 1.2, splitLine: { show: false } },
    },
    series: [
      ...marks.map((mark, i) =>
        spans({ ...mark, hollow: false }, lengths(measured[i]), BAR, theme),
      ),
      ...marks.map((mark, i) => ({ ...points(mark, measured[i], theme, 7), ...label(false) })),
      ...others.map((mark, i) => ({ ...points(mark, elsewhere[i], theme, 9), ...label(true) })),
      ...marks.flatMap((mark, i) => doubtRings(mark.name, measured[i], theme)),
    ],
  };
}

/** All records of the chart's devices, also of sizes that it does not draw, and what others report. */
function table({ rows, lacking }, all) {
  const nameOf = seriesNames(all);
  const numeric = (name) => ({ name, numeric: true });
  const others = rows.flatMap(({ reported }) => reported);
  const measured = all.map((record) => [
    record.case.model,
    sizeText(record.case),
    nameOf(record),
    itemsText(record.rates),
    (record.seconds.median * 1e3).toFixed(3),
    ...COUNTS.map((one) => number(tflopsBy(record, one))),
    percent(peakShare(record)?.reached),
    gigabytes(memoryOf(record)),
    '',
  ]);
  const without = lacking.map((record) => [
    ...[record.case.model, sizeText(record.case), `${record.engine} ${record.case.recipe}`],
    ...Array(4 + COUNTS.length).fill('–'),
    `${record.outcome}: ${reasonOf(record)}`,
  ]);
  const elsewhere = others.map((one) => [
    one.model,
    sizeText(one),
    `${one.device}, reported elsewhere`,
    itemsText(one),
    plain(one.milliseconds),
    ...COUNTS.map((_, i) => (i === 0 ? number(one.tflops) : '–')),
    '–',
    gigabytes(one.memory_gb * 1e9),
    one.source,
  ]);
  return {
    columns: [
      ...['Model', 'Batch x sequence', 'Series'].map((name) => ({ name })),
      ...['Rate', 'ms a step', ...COUNTS.map(({ name }) => `TFLOP/s, ${name}`)].map(numeric),
      ...['of peak', 'memory'].map(numeric),
      { name: 'Source, or why there is no figure' },
    ],
    rows: [...measured, ...without, ...elsewhere],
  };
}

/** A finding: which cases have no bar. */
function lacks(lacking) {
  const names = lacking.map(({ engine, case: c }) =>
    [c.model, sizeText(c), engine, c.recipe].filter(Boolean).join(' '),
  );
  return names.length ? [`Without a bar: ${names.join('; ')}. The data says why.`] : [];
}

const LETTER = 6.4; // approximate width in pixels

function panel(group, all) {
  const { cpu, rows, series, lacking } = group;
  const others = reportedMarks(rows.flatMap(({ reported }) => reported));
  const marks = series.map(({ name }, i) => ({ name, colour: i, ...symbolAt(i) }));
  const left = 16 + LETTER * Math.max(...rows.map(({ name }) => name.length));
  const told = { ...group, ...laidOut(group, others), marks, others, left };
  const shown = series.flatMap((one) => one.records);
  const sizes = new Set(all.map(({ case: c }) => `${c.model} ${sizeText(c)}`)).size;
  return {
    id: `training-throughput${cpu ? '-cpu' : ''}`,
    title: `Throughput by model${cpu ? ', CPU' : ''}`,
    caption: [
      simulatedNote(shown.map(({ place }) => place)),
      ...captionWords(group, others.length),
      others.length
        ? 'Studies state TFLOP/s by 6N; by the other counts theirs follow from their tokens/s.'
        : '',
      sizes > rows.length ? 'Of several sizes one is shown; the data has all.' : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: lacks(lacking),
    span: 'full',
    height: () => 56 + Math.round((told.slots - 0.4) * SLOT),
    minWidth: 420,
    legend: [...marks, ...others, ...doubtMarks(shown)],
    places: shown.map(({ place }) => place),
    choices: [{ name: 'FLOP of a step', values: COUNTS.map(({ name }) => name), start: 0 }],
    option: (how) => option(told, how),
    table: table(group, all),
  };
}

export function panels(model) {
  const all = measuredSteps(model);
  return trainingGroups(model).map((group) =>
    panel(
      group,
      all.filter(({ place }) => (place.kind === 'host') === group.cpu),
    ),
  );
}
