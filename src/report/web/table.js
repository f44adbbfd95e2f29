// Tables of the page: each has a caption or a label, headings with scope, and right-aligned numbers.
import { h } from './dom.js';
import { withHint } from './scroll_hint.js';

/**
 * A table in a box that scrolls sideways on narrow pages.
 * @param {{columns: {name: string, numeric?: boolean}[], rows: any[][]}} table cells: texts or nodes
 * @param {string} label the table's name for screen readers
 */
export function dataTable({ columns, rows }, label) {
  const kind = (i) => (columns[i].numeric ? 'number' : null);
  const head = columns.map(({ name }, i) => h('th', { scope: 'col', class: kind(i) }, name));
  const cells = (row) =>
    row.map((text, i) =>
      i === 0 ? h('th', { scope: 'row', class: kind(i) }, text) : h('td', { class: kind(i) }, text),
    );
  const body = rows.map((row) => h('tr', {}, cells(row)));
  const table = h(
    'table',
    { 'aria-label': label },
    h('thead', {}, h('tr', {}, head)),
    h('tbody', {}, body),
  );
  return scrollBox(table, label);
}

/** A box that scrolls, with a hint and reachable by keyboard. `kind` is an additional class. */
export function scrollBox(content, label, kind = '') {
  return withHint(
    h(
      'div',
      { class: `scroll ${kind}`.trim(), tabindex: '0', role: 'group', 'aria-label': label },
      content,
    ),
  );
}
