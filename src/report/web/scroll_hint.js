// Marks boxes that scroll sideways: a shade at the edge with hidden content, and a line of text below.
import { h } from './dom.js';

/**
 * @param {HTMLElement} box an element that scrolls sideways if it is too narrow for its content
 * @returns {HTMLElement} the box with a hint, which is shown only if content is hidden to the right
 */
export function withHint(box) {
  const hint = h('p.scroll-hint', { 'aria-hidden': 'true' }, 'Scroll sideways for more');
  const around = h('div.scrolls', h('div.shaded', box), hint);
  const look = () => {
    const left = box.scrollWidth - box.clientWidth - box.scrollLeft;
    around.classList.toggle('more', left > 1);
  };
  box.addEventListener('scroll', look, { passive: true });
  // In the next frame: a chart inside draws itself again when its box has another width.
  const sizes = new ResizeObserver(() => requestAnimationFrame(look));
  sizes.observe(box);
  for (const child of box.children) sizes.observe(child);
  return around;
}
