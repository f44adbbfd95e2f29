// The common part of the charts of copies: titles and order of panels, the looks of series, and their
// rooflines. A "way of copying" is a kind of copy with its pattern, direction and host memory.
import { words } from '../format.js';
import { fastest } from '../model.js';
import { SYMBOLS, symbolAt } from './marks.js';

const EXECUTORS = ['dma', 'kernel', 'host', 'sdma'];
const KINDS = ['peer', 'host_to_device', 'device_to_host', 'local'];

/** @returns {string} "pinned" or "pageable" if one end is host memory, else "" */
export function hostMemory(c) {
  return [c.source, c.destination].find((end) => end === 'pinned' || end === 'pageable') ?? '';
}

/** @returns {number} a number that orders the panels */
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
 * The looks of curves. Pulls are dashed. Symbols stand for the executor and, if they differ, for place
 * and variant. Colours only repeat what symbols show.
 * @param {Object[]} curves objects { place, case, variant }
 * @returns {Object[]} looks in the order of the curves: colour, symbol, hollow, dash
 */
export function copyLooks(curves) {
  const makers = [...new Set(curves.map(makerOf))];
  const places = [...new Set(curves.map((one) => one.place))];
  const variants = new Set(curves.map(({ variant }) => variant));
  const plain = places.length === 1 && variants.size === 1;
  return curves.map((one, index) => {
    const at = plain ? EXECUTORS.indexOf(one.case.executor) : makers.indexOf(makerOf(one));
    const pulled = one.case.issue === 'pull';
    const colour = places.length > 1 ? places.indexOf(one.place) : at;
    const look = symbolAt(at);
    return {
      ...look,
      colour: variants.size > 1 ? index : colour,
      hollow: makers.length > SYMBOLS.length ? look.hollow : pulled,
      dash: pulled ? 'dashed' : 'solid',
    };
  });
}

/** @returns {string} the key of place, executor and variant. Curves with one key share a symbol. */
export const makerOf = ({ place: { journal, device }, case: c, variant }) =>
  [journal.name, device, c.executor, variant].join('/');

/**
 * The roofline of a copy in GB/s, if one is known. A copy within a device has only the bound of its
 * verdict, because a copy that fits in a cache can be faster than the memory.
 * @returns {number|undefined}
 */
export function boundOf(record) {
  const { verdict, case: c } = record;
  const { ceiling } = record.place;
  if (verdict?.bound > 0 && verdict.rate === 'gb_per_s') return verdict.bound;
  if (c.kind === 'host_to_device' || c.kind === 'device_to_host') return ceiling.host_link_gb_per_s;
  if (c.kind !== 'peer' || c.pattern !== 'pair' || !ceiling.link_gb_per_s) return undefined;
  return ceiling.link_gb_per_s * (c.bidirectional ? 2 : 1);
}

/**
 * The fastest copy. If some copies have a bound, only those count: the others may be faster than the
 * memory because they fit in a cache.
 */
export function fastestCopy(records) {
  const bounded = records.filter(({ verdict }) => verdict?.bound > 0);
  return fastest(bounded.length ? bounded : records, 'gb_per_s');
}
