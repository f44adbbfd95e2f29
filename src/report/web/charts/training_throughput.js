// Throughput of training steps: a row for each model, a bar for each engine and recipe, beside what
// studies report. Tokens/s differ a hundredfold between models, so bars are of TFLOP/s; tokens/s and the
// time of a step stand behind them.
import { count, DASH, milliseconds, number, spaces, percent, plain } from '../format.js';
import { simulatedNote } from '../labels.js';
import { reasonOf } from '../model.js';
import { linearAxis, rowAxis } from '../plot/axes.js';
import { spans } from '../plot/bars.js';
import { common } from '../plot/draw.js';
import { doubtMarks, doubtRings, points, reportedMarks, symbolAt, textLabel } from '../plot/marks.js';
import { panelOf } from '../plot/panel.js';
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
import { tableOf } from '../table.js';

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

const flopOf = (record) =>
  Object.fromEntries(COUNTS.map((by) => [`TFLOP/s, ${by.name}`, number(tflopsBy(record, by))]));

const describe = ({ reported, record, row }) => (name) =>
  reported
    ? describeReported(reported)
    : {
        title: `${row}, ${name}`,
        rows: {
          rate: itemsText(record.rates),
          'a step': milliseconds(record.seconds.median),
          ...flopOf(record),
          'of peak': percent(peakShare(record)?.reached),
          memory: gigabytes(memoryOf(record)),
          parameters: count(record.case.parameters),
        },
      };

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
    .map((bar) => ({
      value: [figureOf(bar, by), bar.place],
      text: textOf(bar),
      ...{ record: bar.record, told: describe(bar) },
    }))
    .filter(({ value: [figure] }) => figure > 0);

function option(told, { width, theme, chosen: [which] }) {
  const { rows, marks, others, bars, middles, slots } = told;
  const by = COUNTS[which];
  const wide = width >= WIDE;
  const own = (at) => bars.filter((bar) => bar.at === at && !bar.reported);
  const reported = (at) => bars.filter((bar) => bar.at === at && bar.reported);
  const measured = marks.map((_, at) => endsOf(own(at), by));
  const elsewhere = others.map((_, at) => endsOf(reported(at), by));
  const figures = [...measured, ...elsewhere].flat().map(({ value }) => value[0]);
  const behind = (colour) => (wide ? { label: textLabel(colour, 'right', { distance: 6 }) } : {});
  const names = rows.map(({ name }) => name);
  const lengths = (ends) =>
    ends.map(({ value: [end, place], told: tell }) => ({ value: [0, place, end], told: tell }));
  return {
    ...common(theme),
    grid: { left: told.left, right: wide ? TEXT : 18, top: 10, bottom: 46 },
    tooltip: pointTooltip(theme),
    xAxis: linearAxis(theme, [0, ...figures], `TFLOP/s, ${by.name}`, 28, plain, wide ? 8 : 4),
    yAxis: {
      ...rowAxis(theme, names, middles),
      ...{ min: -0.8, max: slots - 1.2, splitLine: { show: false } },
    },
    series: [
      ...marks.map((mark, i) => spans({ ...mark, hollow: false }, lengths(measured[i]), BAR, theme)),
      ...marks.map((mark, i) => ({ ...points(mark, measured[i], theme, 7), ...behind(theme.text) })),
      ...others.map((mark, i) => ({ ...points(mark, elsewhere[i], theme), ...behind(theme.muted) })),
      ...marks.flatMap((mark, i) => doubtRings(mark.name, measured[i], theme)),
    ],
  };
}

const none = Object.fromEntries(COUNTS.map((by) => [`TFLOP/s, ${by.name}`, DASH]));

/** All records of the chart's devices, also of sizes that it does not draw, and what others report. */
function table({ rows, lacking }, all) {
  const nameOf = seriesNames(all);
  const measured = all.map((record) => ({
    ...{ of: record.case, series: nameOf(record), rate: itemsText(record.rates) },
    ms: (record.seconds.median * 1e3).toFixed(3),
    flop: flopOf(record),
    peak: percent(peakShare(record)?.reached),
    memory: gigabytes(memoryOf(record)),
  }));
  const without = lacking.map((record) => ({
    ...{ of: record.case, series: `${record.engine} ${record.case.recipe}` },
    why: `${record.outcome}: ${reasonOf(record)}`,
  }));
  const elsewhere = rows.flatMap(({ reported }) => reported).map((one) => ({
    ...{ of: one, series: `${one.device}, reported elsewhere`, rate: itemsText(one) },
    ms: plain(one.milliseconds),
    flop: { ...none, 'TFLOP/s, 6N': number(one.tflops) },
    memory: gigabytes(one.memory_gb * 1e9),
    why: one.source,
  }));
  const flop = (name) => [name, (one) => (one.flop ?? none)[name]];
  return tableOf(
    [...measured, ...without, ...elsewhere],
    {
      Model: ({ of }) => of.model,
      'Batch x sequence': ({ of }) => sizeText(of),
      Series: ({ series }) => series,
    },
    {
      Rate: ({ rate = DASH }) => rate,
      'ms a step': ({ ms = DASH }) => ms,
      ...Object.fromEntries(Object.keys(none).map(flop)),
      'of peak': ({ peak = DASH }) => peak,
      memory: ({ memory = DASH }) => memory,
    },
    { 'Source, or why there is no figure': ({ why = '' }) => why },
  );
}

/** A finding: which cases have no bar. */
function lacks(lacking) {
  const names = lacking.map(({ engine, case: c }) =>
    spaces(c.model, sizeText(c), engine, c.recipe),
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
  return panelOf({
    id: `training-throughput${cpu ? '-cpu' : ''}`,
    title: ['Throughput by model', cpu && 'CPU'],
    caption: [
      simulatedNote(shown.map(({ place }) => place)),
      ...captionWords(group, others.length),
      others.length &&
        'Studies state TFLOP/s by 6N; by the other counts theirs follow from their tokens/s.',
      sizes > rows.length && 'Of several sizes one is shown; the data has all.',
    ],
    findings: lacks(lacking),
    span: 'full',
    height: () => 56 + Math.round((told.slots - 0.4) * SLOT),
    minWidth: 420,
    legend: [...marks, ...others, ...doubtMarks(shown)],
    places: shown.map(({ place }) => place),
    choices: [{ name: 'FLOP of a step', values: COUNTS.map(({ name }) => name), start: 0 }],
    option: (how) => option(told, how),
    table: table(group, all),
  });
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
