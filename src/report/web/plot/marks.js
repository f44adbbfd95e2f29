// The looks of series (colour, symbol, hollow or filled, dashes). A series has one Mark, which the
// chart, its legend on the page and the legend of a saved picture use.
import { seriesColour } from '../palette.js';

/**
 * @typedef {Object} Mark
 * @property {string} name
 * @property {number|string} colour an index of the series colours, or the name of a theme's colour
 * @property {string} [symbol] "circle", "rect", "triangle", "diamond"; left out: a line without points
 * @property {boolean} [hollow]
 * @property {string} [dash] "solid" (the default) or "dashed"; lines only
 * @property {boolean} [line] whether the points are joined
 * @property {string} [note] a text that the legend adds: the series' best value
 * @property {boolean} [fixed] the mark explains marks of several series and cannot be hidden
 */

/** The number of different looks without colours: four symbols, filled or hollow. */
export const MOST_LOOKS = 8;
export const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'];

/**
 * Chooses up to MOST_LOOKS series: first the fastest of each place, then the fastest of the others.
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

/** @returns {{symbol: string, hollow: boolean}} one of MOST_LOOKS different looks */
export const symbolAt = (index) => ({
  symbol: SYMBOLS[index % SYMBOLS.length],
  hollow: Math.floor(index / SYMBOLS.length) % 2 === 1,
});

/** A hollow mark for each device of which others reported figures. */
export function reportedMarks(reported) {
  const devices = [...new Set(reported.map(({ device }) => device))];
  const symbols = ['diamond', 'triangle', 'rect', 'circle'];
  return devices.map((device, i) => ({
    name: `${device}, reported elsewhere`,
    device,
    colour: 'muted',
    symbol: symbols[i % symbols.length],
    hollow: true,
  }));
}

/** @returns {string} the colour of a mark in a theme */
export const markColour = (mark, theme) =>
  typeof mark.colour === 'string' ? theme[mark.colour] : seriesColour(theme, mark.colour);

/** The style of points in the drawing library's form. */
export function pointStyle(mark, theme) {
  const colour = markColour(mark, theme);
  return {
    color: mark.hollow ? theme.background : colour,
    borderColor: mark.hollow ? colour : theme.background,
    borderWidth: mark.hollow ? 1.6 : 0.8,
    opacity: 1,
  };
}

/** A curve through points. `data`: [x, y, ...] for each point. */
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

/** Points without a line. Hollow points are transparent inside. */
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

/** The rings around points with a LOW or SUSPECT-HIGH verdict, by its word. */
const RING = { hollow: true, fixed: true };
const DOUBTS = {
  LOW: { name: 'lower than expected', colour: 'low', symbol: 'circle', ...RING },
  'SUSPECT-HIGH': { name: 'higher than possible', colour: 'high', symbol: 'diamond', ...RING },
};

/** @returns {Mark[]} marks that explain the rings around these records */
export const doubtMarks = (records) =>
  Object.entries(DOUBTS)
    .filter(([word]) => records.some(({ verdict }) => verdict?.word === word))
    .map(([, mark]) => mark);

/**
 * The rings of a series. They have its name, so that they are hidden with it.
 * @param {string} name @param {{value: number[], record: Object}[]} data
 */
export function doubtRings(name, data, theme) {
  return Object.entries(DOUBTS).flatMap(([word, mark]) => {
    const some = data.filter(({ record }) => record.verdict?.word === word);
    const at = some.map(({ value }) => value);
    const ring = points(mark, at, theme, 15);
    const style = { ...ring.itemStyle, borderWidth: 2 };
    const silent = { silent: true, tooltip: { show: false }, z: 5 };
    return some.length ? [{ ...ring, name, itemStyle: style, ...silent }] : [];
  });
}

/** Labels of points that are the `text` of their data. */
export const textLabel = (colour, position, more = {}) => ({
  ...{ show: true, position, color: colour, fontSize: 11 },
  formatter: ({ data }) => data.text,
  ...more,
});

/** Texts on invisible points of a mark's series. `data`: { value, text } for each */
export const texts = (mark, data, label, opacity = 1) => ({
  ...{ type: 'scatter', name: mark.name, data, symbolSize: 0.01, silent: true },
  ...{ itemStyle: { opacity }, label },
});

/** The label of a reference line or a roof. */
const lineLabel = (theme, text, position = 'insideStartTop') => ({
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
