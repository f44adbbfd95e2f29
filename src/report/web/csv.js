// Records and tables as CSV (RFC 4180, line feeds), safe to open in a spreadsheet.
import { reasonOf, wordOf } from './model.js';
import { throttleOf } from './remarks.js';

/** A cell's text. An apostrophe precedes a text that a spreadsheet would take for a formula. */
function cell(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const keysOf = (records, of) => [
  ...new Set(records.flatMap((record) => Object.keys(of(record) ?? {}))),
];

/**
 * @param {Object[]} records in the order of the lines
 * @returns {string} a heading, whose names are unique, and a line for each record; numbers with the
 *   journal's digits
 */
export function csv(records) {
  const all = (of, cell) =>
    keysOf(records, of).map((key) => [key, (record) => cell(of(record) ?? {}, key)]);
  const columns = [
    ['journal', ({ place }) => place.journal.name],
    ['benchmark', ({ benchmark }) => benchmark],
    ['device', ({ device }) => device],
    ['engine', ({ engine }) => engine],
    ...all(({ case: c }) => c, (axes, axis) => plain(axes[axis])),
    ['outcome', ({ outcome }) => outcome],
    ['verdict', (record) => record.verdict && wordOf(record)],
    ['median_seconds', ({ seconds }) => seconds?.median],
    ['ci_low_seconds', ({ seconds }) => seconds?.ci_low],
    ['ci_high_seconds', ({ seconds }) => seconds?.ci_high],
    ['samples', ({ seconds }) => seconds?.n],
    ...all(({ rates, metrics }) => ({ ...rates, ...metrics, ...rates }), (figures, name) => figures[name]),
    ['verdict_expected', ({ verdict }) => verdict?.expected],
    ['verdict_bound', ({ verdict }) => verdict?.bound],
    ['sampling', ({ mode }) => mode],
    ['throttle', throttleOf],
    ['reason', reasonOf],
    ...all(({ notes }) => notes, (notes, name) => notes[name]).map(([note, of]) => [`note_${note}`, of]),
    ['warnings', ({ warnings }) => warnings?.join('; ')],
  ];
  const lines = records.map((record) => columns.map(([, of]) => of(record)));
  const head = columns.map(([name]) => name);
  return linesOf([head, ...lines]);
}

const linesOf = (lines) => lines.map((cells) => `${cells.map(cell).join(',')}\n`).join('');

/** A table in the form of table.js, as the page shows it: numbers with their units. */
export const tableCsv = ({ columns, rows }) =>
  linesOf([columns.map(({ name }) => name), ...rows.map((row) => row.map(shown))]);

const shown = (text) => text?.textContent ?? text;

const plain = (value) => (Array.isArray(value) ? value.join(' ') : value);
