// A chart's legend: one button for each series, which hides and shows the series. The legend is outside
// the chart, so that the keyboard reaches its buttons and it wraps on narrow pages.
import { h, svg } from './dom.js';
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
  const picture = svg('svg', {
    width: 26,
    height: 12,
    viewBox: '0 0 26 12',
    'aria-hidden': 'true',
  });
  if (mark.line) {
    picture.append(
      svg('path', {
        d: 'M0 6 H26',
        stroke: colour,
        'stroke-width': 1.6,
        'stroke-dasharray': mark.dash === 'dashed' ? '4 3' : 'none',
      }),
    );
  }
  if (!mark.symbol) return picture;
  const { tag, ...place } = SHAPES[mark.symbol];
  picture.append(
    svg(tag, {
      ...place,
      fill: mark.hollow ? theme.background : colour,
      stroke: colour,
      'stroke-width': 1.5,
    }),
  );
  return picture;
}

/**
 * @param {import('./plot/marks.js').Mark[]} marks
 * @param {import('./palette.js').Theme} theme
 * @param {Set<string>} hidden names of the hidden series; the buttons change it
 * @param {() => void} changed called when a button has changed `hidden`
 */
export function legend(marks, theme, hidden, changed) {
  const items = marks.map((mark) => {
    const told = [
      icon(mark, theme),
      h('span', {}, mark.name, mark.note && h('span', { class: 'note' }, ` ${mark.note}`)),
    ];
    if (mark.fixed) return h('li', { class: 'fixed' }, told);
    const button = h(
      'button',
      { type: 'button', 'aria-pressed': String(!hidden.has(mark.name)) },
      told,
    );
    button.addEventListener('click', () => {
      if (!hidden.delete(mark.name)) hidden.add(mark.name);
      button.setAttribute('aria-pressed', String(!hidden.has(mark.name)));
      changed();
    });
    return h('li', {}, button);
  });
  return h('ul', { class: 'legend', 'aria-label': 'Series: press to hide or show' }, items);
}
