// Records as CSV (RFC 4180, line feeds), safe to open in a spreadsheet.
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
  const axes = keysOf(records, (record) => record.case);
  const figures = keysOf(records, (record) => ({ ...record.rates, ...record.metrics }));
  const notes = keysOf(records, (record) => record.notes);
  const head = [
    'journal',
    'benchmark',
    'device',
    'engine',
    ...axes,
    'outcome',
    'verdict',
    'median_seconds',
    'ci_low_seconds',
    'ci_high_seconds',
    'samples',
    ...figures,
    'verdict_expected',
    'verdict_bound',
    'sampling',
    'throttle',
    'reason',
    ...notes.map((note) => `note_${note}`),
    'warnings',
  ];
  const line = (record) => [
    record.place.journal.name,
    record.benchmark,
    record.device,
    record.engine,
    ...axes.map((axis) => plain(record.case[axis])),
    record.outcome,
    record.verdict && wordOf(record),
    record.seconds?.median,
    record.seconds?.ci_low,
    record.seconds?.ci_high,
    record.seconds?.n,
    ...figures.map((figure) => record.rates?.[figure] ?? record.metrics?.[figure]),
    record.verdict?.expected,
    record.verdict?.bound,
    record.mode,
    throttleOf(record),
    reasonOf(record),
    ...notes.map((note) => record.notes?.[note]),
    record.warnings?.join('; '),
  ];
  return [head, ...records.map(line)].map((cells) => `${cells.map(cell).join(',')}\n`).join('');
}

const plain = (value) => (Array.isArray(value) ? value.join(' ') : value);
