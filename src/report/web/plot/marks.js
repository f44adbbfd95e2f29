// Series: how one looks (colour, symbol, hollow or filled, dashes) is decided once and used by the
// chart, by its legend on the page and by the legend in a saved picture.
import { seriesColour } from '../palette.js';

/**
 * @typedef {Object} Mark
 * @property {string} name
 * @property {number|string} colour a place in the order of series colours, or a colour of the theme
 * @property {string} symbol "circle", "rect", "triangle", "diamond"
 * @property {boolean} [hollow]
 * @property {string} [dash] "solid" (the default) or "dashed"; lines only
 * @property {boolean} [line] whether the points are joined
 * @property {string} [note] a word on the series that its legend adds: its best value
 * @property {boolean} [fixed] explains marks of several series; the legend does not hide it
 */

/** Symbols and hollow symbols: more series cannot be told apart without their colours. */
export const MOST_LOOKS = 8;
export const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'];

/**
 * As many of some series as can be told apart: the fastest of each place first, then the fastest of the
 * others.
 * @param {Object[]} series @param {(one) => number} rate @param {(one) => Object} placeOf
 * @returns {Object[]} in the order of `series`
 */
export function tellable(series, rate, placeOf) {
  const sorted = [...series].sort((a, b) => rate(b) - rate(a));
  const first = new Map([...sorted].reverse().map((one) => [placeOf(one), one]));
  const leading = sorted.filter((one) => first.get(placeOf(one)) === one);
  const chosen = [...new Set([...leading, ...sorted])].slice(0, MOST_LOOKS);
  return series.filter((one) => chosen.includes(one));
}

/** @returns {{symbol: string, hollow: boolean}} eight that can be told apart */
export const symbolAt = (index) => ({
  symbol: SYMBOLS[index % SYMBOLS.length],
  hollow: Math.floor(index / SYMBOLS.length) % 2 === 1,
});

/** @returns {string} the colour of a mark in a theme */
export const markColour = (mark, theme) =>
  typeof mark.colour === 'string' ? theme[mark.colour] : seriesColour(theme, mark.colour);

/** The look of points, as the drawing library takes it. */
export function pointStyle(mark, theme) {
  const colour = markColour(mark, theme);
  return {
    color: mark.hollow ? theme.background : colour,
    borderColor: mark.hollow ? colour : theme.background,
    borderWidth: mark.hollow ? 1.6 : 0.8,
    opacity: 1,
  };
}

/** A curve through its points. `data`: [x, y, ...] each. */
export const curve = (mark, data, theme) => ({
  type: 'line',
  name: mark.name,
  data,
  symbol: mark.symbol,
  symbolSize: mark.symbol === 'circle' ? 6 : 6.5,
  showAllSymbol: true,
  itemStyle: pointStyle(mark, theme),
  lineStyle: { color: markColour(mark, theme), width: 1.6, type: mark.dash ?? 'solid' },
  emphasis: { disabled: true },
});

/** Points on their own; hollow ones hide nothing that is under them. */
export const points = (mark, data, theme, size = 9) => ({
  type: 'scatter',
  name: mark.name,
  data,
  symbol: mark.symbol,
  symbolSize: mark.symbol === 'diamond' || mark.symbol === 'triangle' ? size + 2 : size,
  itemStyle: {
    ...pointStyle(mark, theme),
    ...(mark.hollow ? { color: 'transparent' } : {}),
  },
  emphasis: { disabled: true },
  z: mark.hollow ? 3 : 4,
});

/** Rings around points whose figure is in doubt, by the word of the verdict. */
const DOUBTS = {
  LOW: { name: 'lower than expected', colour: 'low', symbol: 'circle', hollow: true, fixed: true },
  'SUSPECT-HIGH': {
    name: 'higher than possible',
    colour: 'high',
    symbol: 'diamond',
    hollow: true,
    fixed: true,
  },
};

/** @returns {Mark[]} what the rings around some records mean */
export const doubtMarks = (records) =>
  Object.entries(DOUBTS)
    .filter(([word]) => records.some(({ verdict }) => verdict?.word === word))
    .map(([, mark]) => mark);

/**
 * The rings of a series, under its name, so that they are hidden with it.
 * @param {string} name @param {{value: number[], record: Object}[]} data
 */
export function doubtRings(name, data, theme) {
  return Object.entries(DOUBTS).flatMap(([word, mark]) => {
    const some = data.filter(({ record }) => record.verdict?.word === word);
    if (!some.length) return [];
    const ring = points(
      mark,
      some.map(({ value }) => value),
      theme,
      15,
    );
    const style = { ...ring.itemStyle, borderWidth: 2 };
    return [{ ...ring, name, itemStyle: style, silent: true, tooltip: { show: false }, z: 5 }];
  });
}

/** The label of a reference line or a roof. */
export const lineLabel = (theme, text, position = 'insideStartTop') => ({
  show: true,
  formatter: () => text,
  position,
  color: theme.text,
  fontSize: 11,
  textBorderColor: theme.background,
  textBorderWidth: 3,
});

/**
 * Straight reference lines with labels, on an invisible series.
 * @param {{axis: 'x'|'y', at: number, label: string, position?: string, solid?: boolean}[]} lines
 */
export function referenceLines(lines, theme) {
  return {
    type: 'line',
    data: [],
    silent: true,
    markLine: {
      silent: true,
      symbol: 'none',
      precision: 9,
      animation: false,
      data: lines.map(({ axis, at, label, position, solid }) => ({
        [axis === 'x' ? 'xAxis' : 'yAxis']: at,
        lineStyle: { color: theme.roof, width: 1.4, type: solid ? 'solid' : [7, 3, 1, 3] },
        label: lineLabel(theme, label, position),
      })),
    },
  };
}
