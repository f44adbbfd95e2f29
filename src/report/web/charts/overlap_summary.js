// A table of policies over all scenarios of a collective: mean and least of the metrics, and how often a
// policy is the fastest. Points of a sweep have rows of their own.
import { ratio, words } from '../format.js';
import { placeLabels } from '../labels.js';
import { groupBy } from '../model.js';
import {
  isMeasured,
  isPoint,
  metric,
  overlapGroups,
  policyOf,
  section,
} from '../plot/overlap_series.js';
import { mean } from '../plot/overlap_words.js';

export const order = 24;
export { section };

/** The mean and the least of a metric, with the number of records that have it if not all do. */
function meanAndLeast(records, key) {
  const values = records.map((record) => metric(record, key)).filter((x) => x !== undefined);
  if (!values.length) return ['–', '–'];
  const some = values.length < records.length ? ` (of ${values.length})` : '';
  return [ratio(mean(values)) + some, ratio(Math.min(...values))];
}

const figures = (records) => [
  String(records.length),
  ...meanAndLeast(records, 'fraction_of_ideal'),
  ...meanAndLeast(records, 'bound'),
];

/** The rows of some scenarios: one for each policy, followed by those of its sweep's points. */
function rowsOf(scenarios, policies) {
  const points = groupBy(
    scenarios.flatMap(({ records }) => records.filter((one) => isPoint(one) && isMeasured(one))),
    policyOf,
  );
  return policies.flatMap((policy) => {
    const records = scenarios.map((one) => one.policies.get(policy)).filter(Boolean);
    const first = scenarios.filter(({ fastest }) => fastest && records.includes(fastest)).length;
    const own = [...points].filter(([name]) => name.startsWith(`${policy}:`));
    return [
      [policy, ...figures(records), String(first)],
      ...own.map(([name, some]) => [name, ...figures(some), '–']),
    ];
  });
}

const NAMES = ['Scenarios', 'mean fraction of ideal', 'least', 'mean bound', 'least', 'fastest in'];

/** The rows of one place and number of ranks: all collectives together, then each collective. */
function placeRows(groups, where) {
  const row = (name) => (cells) => [...where, name, ...cells];
  const each = groups.flatMap(({ scenarios, policies, collective }) =>
    rowsOf(scenarios, policies).map(row(words(collective))),
  );
  if (groups.length < 2) return each;
  const scenarios = groups.flatMap((group) => group.scenarios);
  const policies = [...new Set(groups.flatMap((group) => group.policies))];
  return [...rowsOf(scenarios, policies).map(row('all')), ...each];
}

export function panels(model) {
  const groups = overlapGroups(model);
  if (!groups.length) return [];
  const labels = placeLabels(groups.map(({ place }) => place));
  const byPlace = [
    ...groupBy(groups, ({ place, ranks }) => `${model.places.indexOf(place)}/${ranks}`),
  ];
  const several = byPlace.length > 1;
  const where = ({ place, ranks }) =>
    several ? [[labels.get(place), `${ranks} ranks`].filter(Boolean).join(', ')] : [];
  const columns = [...(several ? ['Where'] : []), 'Collective', 'Policy', ...NAMES].map((name) => ({
    name,
    numeric: NAMES.includes(name),
  }));
  const caption =
    'Fraction of ideal: 0 is as long as one side after the other, 1 as long as the longer side alone. ' +
    'Bound: how near to what the machine could do at all. Only what was measured counts.';
  return [
    {
      id: 'overlap-policies',
      title: 'Policies',
      caption,
      findings: [],
      span: 'full',
      table: { columns, rows: byPlace.flatMap(([, some]) => placeRows(some, where(some[0]))) },
    },
  ];
}
