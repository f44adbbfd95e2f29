// The table of all records: filter, sort, copy, save. Rows are made as the table is scrolled, so that
// thousands of records cost nothing before they are shown.
import { csv } from './csv.js';
import { button, h } from './dom.js';
import { commas, count, plural } from './format.js';
import { wordOf } from './model.js';
import { collator, columnsOf, View } from './record_view.js';
import { copyButton, saveText } from './save.js';
import { scrollBox } from './table.js';
import { wordMark } from './word.js';

const CHUNK = 100; // rows made at a time

const row = (record, columns) =>
  h(
    'tr',
    columns.map((column) => {
      const text = (column.text ?? column.value)(record);
      return h('td', { class: kindOf(column) }, contentOf(column, text, record, columns));
    }),
  );

const kindOf = ({ numeric, kind }) => (numeric ? 'number' : (kind ?? null));

function contentOf(column, text, record, columns) {
  if (column.kind === 'result') return wordMark(text);
  if (column.kind !== 'case') return text;
  const others = columns.filter(({ kind }) => kind === 'beside').map(({ value }) => value(record));
  return [text, h('span.below', commas(others))];
}

function heading(column, view, changed) {
  const sort = () => {
    view.direction = view.column === column ? -view.direction : 1;
    view.column = column;
    for (const other of cell.parentNode.children) other.setAttribute('aria-sort', 'none');
    cell.setAttribute('aria-sort', view.direction > 0 ? 'ascending' : 'descending');
    changed();
  };
  const name = [column.name, h('span.arrow', { 'aria-hidden': 'true' })];
  const attributes = { class: kindOf(column), scope: 'col', 'aria-sort': 'none' };
  const cell = h('th', attributes, button(name, sort));
  return cell;
}

function selectFilter(view, name, value, changed) {
  const values = [...new Set(view.records.map(value))].sort(collator.compare);
  const change = ({ target: { value: chosen } }) => {
    if (chosen) view.filters.set(name, (record) => value(record) === chosen);
    else view.filters.delete(name);
    changed();
  };
  const all = h('option', { value: '' }, 'all');
  const options = values.map((text) => h('option', { value: text }, text));
  const select = h('select', { on: { change } }, all, options);
  return values.length > 1 && h('label', h('span', name), select);
}

function textFilter(view, changed) {
  const input = ({ target }) => {
    const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
    view.filters.set('text', (record) => words.every((word) => view.textOf(record).includes(word)));
    changed();
  };
  const example = { placeholder: 'e.g. pull 256 MiB', spellcheck: 'false' };
  const field = h('input', { type: 'search', ...example, on: { input } });
  return h('label', h('span', 'Contains'), field);
}

/** Fills the body of the table, one chunk at a time. */
function filler(body, end, columns) {
  let rest = [];
  const more = (n) => body.append(...rest.splice(0, n).map((record) => row(record, columns)));
  const near = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || !rest.length) return;
      more(CHUNK);
      near.unobserve(end); // a new observation reports the end again if it is still near
      near.observe(end);
    },
    { rootMargin: '600px' },
  );
  near.observe(end);
  return {
    show(records) {
      rest = [...records];
      body.replaceChildren();
      more(CHUNK);
    },
    all: () => more(rest.length),
  };
}

/** @param {import('./model.js').Model} model @returns {HTMLElement} the section's content */
export function recordsTable(model) {
  const columns = columnsOf(model.records);
  const view = new View(model.records, columns);
  const body = h('tbody');
  const end = h('div.end');
  const fill = filler(body, end, columns);
  const status = h('p.status', { role: 'status' });
  const changed = () => {
    const shown = view.shown();
    fill.show(shown);
    status.textContent = `${count(shown.length)} of ${plural(view.records.length, 'record')}`;
  };
  const head = columns.map((column) => heading(column, view, changed));
  const name = { 'aria-label': 'All records' };
  const table = h('table.records', name, h('thead', h('tr', head)), body);
  const filters = h(
    'div.filters',
    textFilter(view, changed),
    selectFilter(view, 'Benchmark', (record) => record.benchmark, changed),
    selectFilter(view, 'Result', wordOf, changed),
    selectFilter(view, 'Journal', ({ place }) => place.journal.name, changed),
  );
  const text = () => csv(view.shown());
  const tools = h(
    'div.tools',
    copyButton('Copy as CSV', text),
    button('Save as CSV', () => saveText('records.csv', 'text/csv;charset=utf-8', text())),
    button('Show all rows', fill.all),
  );
  changed();
  const left = `The table of ${plural(model.records.length, 'record')} is left out on paper; the file that this was printed from has it.`;
  return h(
    'div',
    filters,
    h('div.status-line', status, tools),
    scrollBox([table, end], 'All records', '.tall'),
    h('p.paper-note', left),
  );
}
