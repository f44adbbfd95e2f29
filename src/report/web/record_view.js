// The data behind the table of records: columns, filters and order.
import { caseText, commas, namedRate, number, percent, rateText, ratio, seconds, words } from './format.js';
import { addedOf, shareOf, wordOf } from './model.js';
import { remarksOf } from './remarks.js';

/** The rates that can be a record's figure. The first one that the record has is. */
const RATES = [
  ...['tokens_per_s', 'samples_per_s'],
  ...['tflops', 'gb_per_s', 'busbw_gb_per_s', 'gbit_per_s'],
];
const rateNameOf = ({ rates }) => RATES.find((name) => name in rates);

/** A record's rate, of one device where it is a sum over several. */
const rateOf = (record, name) => record.rates[name] / addedOf(record);

/** A record's figure with its unit; "" if it has none. */
function figureText(record) {
  const name = rateNameOf(record);
  if (name) return `${rateText(name, rateOf(record, name))}${addedOf(record) > 1 ? ' each' : ''}`;
  const kept = record.metrics.fraction_of_ideal;
  return kept === undefined ? '' : `${ratio(kept)} of ideal`;
}

const APART = 1e9; // larger than any rate, so that sorting keeps figures of one unit together

function figureOrder(record) {
  const name = rateNameOf(record);
  const value = name ? rateOf(record, name) : record.metrics.fraction_of_ideal;
  return value === undefined ? undefined : APART * (RATES.indexOf(name) + 1) + value;
}

/** The record's other rates as "name value". */
function otherRates(record) {
  const own = rateNameOf(record);
  const others = Object.entries(record.rates).filter(([name]) => name !== own);
  return commas(others.map(([name, value]) => namedRate(name, value)));
}

/** Metrics are ratios, or seconds or bytes where their names say so. */
const metricText = ([name, value]) =>
  /_(seconds|bytes)$/.test(name) ? namedRate(name, value) : `${words(name)} ${number(value)}`;

const metricsText = ({ metrics }) => commas(Object.entries(metrics).map(metricText));

/**
 * The columns: `value` to sort by, `text` to show (by default the value) and `kind` for the layout.
 * The columns of the case and its result come first and fit a window without scrolling. On a phone,
 * which has room for three columns, columns of the kind `beside` are shown below the case.
 */
export function columnsOf(records) {
  const several = new Set(records.map(({ place }) => place.journal.name)).size > 1;
  const numeric = (name, value, text) => ({
    name,
    numeric: true,
    value,
    text: (record) => (value(record) === undefined ? '' : text(value(record))),
  });
  const beside = (name, value) => ({ name, value, kind: 'beside' });
  return [
    { name: 'Case', value: caseText, kind: 'case' },
    beside('Engine', (record) => record.engine),
    beside('Device', (record) => record.device),
    { name: 'Result', value: wordOf, kind: 'result' },
    { name: 'Figure', numeric: true, value: figureOrder, text: figureText },
    numeric('of expected', shareOf, percent),
    numeric('Median', (record) => record.seconds?.median, seconds),
    { name: 'Benchmark', value: (record) => record.benchmark },
    several && { name: 'Journal', value: ({ place }) => place.journal.name },
    { name: 'Mode', value: ({ mode }) => mode ?? '' },
    { name: 'Notes', value: remarksOf, kind: 'wide' },
    records.some(otherRates) && { name: 'Other rates', value: otherRates, kind: 'wide' },
    records.some(metricsText) && { name: 'Metrics', value: metricsText, kind: 'wide' },
  ].filter(Boolean);
}

export const collator = new Intl.Collator('en', { numeric: true });

/** Compares numbers, or texts with the numbers in them. Absent values are last in both directions. */
function compare(a, b, direction) {
  const absent = (value) => value === undefined || value === '';
  if (absent(a) || absent(b)) return Number(absent(a)) - Number(absent(b));
  return direction * (typeof a === 'number' ? a - b : collator.compare(a, b));
}

/** The state of the table: filters and order, and the records that they show. */
export class View {
  constructor(records, columns) {
    Object.assign(this, { records, columns, filters: new Map(), column: null, direction: 1 });
    this.texts = new Map();
  }

  /** All texts of a record in lower case, for the filter. Made when a filter is first used. */
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
