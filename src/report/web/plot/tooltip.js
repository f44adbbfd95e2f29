// Tooltips. They are built as elements, so that texts of a journal are never parsed as markup.
import { h } from '../dom.js';

const look = (theme) => ({
  backgroundColor: theme.background,
  borderColor: theme.muted,
  borderWidth: 1,
  padding: [6, 9],
  textStyle: { color: theme.text, fontSize: 12, fontWeight: 'normal' },
  extraCssText: 'box-shadow:none;border-radius:3px;white-space:normal;max-width:22rem',
  confine: true,
  transitionDuration: 0,
});

function box(title, rows) {
  const lines = rows.map(([name, value]) =>
    h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, value)),
  );
  return h('div', { class: 'tip' }, h('p', {}, title), h('table', {}, h('tbody', {}, lines)));
}

/**
 * A tooltip over one point. `describe(params)` returns its title and rows, or null for none.
 * @param {(params: Object) => {title: string, rows: string[][]}|null} describe
 */
export const pointTooltip = (theme, describe) => ({
  ...look(theme),
  trigger: 'item',
  formatter: (params) => {
    const told = describe(params);
    return told ? box(told.title, told.rows) : '';
  },
});

/** A tooltip over all curves at one x. `describe` gets the list of their params. */
export const columnTooltip = (theme, describe) => ({
  ...look(theme),
  trigger: 'axis',
  axisPointer: {
    type: 'line',
    snap: true,
    label: { show: false },
    lineStyle: { color: theme.muted, width: 1 },
  },
  formatter: (list) => {
    const told = describe(list);
    return told ? box(told.title, told.rows) : '';
  },
});
