// The common part of charts that draw what steps or layers are made of: a bar for each of them, of parts
// that stand one behind the other, and a mark for the whole. Of training a bar for each model, engine and
// recipe.
import { DASH, percent, plain, words } from '../format.js';
import { shortModel, simulatedNote } from '../labels.js';
import { inkOn, tinted } from '../palette.js';
import { tableOf } from '../table.js';
import { linearAxis, rowAxis } from './axes.js';
import { segments } from './bars.js';
import { common } from './draw.js';
import { markColour, points, reportedMarks, textLabel, texts } from './marks.js';
import { panelOf } from './panel.js';
import { pointTooltip } from './tooltip.js';
import { captionWords, describeReported, section, trainingGroups } from './training_series.js';

const BAR = 15; // pixels
const ROW = 22; // pixels from one bar to the next
const GAP = 0.7; // of a row, between models
const LETTER = 6.4; // approximate width in pixels
const SIDES = 60; // pixels that a narrow bar's figure needs behind the bar
const BOTTOM = 46;
const SHARE = 'share of the parts';

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** @returns {string} "GEMM and attention" of "gemm_and_attention_bytes" */
const partName = (metric, suffix) =>
  words(metric.slice(0, -suffix.length)).replace(/^gemm\b/, 'GEMM');

/** The metrics that are parts, in the order of `first` and then of appearance. */
function partsOf(records, { suffix, whole, first }) {
  const all = new Set(records.flatMap(({ metrics }) => Object.keys(metrics)));
  const known = first.filter((name) => all.has(name));
  const rest = [...all].filter((name) => name.endsWith(suffix) && name !== whole);
  const parts = [...new Set([...known, ...rest])];
  return parts.filter((name) => records.some(({ metrics }) => metrics[name] > 0));
}

/** The bars of a group, from the top: of each model its series, then what studies report. */
function barsOf({ rows, series }, kind) {
  let place = -1;
  return rows.flatMap(({ name, records, reported }) => {
    const own = series.flatMap((one) =>
      records
        .filter((record) => one.records.includes(record))
        .map((record) => ({ record, series: one.name })),
    );
    const others = reported
      .filter((one) => kind.reportedOf?.(one) > 0)
      .map((one) => ({ reported: one, series: `${shortModel(one.device)}, elsewhere` }));
    place += place < 0 ? 0 : GAP;
    return [...own, ...others].map((bar, i) => {
      place += 1;
      return { ...bar, place, row: name, label: i ? bar.series : `${name}:  ${bar.series}` };
    });
  });
}

/**
 * The panels of a chart of parts of training steps.
 * @param {Object} kind
 *     id, title, caption   of its panels
 *     withoutParts         a sentence of the caption where a bar has no parts
 *     suffix               the end of the names of metrics that are parts; `whole`: the one that is not
 *     first                the metrics that come first, in their order
 *     wholeName            the mark's name
 *     wholeOf(record)      the whole, in the unit of metrics
 *     reportedOf(step)     the whole of a study's step; without it the chart has only bars with parts
 *     unit, scale          of the axis, and its units in one of the metrics'
 *     text(value)          a figure with its unit
 *     mostApart            bars whose wholes differ more than so are at first drawn as shares
 */
export function stackedPanels(model, kind) {
  const hasParts = ({ metrics }) =>
    Object.keys(metrics).some((name) => name.endsWith(kind.suffix) && name !== kind.whole);
  const groups = trainingGroups(model, hasParts, !kind.reportedOf);
  return groups.map((group) =>
    stackedPanel({ ...group, words: (others) => captionWords(group, others) }, kind, {
      id: `training-${kind.id}${group.cpu ? '-cpu' : ''}`,
      title: [kind.title, group.cpu && 'CPU'],
    }),
  );
}

/**
 * A panel of parts.
 * @param {Object} group { rows: [{ name, records, reported }], series: [{ name, records }],
 *     words(reported): sentences of the caption }
 * @param {Object} kind as in stackedPanels(); `rowName`: of rows in the table, without it "Model"
 * @param {Object} head { id, title }
 */
export function stackedPanel(group, kind, head) {
  const bars = barsOf(group, kind);
  const shown = bars.flatMap(({ record }) => record ?? []);
  const parts = partsOf(shown, kind);
  const colourOf = (metric, i) =>
    kind.first.includes(metric) ? kind.first.indexOf(metric) : kind.first.length + i;
  const marks = parts.map((metric, i) => ({
    ...{ name: partName(metric, kind.suffix), metric },
    ...{ colour: colourOf(metric, i), symbol: 'rect' },
  }));
  const whole = { name: kind.wholeName, colour: 'text', symbol: 'diamond' };
  const others = reportedMarks(bars.flatMap(({ reported }) => reported ?? []));
  const longest = Math.max(...bars.map(({ label }) => label.length));
  const told = { bars, marks, whole, others, kind, left: 14 + LETTER * longest };
  return panelOf({
    ...head,
    caption: [
      simulatedNote(shown.map(({ place }) => place)),
      kind.caption,
      bars.some((bar) => bar.record && !partSum(bar, marks)) && kind.withoutParts,
      'Parts stand in the order of the legend.',
      ...group.words(others.length),
    ],
    span: 'full',
    height: () => Math.round(10 + BOTTOM + (bars.at(-1).place + 1.2) * ROW),
    minWidth: told.left + 320,
    legend: [...marks, whole, ...others],
    places: shown.map(({ place }) => place),
    choices: [{ name: 'Bars', values: [kind.unit, SHARE], start: startOf(bars, kind) }],
    option: (how) => option(told, how),
    table: table(told),
  });
}

const partValue = ({ record }, { metric }) => record?.metrics[metric] ?? 0;
const partSum = (bar, marks) => sum(marks.map((mark) => partValue(bar, mark)));
const wholeOf = ({ record, reported }, kind) =>
  reported ? kind.reportedOf(reported) : kind.wholeOf(record);

/** The place of what is drawn at first, in the values of the choice. */
function startOf(bars, kind) {
  const all = bars.map((bar) => wholeOf(bar, kind)).filter((value) => value > 0);
  return Math.max(...all) > kind.mostApart * Math.min(...all) ? 1 : 0;
}

/** The parts of a bar that are not zero, each from where the one before ends. */
function placed(bar, marks, scale) {
  let from = 0;
  return marks.flatMap((mark, at) => {
    const value = partValue(bar, mark);
    if (!(value > 0)) return [];
    const start = from;
    from += value;
    return [{ at, bar, value, from: start * scale, to: from * scale }];
  });
}

const describe = (bar, { marks, kind }) => () => {
  if (bar.reported) return describeReported(bar.reported);
  const all = partSum(bar, marks);
  const share = (value) => value > 0 && `${kind.text(value)}, ${percent(value / all)}`;
  const total = (value) => value > 0 && kind.text(value);
  return {
    title: `${bar.row}, ${bar.series}`,
    rows: {
      ...Object.fromEntries(marks.map((mark) => [mark.name, share(partValue(bar, mark))])),
      'all parts': total(all),
      [kind.wholeName]: total(wholeOf(bar, kind)),
    },
  };
};

/** A part's name and figure, as much of both as has room in `pixels`. */
function inside(name, figure, pixels) {
  const texts = [`${name} ${figure}`, name, figure];
  return texts.find((text) => text.length * LETTER + 12 <= pixels) ?? '';
}

/** The texts within parts, on an invisible series of their mark's name. */
function labels(mark, parts, pixelsOf, figureOf, theme) {
  const ink = inkOn(tinted(markColour(mark, theme), theme.background));
  const data = parts.map((part) => ({
    value: [(part.from + part.to) / 2, part.bar.place],
    text: inside(mark.name, figureOf(part), pixelsOf(part)),
  }));
  return { ...texts(mark, data, textLabel(ink, 'inside')), z: 4 };
}

/** The mark of the whole, with its figure behind the bar; of what has no place only the figure. */
function wholes(mark, bars, told, scaleOf, theme) {
  const { kind, marks } = told;
  const some = bars.filter((bar) => wholeOf(bar, kind) > 0);
  const at = (bar) => wholeOf(bar, kind) * scaleOf(bar);
  const behind = (bar) => Math.max(at(bar), partSum(bar, marks) * scaleOf(bar));
  const data = some
    .filter((bar) => scaleOf(bar) > 0)
    .map((bar) => ({ value: [at(bar), bar.place], told: describe(bar, told) }));
  const figures = some.map((bar) => ({
    value: [behind(bar), bar.place],
    text: kind.text(wholeOf(bar, kind)),
  }));
  const label = textLabel(mark.hollow ? theme.muted : theme.text, 'right', { distance: 10 });
  return [{ ...points(mark, data, theme, 8), z: 6 }, texts(mark, figures, label)];
}

function option(told, { width, theme, chosen: [unit] }) {
  const { bars, marks, whole, others, kind, left } = told;
  const share = unit === 1;
  // What has no parts has no place among shares.
  const shareScale = (all) => (all > 0 ? 100 / all : 0);
  const scaleOf = (bar) => (share ? shareScale(partSum(bar, marks)) : kind.scale);
  const parts = bars.flatMap((bar) => placed(bar, marks, scaleOf(bar)));
  const ends = [
    ...parts.map(({ to }) => to),
    ...bars.map((bar) => (wholeOf(bar, kind) ?? 0) * scaleOf(bar)),
  ];
  const axisName = share ? '% of the parts' : kind.unit;
  const xAxis = linearAxis(theme, [0, ...ends], axisName, 28, plain, width < 700 ? 4 : 8);
  const pixel = (width - left - SIDES - 20) / xAxis.max;
  const pixelsOf = ({ from, to }) => (to - from) * pixel;
  const figureOf = ({ from, to }) => (share ? `${Math.round(to - from)}%` : plain(to - from));
  const ofMark = (i) => parts.filter(({ at }) => at === i);
  const spanOf = ({ bar, from, to }) => ({
    value: [from, bar.place, to],
    told: describe(bar, told),
  });
  const wholesOf = (mark, has) => wholes(mark, bars.filter(has), told, scaleOf, theme);
  const names = bars.map(({ label }) => label);
  const places = bars.map(({ place }) => place);
  return {
    ...common(theme),
    grid: { left, right: SIDES + 20, top: 10, bottom: BOTTOM },
    tooltip: pointTooltip(theme),
    xAxis,
    yAxis: { ...rowAxis(theme, names, places), splitLine: { show: false } },
    series: [
      ...marks.map((mark, i) => segments(mark, ofMark(i).map(spanOf), BAR, theme)),
      ...marks.map((mark, i) => labels(mark, ofMark(i), pixelsOf, figureOf, theme)),
      ...wholesOf(whole, ({ record }) => record),
      ...others.flatMap((mark) => wholesOf(mark, ({ reported: one }) => one?.device === mark.device)),
    ],
  };
}

function table({ bars, marks, kind }) {
  const figure = (value) => (value > 0 ? plain(value * kind.scale) : DASH);
  const part = (mark) => [`${mark.name}, ${kind.unit}`, (bar) => figure(partValue(bar, mark))];
  return tableOf(
    bars,
    {
      [kind.rowName ?? 'Model']: ({ row }) => row,
      Series: ({ reported, series }) =>
        reported ? `${reported.device}, reported elsewhere` : series,
    },
    {
      ...Object.fromEntries(marks.map(part)),
      [`all parts, ${kind.unit}`]: (bar) => figure(partSum(bar, marks)),
      [`${kind.wholeName}, ${kind.unit}`]: (bar) => figure(wholeOf(bar, kind)),
    },
    { Source: ({ reported }) => reported?.source ?? '' },
  );
}

export { section };
