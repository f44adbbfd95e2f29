// What charts of bars over time share: words above rows of bars, of a record that the reader chooses.
import { plain } from '../format.js';
import { linearAxis, rowAxis } from './axes.js';
import { common } from './draw.js';
import { referenceLines } from './marks.js';
import { panelOf } from './panel.js';
import { pointTooltip } from './tooltip.js';

const LINE = 17; // pixels from one line of text to the next
const TOP = 4 * LINE + 14;
const BOTTOM = 46;
const ROW = 42; // pixels
export const BAR = 12;

export const micros = (value) => `${(value * 1e6).toFixed(1)} us`;

/** What a tooltip tells of a bar, times in seconds. */
export const toldOf = (title, from, to) => () => ({
  title,
  rows: { from: micros(from), to: micros(to) },
});

const lines = (list, theme) =>
  list.map((text, i) => ({
    type: 'text',
    silent: true,
    style: {
      ...{ text, x: 14, y: 8 + i * LINE, fill: i ? theme.muted : theme.text },
      font: `${i ? '' : '600 '}12px system-ui, sans-serif`,
    },
  }));

/**
 * @param {Object} of the chart:
 *     said     up to four lines of text, the first of them the title
 *     rows     names
 *     times    seconds that the axis must include
 *     line     { at, label }: an upright line, in seconds; none at 0
 *     series(scale) -> the bars, whose x are seconds times `scale`
 */
export function timelineOption({ said, rows, times, line, series }, { theme, width }) {
  const [unit, scale] = Math.max(...times, 0) >= 1e-3 ? ['ms', 1e3] : ['us', 1e6];
  const upright = line.at > 0 ? [{ axis: 'x', at: line.at * scale, label: line.label }] : [];
  const values = [0, ...times.map((time) => time * scale)];
  return {
    ...common(theme),
    grid: { left: 62, right: 112, top: TOP, bottom: BOTTOM },
    graphic: { elements: lines(said, theme) },
    tooltip: pointTooltip(theme),
    xAxis: linearAxis(theme, values, `time, ${unit}`, 28, plain, width < 600 ? 4 : 8),
    yAxis: { ...rowAxis(theme, rows), splitLine: { show: false } },
    series: [referenceLines(upright, theme), ...series(scale)],
  };
}

/** The chart of a case that was not measured: the reason, without axes that would suggest a result. */
const empty = (said, { theme }) => ({
  ...common(theme),
  graphic: { elements: lines(said, theme) },
  grid: { top: TOP, bottom: 0 },
  xAxis: { show: false },
  yAxis: { show: false },
  series: [],
});

/**
 * A panel (panel.js) in which the reader chooses one of `scenarios` ({ name, records }) and a way of it.
 * @param {Object} of the panel:
 *     wayOf(record)   the name of its way; `way`: the name of that choice
 *     start           the record that is drawn first; undefined: the first scenario's first way
 *     isDrawn(record), lackOf(records)  what of a scenario's way can be drawn, and why nothing can
 *     drawn(record, name, how) -> the chart, see timelineOption()
 *     rows            the most rows of a record
 */
export function timelinePanel({ scenarios, wayOf, way, start, isDrawn, lackOf, drawn, rows, ...own }) {
  const ways = [...new Set(scenarios.flatMap(({ records }) => records.map(wayOf)))];
  const first = scenarios.findIndex(({ records }) => records.includes(start));
  const option = (how) => {
    const { name, records } = scenarios[how.chosen[0]];
    const wanted = ways[how.chosen[1]];
    const some = records.filter((record) => wayOf(record) === wanted);
    const record = some.find(isDrawn);
    return record ? drawn(record, name, how) : empty([`${name}, ${wanted}`, lackOf(some)], how);
  };
  return panelOf({
    ...own,
    span: 'full',
    height: () => TOP + BOTTOM + rows * ROW,
    minWidth: 620,
    choices: [
      { name: 'Scenario', values: scenarios.map(({ name }) => name), start: Math.max(first, 0) },
      { name: way, values: ways, start: start ? ways.indexOf(wayOf(start)) : 0 },
    ],
    option,
  });
}
