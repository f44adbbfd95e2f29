// The sides of overlap scenarios alone (benchmark overlap_isolated): how much longer a GEMM takes without
// some of its compute units and a collective on few, and tables of what each side needs by itself.
import { bytes, number, ratio, seconds, spaces, words } from '../format.js';
import { placeLabels } from '../labels.js';
import { addedOf, groupBy } from '../model.js';
import { counted, curveChart } from '../plot/curves.js';
import { panelOf } from '../plot/panel.js';
import { NEAR as IN_RANGE } from '../plot/scales.js';
import { tableOf } from '../table.js';

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

const drawn = curveChart({
  rateOf: slowdown,
  unit: 'times',
  name: 'time over that on all units',
  size: 'compute units that it may use',
  over: counted(unitsOf, 'Compute units'),
  start: IN_RANGE,
  lower: true,
  columns: {
    times: (record) => ratio(slowdown(record)),
    ms: (record) => number(record.seconds.median * 1e3),
  },
});

const ALL_UNITS = { axis: 'y', at: 1, label: 'as fast as on all units', position: 'insideStartBottom' };

const nameOf = (record) =>
  isCompute(record) ? record.case.work : `${bytes(record.case.bytes)} by ${record.engine}`;

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

function unitsPanel(id, title, records) {
  const all = drawn.curves(records, nameOf);
  if (!all.length) return [];
  for (const one of all) one.name = nameOf(one.points[0]);
  const [{ case: c }] = records;
  return [
    drawn.panel({
      all,
      noteOf: ({ best }) => `up to ${ratio(best)} times`,
      id,
      title,
      about: () => [`${c.ranks} ranks, each work alone.`, 'Lower is better.'],
      few: (some, every) => some < every && `${some} of ${every} curves; the data has all.`,
      findings: findings(all),
      xs: records.map(unitsOf),
      lines: [ALL_UNITS],
      places: [records[0].place],
      choices: [],
    }),
  ];
}

/** Each work on all units, or by the library's default. Rates are of one device. */
const sidesTable = (records) =>
  tableOf(
    records.filter(({ case: c }) => !c.units),
    {
      Work: (one) =>
        isCompute(one) ? one.case.work : `${words(one.case.work)}, ${bytes(one.case.bytes)}`,
      By: ({ engine }) => engine,
    },
    {
      Time: (one) => seconds(one.seconds.median),
      'TFLOP/s a device': (one) =>
        one.rates.tflops > 0 ? number(one.rates.tflops / addedOf(one)) : '–',
      'GB/s of a device’s memory': ({ metrics }) => number(metrics.memory_gb_per_s),
    },
    { Class: ({ notes }) => notes?.class ?? '–' },
  );

const pairsTable = (pairs) =>
  tableOf(
    pairs,
    {
      Scenario: ({ case: c }) => spaces(c.scenario, c.in_place && 'in place'),
      Class: ({ notes }) => notes?.class ?? '–',
    },
    {
      'GEMM alone': ({ metrics }) => seconds(metrics.compute_seconds),
      'collective alone': ({ metrics }) => seconds(metrics.communication_seconds),
      'ideal speedup': ({ rates }) => ratio(rates.ideal_speedup),
    },
  );

const tablePanel = (id, title, caption, table) =>
  table.rows.length
    ? [panelOf({ id, title, caption, span: 'full', folds: [{ name: 'Table', table }] })]
    : [];

function panelsOf(key, records, pairs, label) {
  const id = (name) => `isolated-${key}-${name}`;
  const communicating = groupBy(
    records.filter((one) => !isCompute(one) && one.case.units > 0),
    ({ case: c }) => c.work,
  );
  return [
    ...unitsPanel(id('gemm'), ['GEMMs on fewer compute units', label], records.filter(isCompute)),
    ...[...communicating].flatMap(([work, some]) =>
      unitsPanel(id(work), [`${words(work)} on few compute units`, label], some),
    ),
    ...tablePanel(
      id('sides'),
      ['What each side needs', label],
      [
        'On all compute units, or by the default of the library. Memory: of the bytes that a device reads ' +
          'and writes at least once.',
      ],
      sidesTable(records),
    ),
    ...tablePanel(
      id('pairs'),
      ['What overlap could gain', label],
      ['Ideal speedup: both times, one after the other, over the longer.'],
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
