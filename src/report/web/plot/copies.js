// What the charts of copies share: the names of the ways of copying, the look of their series, and
// the roofline above them.
import { words } from '../format.js';
import { fastest } from '../model.js';
import { SYMBOLS, symbolAt } from './marks.js';

const EXECUTORS = ['dma', 'kernel', 'host'];
const KINDS = ['peer', 'host_to_device', 'device_to_host', 'local'];

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
 * The looks of curves: dashes say that it was pulled, symbols by what, and where and in which variant
 * if these differ; colours say the same once more.
 * @param {Object[]} curves { place, case, variant } each
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

/** @returns {string} the same for curves of one place, executor and variant: they share a symbol */
export const makerOf = ({ place: { journal, device }, case: c, variant }) =>
  [journal.name, device, c.executor, variant].join('/');

/**
 * The roofline above a copy in GB/s, where one is known. A copy within a device has only the bound of
 * its verdict: what fits in a cache may be faster than the memory.
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
 * The fastest of some copies: of those under a bound, if there are any, since what fits in a cache is
 * faster than the memory that the others are held against.
 */
export function fastestCopy(records) {
  const bounded = records.filter(({ verdict }) => verdict?.bound > 0);
  return fastest(bounded.length ? bounded : records, 'gb_per_s');
}
