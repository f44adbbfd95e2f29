// What the charts of copies share: the names of the ways of copying, the look of their series, and
// the roofline above them.
import { words } from '../format.js';

const KINDS = ['peer', 'host_to_device', 'device_to_host', 'local'];
const EXECUTORS = ['dma', 'kernel', 'host'];
const SYMBOLS = ['circle', 'rect', 'triangle'];

/** @returns {string} "pinned" or "pageable" where the host's memory is one end, else "" */
export function hostMemory(c) {
  return [c.source, c.destination].find((end) => end === 'pinned' || end === 'pageable') ?? '';
}

/** @returns {number} the place of a way of copying among the panels */
export function wayOrder(c) {
  const pageable = hostMemory(c) === 'pageable' ? 40 : 0;
  const both = (c.pattern === 'pair' ? 0 : 2) + (c.bidirectional ? 1 : 0);
  return KINDS.indexOf(c.kind) * 10 + pageable + both + (c.kind === 'local' ? 100 : 0);
}

/** @returns {string} "Device to device, one pair, both ways (sum)" */
export function copyTitle(c) {
  const sum = c.bidirectional || c.pattern !== 'pair' ? ' (sum)' : '';
  if (c.kind === 'local') return 'Within a device (read + written)';
  if (c.kind !== 'peer') {
    const way = c.kind === 'host_to_device' ? 'Host to device' : 'Device to host';
    return (
      [way, hostMemory(c) && `${hostMemory(c)} memory`, c.bidirectional && 'both ways']
        .filter(Boolean)
        .join(', ') + sum
    );
  }
  const pattern =
    { pair: 'one pair', all_pairs: 'all pairs at once' }[c.pattern] ?? words(c.pattern);
  const ways = c.bidirectional ? ', both ways' : c.pattern === 'pair' ? ', one way' : '';
  return `Device to device, ${pattern}${ways}${sum}`;
}

/**
 * The look of a curve: the symbol says by what, dashes that it was pulled; the colour says by what
 * too, unless several places share the chart.
 * @param {Object} c the case
 * @param {number|null} place among several, or null
 */
export function copyMark(c, place) {
  const executor = Math.max(0, EXECUTORS.indexOf(c.executor));
  return {
    colour: place ?? executor,
    symbol: SYMBOLS[executor],
    hollow: c.issue === 'pull',
    dash: c.issue === 'pull' ? 'dashed' : 'solid',
  };
}

/** @returns {number|undefined} the roofline above a copy in GB/s, where one is known */
export function boundOf(record) {
  const { verdict, case: c, place } = record;
  if (verdict?.bound > 0 && verdict.rate === 'gb_per_s') return verdict.bound;
  if (c.kind === 'local') return place.ceiling.memory_gb_per_s;
  if (c.kind === 'host_to_device' || c.kind === 'device_to_host')
    return place.ceiling.host_link_gb_per_s;
  if (c.kind !== 'peer' || c.pattern !== 'pair' || !place.ceiling.link_gb_per_s) return undefined;
  return place.ceiling.link_gb_per_s * (c.bidirectional ? 2 : 1);
}

/**
 * The fastest of some copies: of those under a bound, if there are any, since what fits in a cache is
 * faster than the memory that the others are held against.
 */
export function fastest(records) {
  const bounded = records.filter(({ verdict }) => verdict?.bound > 0);
  const list = bounded.length ? bounded : records;
  return list.reduce((a, b) => (b.rates.gb_per_s > a.rates.gb_per_s ? b : a));
}
