// Groups records of layers by operation, and names the ways in which an engine makes it.
import { commas, count, plural, shape } from '../format.js';
import { differing, placeLabels, placeName } from '../labels.js';
import { groupBy } from '../model.js';

/** The section of all charts of layers. */
export const section = {
  id: 'layers',
  title: 'Layers: what communication adds to a GEMM',
  short: 'Layers',
};

const ALONE = /^(torch-)?none$/; // the engines that only multiply

/** @returns {Object[]} records of layers, but for those of the GEMM alone */
export const layerRecords = ({ records }) =>
  records.filter(({ benchmark, engine }) => benchmark === 'layer' && !ALONE.test(engine));

export const isMeasured = ({ outcome, metrics }) =>
  outcome === 'measured' && Number.isFinite(metrics.added_percent);

/** @returns {string} "2 ranges, sums by-compute, 1 stream" of a record of pieces; else what was chosen */
export const wayOf = ({ case: c, notes }) =>
  commas(
    c.ranges && plural(c.ranges, 'range'),
    c.sums && `sums ${c.sums}`,
    c.streams && plural(c.streams, 'stream'),
    notes?.chosen && `chosen: ${notes.chosen}`,
  );

/** The operation without its rows. A part that is a shape has them in its name. */
const operationOf = ({ case: c }) => {
  const part = c.part === shape(c).replaceAll(' ', '') ? `N ${count(c.n)}, K ${count(c.k)}` : c.part;
  return commas(c.layer === part ? '' : c.layer, part);
};

const isCaptured = ({ case: c }) => c.graph_launches > 0;

/** An operation; without rows, what its records have in common. */
const named = (record, rows) =>
  commas(operationOf(record), rows, record.case.dtype, isCaptured(record) && 'captured');

/** @returns {string} "gather-gemm, llama70b qkv, 2,048 rows, bf16, captured" */
export const caseName = (record) => named(record, `${count(record.case.m)} rows`);

/** For reduce(): the record that adds less. */
export const leastAdded = (a, b) =>
  b.metrics.added_percent < a.metrics.added_percent ? b : a;

/** Of the ways of each number of rows the one that adds least. */
const bestOfEach = (records) =>
  [...groupBy(records, ({ case: c }) => c.m).values()]
    .map((some) => some.reduce(leastAdded))
    .sort((a, b) => a.case.m - b.case.m);

/** A curve for each engine; for each of its places where several have measured it. */
function curvesOf(records) {
  const labels = placeLabels(records.map(({ place }) => place));
  return [...groupBy(records, ({ engine }) => engine)].flatMap(([engine, ofEngine]) => {
    const [place] = differing(ofEngine, [(record) => record.place]);
    return [...groupBy(ofEngine, place ?? (() => null)).values()].map((some) => ({
      name: commas(engine, place && labels.get(some[0].place)),
      place: some[0].place,
      points: bestOfEach(some),
    }));
  });
}

/**
 * @returns {Object[]} a group for each kind and number of devices, number of ranks, operation and type,
 *     captured or not: { key, title, place, ranks, case (of one), records, curves: [{ name, place, points
 *     (records in the order of rows) }] }. Journals of other programs on the same devices are in it,
 *     and captured calls are behind the others.
 */
export function layerGroups(model) {
  const measured = layerRecords(model)
    .filter(isMeasured)
    .sort((a, b) => isCaptured(a) - isCaptured(b));
  const key = (record) => [placeName(record.place), record.case.ranks, named(record)].join('/');
  return [...groupBy(measured, key)].map(([name, records]) => ({
    key: name,
    title: named(records[0]),
    place: records[0].place,
    ranks: records[0].case.ranks,
    case: records[0].case,
    records,
    curves: curvesOf(records),
  }));
}
