// A chart's legend: one button for each series, which hides and shows the series. The legend is outside
// the chart, so that the keyboard reaches its buttons and it wraps on narrow pages.
import { button, h, svg } from './dom.js';
import { markColour } from './plot/marks.js';

const SHAPES = {
  circle: { tag: 'circle', cx: 13, cy: 6, r: 4 },
  rect: { tag: 'rect', x: 9, y: 2, width: 8, height: 8 },
  triangle: { tag: 'path', d: 'M13 1.2 L17.6 10 L8.4 10 Z' },
  diamond: { tag: 'path', d: 'M13 0.8 L18 6 L13 11.2 L8 6 Z' },
};

/** @returns {SVGElement} a picture of a mark as the chart draws it */
function icon(mark, theme) {
  const colour = markColour(mark, theme);
  const size = { width: 26, height: 12, viewBox: '0 0 26 12', 'aria-hidden': 'true' };
  const dash = mark.dash === 'dashed' ? '4 3' : 'none';
  const stroke = { stroke: colour, 'stroke-width': 1.6, 'stroke-dasharray': dash };
  const { tag, ...place } = SHAPES[mark.symbol] ?? {};
  const fill = mark.hollow ? theme.background : colour;
  return svg(
    'svg',
    size,
    mark.line && svg('path', { d: 'M0 6 H26', ...stroke }),
    tag && svg(tag, { ...place, fill, stroke: colour, 'stroke-width': 1.5 }),
  );
}

/**
 * @param {import('./plot/marks.js').Mark[]} marks
 * @param {import('./palette.js').Theme} theme
 * @param {Set<string>} hidden names of the hidden series; the buttons change it
 * @param {() => void} changed called when a button has changed `hidden`
 */
export function legend(marks, theme, hidden, changed) {
  const item = (mark) => {
    const note = mark.note && h('span.note', ` ${mark.note}`);
    const told = [icon(mark, theme), h('span', mark.name, note)];
    if (mark.fixed) return h('li.fixed', told);
    const pressed = () => String(!hidden.has(mark.name));
    const click = ({ currentTarget }) => {
      if (!hidden.delete(mark.name)) hidden.add(mark.name);
      currentTarget.setAttribute('aria-pressed', pressed());
      changed();
    };
    return h('li', button(told, click, { 'aria-pressed': pressed() }));
  };
  return h('ul.legend', { 'aria-label': 'Series: press to hide or show' }, marks.map(item));
}
