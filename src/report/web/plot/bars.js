// Bars as series of rectangles: upright ones from a base, and horizontal ones from begin to end.
import { tint } from '../palette.js';
import { markColour } from './marks.js';

const MOST_WIDE = 28; // pixels of an upright bar

const tinted = (mark, theme) => ({ fill: tint(markColour(mark, theme)) });

const outlined = (mark, theme) => ({
  fill: theme.background,
  stroke: markColour(mark, theme),
  lineWidth: 1.4,
});

const bars = (mark, data, encode, shapeOf, style) => ({
  type: 'custom',
  name: mark.name,
  data,
  encode,
  clip: true,
  renderItem: (_, api) => ({ type: 'rect', shape: shapeOf(api), style }),
});

/** Upright bars. `data`: { value: [x, y] } for each bar; `width` in units of the x axis. */
export const columns = (mark, data, { base, width }, theme) =>
  bars(
    mark,
    data,
    { x: 0, y: 1 },
    (api) => {
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      const [, foot] = api.coord([api.value(0), base]);
      const wide = Math.min(MOST_WIDE, api.size([width, 0])[0]);
      return { x: x - wide / 2, y: Math.min(y, foot), width: wide, height: Math.abs(foot - y) };
    },
    tinted(mark, theme),
  );

/** The parts of a bar: a gap between each and the next. */
const apart = (style, theme) => ({ ...style, stroke: theme.background, lineWidth: 1 });

/** Parts of horizontal bars, as spans() has them. */
export const segments = (mark, data, height, theme) =>
  spans(mark, data, height, theme, apart(tinted(mark, theme), theme));

/**
 * Horizontal bars; those of hollow marks are outlines. `data`: { value: [from, row, to] } for each bar;
 * `height` in pixels.
 */
export const spans = (mark, data, height, theme, style = null) =>
  bars(
    mark,
    data,
    { x: [0, 2], y: 1 },
    (api) => {
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      const [end] = api.coord([api.value(2), api.value(1)]);
      return { x, y: y - height / 2, width: Math.max(1, end - x), height };
    },
    style ?? (mark.hollow ? outlined(mark, theme) : tinted(mark, theme)),
  );
