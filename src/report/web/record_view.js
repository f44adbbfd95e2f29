// The table of records as data: its columns, what filters leave of it, and in which order.
import { caseText, namedRate, number, percent, seconds, words } from './format.js';
import { shareOf, wordOf } from './model.js';
import { remarksOf } from './remarks.js';

const COLUMNS = ['tflops', 'gb_per_s']; // rates that have columns of their own

/** Rates of any other name, as "name value". */
const otherRates = ({ rates }) =>
  Object.entries(rates)
    .filter(([name]) => !COLUMNS.includes(name))
    .map(([name, value]) => namedRate(name, value))
    .join(', ');

/** Metrics are ratios, or seconds where their names say so. */
const metricsText = ({ metrics }) =>
  Object.entries(metrics)
    .map(([name, value]) =>
      name.endsWith('_seconds')
        ? `${words(name.slice(0, -8))} ${seconds(value)}`
        : `${words(name)} ${number(value)}`,
    )
    .join(', ');

/** Columns: `value` to sort by, `text` to show (the value, where it is left out). */
export function columnsOf(records) {
  const has = (rate) => records.some((record) => rate in record.rates);
  const several = new Set(records.map(({ place }) => place.journal.name)).size > 1;
  const numeric = (name, value, text) => ({
    name,
    numeric: true,
    value,
    text: (record) => (value(record) === undefined ? '' : text(value(record))),
  });
  return [
    several && { name: 'Journal', value: ({ place }) => place.journal.name },
    { name: 'Benchmark', value: (record) => record.benchmark },
    { name: 'Device', value: (record) => record.device },
    { name: 'Engine', value: (record) => record.engine },
    { name: 'Case', value: caseText },
    { name: 'Result', value: wordOf, word: true },
    numeric('Median', (record) => record.seconds?.median, seconds),
    has('tflops') && numeric('TFLOP/s', (record) => record.rates.tflops, number),
    has('gb_per_s') && numeric('GB/s', (record) => record.rates.gb_per_s, number),
    numeric('of expected', shareOf, percent),
    { name: 'Mode', value: ({ mode }) => mode ?? '' },
    { name: 'Notes', value: remarksOf, wide: true },
    records.some(otherRates) && { name: 'Other rates', value: otherRates, wide: true },
    records.some(metricsText) && { name: 'Metrics', value: metricsText, wide: true },
  ].filter(Boolean);
}

export const collator = new Intl.Collator('en', { numeric: true });

/** Numbers as numbers, texts with their numbers as numbers; what is absent comes last either way. */
function compare(a, b, direction) {
  const absent = (value) => value === undefined || value === '';
  if (absent(a) || absent(b)) return Number(absent(a)) - Number(absent(b));
  return direction * (typeof a === 'number' ? a - b : collator.compare(a, b));
}

/** What is shown: filters, the order, and the records that follow from them. */
export class View {
  constructor(records, columns) {
    Object.assign(this, { records, columns, filters: new Map(), column: null, direction: 1 });
    this.texts = new Map();
  }

  /** Every word of a record, in lower case; made once, when somebody filters. */
  textOf(record) {
    if (!this.texts.has(record)) {
      const words = this.columns.map((column) => (column.text ?? column.value)(record));
      this.texts.set(record, [...words, record.place.journal.name].join(' ').toLowerCase());
    }
    return this.texts.get(record);
  }

  shown() {
    const some = this.records.filter((record) =>
      [...this.filters.values()].every((keep) => keep(record)),
    );
    if (!this.column) return some;
    const keys = new Map(some.map((record) => [record, this.column.value(record)]));
    return some.sort((a, b) => compare(keys.get(a), keys.get(b), this.direction) || a.id - b.id);
  }
}
