// Tables of the page: each has a caption or a label, headings with scope, and right-aligned numbers.
import { h } from './dom.js';
import { withHint } from './scroll_hint.js';

/** The columns of a table: of some texts, then of some numbers, and so on in turn. */
export const headings = (...names) =>
  names.flatMap((some, i) => some.map((name) => ({ name, numeric: i % 2 === 1 })));

/**
 * A table with a row for each item. @param {...Object<string, (item) => string>} cells by the names of
 * their columns: of texts, then of numbers, and so on in turn
 */
export const tableOf = (items, ...cells) => ({
  columns: headings(...cells.map(Object.keys)),
  rows: items.map((item) => cells.flatMap((some) => Object.values(some).map((of) => of(item)))),
});

/**
 * A table in a box that scrolls sideways on narrow pages.
 * @param {{columns: {name: string, numeric?: boolean}[], rows: any[][]}} table cells: texts or nodes
 * @param {string} label the table's name for screen readers
 */
export function dataTable({ columns, rows }, label) {
  const kind = (i) => ({ class: columns[i].numeric ? 'number' : null });
  const head = columns.map(({ name }, i) => h('th', { scope: 'col', ...kind(i) }, name));
  const cell = (text, i) => (i ? h('td', kind(i), text) : h('th', { scope: 'row', ...kind(i) }, text));
  const body = rows.map((row) => h('tr', row.map(cell)));
  const attributes = { 'aria-label': label };
  return scrollBox(h('table', attributes, h('thead', h('tr', head)), h('tbody', body)), label);
}

/** A box that scrolls, with a hint and reachable by keyboard. @param {string} [kind] ".tall" */
export const scrollBox = (content, label, kind = '') =>
  withHint(h(`div.scroll${kind}`, { tabindex: '0', role: 'group', 'aria-label': label }, content));
