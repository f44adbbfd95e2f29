// Series: how one looks (colour, symbol, hollow or filled, dashes) is decided once and used by the
// chart, by its legend on the page and by the legend in a saved picture.
import { seriesColour } from '../palette.js';

/**
 * @typedef {Object} Mark
 * @property {string} name
 * @property {number|string} colour a place in the order of series colours, or a colour of the theme
 * @property {string} symbol "circle", "rect", "triangle", "diamond", "" for a line alone
 * @property {boolean} [hollow]
 * @property {string} [dash] "solid" (the default), "dashed" or "dotted"; lines only
 * @property {boolean} [line] whether the points are joined
 * @property {string} [note] a word on the series that its legend adds: its best value
 */

const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'];

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

/** Points on their own. */
export const points = (mark, data, theme, size = 9) => ({
  type: 'scatter',
  name: mark.name,
  data,
  symbol: mark.symbol,
  symbolSize: mark.symbol === 'diamond' || mark.symbol === 'triangle' ? size + 2 : size,
  itemStyle: pointStyle(mark, theme),
  emphasis: { disabled: true },
  z: mark.hollow ? 4 : 3,
});

/** Rings around the points whose figure is lower than it should be. */
export const LOW_MARK = {
  name: 'lower than expected',
  colour: 'low',
  symbol: 'circle',
  hollow: true,
};

/** @returns {Object[]} no series if there is no such point */
export function lowRings(data, theme) {
  if (data.length === 0) return [];
  const style = { color: 'transparent', borderColor: theme.low, borderWidth: 2, opacity: 1 };
  const ring = points(LOW_MARK, data, theme, 15);
  return [{ ...ring, itemStyle: style, silent: true, z: 5 }];
}

/**
 * Straight reference lines with labels, on an invisible series.
 * @param {{axis: 'x'|'y', at: number, label: string, colour?: string}[]} lines
 */
export function referenceLines(lines, theme, position = 'insideEndTop') {
  return {
    type: 'line',
    data: [],
    silent: true,
    markLine: {
      silent: true,
      symbol: 'none',
      precision: 9,
      animation: false,
      data: lines.map(({ axis, at, label, colour }) => ({
        [axis === 'x' ? 'xAxis' : 'yAxis']: at,
        lineStyle: { color: colour ?? theme.roof, width: 1.4, type: [7, 3, 1, 3] },
        label: {
          formatter: () => label,
          position,
          color: theme.text,
          fontSize: 11,
          textBorderColor: theme.background,
          textBorderWidth: 3,
        },
      })),
    },
  };
}
