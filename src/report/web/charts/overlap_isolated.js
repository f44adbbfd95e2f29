// The sides of overlap scenarios alone (benchmark overlap_isolated): how much longer a GEMM takes without
// some of its compute units and a collective on few, and tables of what each side needs by itself.
import { bytes, count, number, ratio, seconds, words } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { addedOf, groupBy } from '../model.js';
import { valueAxis } from '../plot/axes.js';
import { NEAR as IN_RANGE } from '../plot/scales.js';
import { sizeCurves } from '../plot/size_curves.js';

export const order = 28;
export const section = {
  id: 'isolated',
  title: 'Each side of an overlap alone',
  short: 'Alone',
};

const NEAR = 1.05; // of the time on all units

const isIsolated = ({ benchmark, outcome }) =>
  benchmark === 'overlap_isolated' && outcome === 'measured';
const isCompute = ({ case: c }) => c.side === 'compute';
const slowdown = ({ metrics }) => metrics.slowdown;
/** Compute units that the side may use; of a collective by its default it is not known. */
const unitsOf = (record) => record.case.units || record.place.units;

const unitsAxis = (theme, units, text, name) =>
  valueAxis(theme, [...new Set(units)].sort((a, b) => a - b), name, text);

const drawn = sizeCurves({
  rateOf: slowdown,
  unit: 'times',
  name: 'time over that on all units',
  size: 'compute units that it may use',
  roof: '',
  over: { of: unitsOf, text: count, axis: unitsAxis, column: 'Compute units' },
  start: IN_RANGE,
  lower: true,
});

const ALL_UNITS = { axis: 'y', at: 1, label: 'as fast as on all units', position: 'insideStartBottom' };

const nameOf = (record) =>
  isCompute(record) ? record.case.work : `${bytes(record.case.bytes)} by ${record.engine}`;

/** A curve for each work, over the units that it may use. */
function curvesOf(records) {
  return [...groupBy(records, nameOf)]
    .map(([name, some]) => {
      const points = [...some].sort((a, b) => unitsOf(a) - unitsOf(b));
      return { name, place: some[0].place, points, best: Math.max(...some.map(slowdown)) };
    })
    .filter(({ points }) => points.length > 1);
}

/** What the fewest units cost each work, in a sentence for the least and the most affected. */
function findings(curves) {
  const least = ({ points: [first] }) => first;
  const sorted = [...curves].sort((a, b) => slowdown(least(a)) - slowdown(least(b)));
  const some = [...new Set([sorted.at(-1), sorted[0]])];
  return some.map((curve) => {
    const enough = curve.points.find((record) => slowdown(record) <= NEAR);
    const near =
      enough && enough !== least(curve) ? `; on ${unitsOf(enough)} it is within 5% of that` : '';
    return (
      `${curve.name} takes ${ratio(slowdown(least(curve)))} times as long on ` +
      `${unitsOf(least(curve))} units as on all${near}.`
    );
  });
}

const join = (parts) => parts.filter(Boolean).join(' ');

function unitsPanel({ id, title, label, records }) {
  const all = curvesOf(records);
  if (!all.length) return [];
  const curves = drawn.tell(all);
  for (const { mark, best } of curves) mark.note = `up to ${ratio(best)} times`;
  const [{ place, case: c }] = records;
  return [
    {
      id,
      title: [title, label].filter(Boolean).join(', '),
      caption: join([
        simulatedNote([place]),
        `${c.ranks} ranks, each work alone.`,
        'Lower is better.',
        curves.length < all.length ? `${curves.length} of ${all.length} curves; the data has all.` : '',
      ]),
      findings: findings(all),
      span: 'half',
      height: (width) => (width < 420 ? 270 : 320),
      legend: drawn.legend(curves),
      places: [place],
      option: (how) => drawn.option(curves, records.map(unitsOf), [ALL_UNITS], how),
      table: drawn.table(all, ['times', 'ms'], (record) => [
        ratio(slowdown(record)),
        number(record.seconds.median * 1e3),
      ]),
    },
  ];
}

const numeric = (...names) => names.map((name) => ({ name, numeric: true }));

/** Each work on all units, or by the library's default. Rates are of one device. */
function sidesTable(records) {
  const rows = records
    .filter(({ case: c }) => !c.units)
    .map((record) => [
      isCompute(record) ? record.case.work : `${words(record.case.work)}, ${bytes(record.case.bytes)}`,
      record.engine,
      seconds(record.seconds.median),
      record.rates.tflops > 0 ? number(record.rates.tflops / addedOf(record)) : '–',
      number(record.metrics.memory_gb_per_s),
      record.notes?.class ?? '–',
    ]);
  return {
    columns: [
      ...['Work', 'By'].map((name) => ({ name })),
      ...numeric('Time', 'TFLOP/s a device', 'GB/s of a device’s memory'),
      { name: 'Class' },
    ],
    rows,
  };
}

function pairsTable(pairs) {
  const rows = pairs.map(({ case: c, rates, metrics, notes }) => [
    `${c.scenario}${c.in_place ? ' in place' : ''}`,
    notes?.class ?? '–',
    seconds(metrics.compute_seconds),
    seconds(metrics.communication_seconds),
    ratio(rates.ideal_speedup),
  ]);
  return {
    columns: [
      ...['Scenario', 'Class'].map((name) => ({ name })),
      ...numeric('GEMM alone', 'collective alone', 'ideal speedup'),
    ],
    rows,
  };
}

const tablePanel = (id, title, caption, table) =>
  table.rows.length
    ? [{ id, title, caption, findings: [], span: 'full', folds: [{ name: 'Table', table }] }]
    : [];

function panelsOf(key, records, pairs, label) {
  const id = `isolated-${key.replaceAll(/[^\w]+/g, '-')}`;
  const communicating = groupBy(
    records.filter((one) => !isCompute(one) && one.case.units > 0),
    ({ case: c }) => c.work,
  );
  const named = (text) => [text, label].filter(Boolean).join(', ');
  return [
    ...unitsPanel({
      ...{ id: `${id}-gemm`, title: 'GEMMs on fewer compute units', label },
      records: records.filter(isCompute),
    }),
    ...[...communicating].flatMap(([work, some]) =>
      unitsPanel({
        ...{ id: `${id}-${work}`, title: `${words(work)} on few compute units`, label },
        records: some,
      }),
    ),
    ...tablePanel(
      `${id}-sides`,
      named('What each side needs'),
      'On all compute units, or by the default of the library. Memory: of the bytes that a device reads ' +
        'and writes at least once.',
      sidesTable(records),
    ),
    ...tablePanel(
      `${id}-pairs`,
      named('What overlap could gain'),
      'Ideal speedup: both times, one after the other, over the longer.',
      pairsTable(pairs),
    ),
  ];
}

export function panels(model) {
  const all = model.records.filter(isIsolated);
  const labels = placeLabels(all.map(({ place }) => place));
  const keyOf = ({ place, device, case: c }) => [place.journal.name, device, c.ranks].join('/');
  const pairs = groupBy(
    model.records.filter(({ benchmark }) => benchmark === 'overlap_isolated_pair'),
    keyOf,
  );
  return [...groupBy(all, keyOf)].flatMap(([key, records]) =>
    panelsOf(key, records, pairs.get(key) ?? [], labels.get(records[0].place)),
  );
}
