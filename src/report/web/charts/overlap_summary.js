// A table of policies over all scenarios: mean and least of the metrics, and how often a policy is the
// fastest. Below it, folded, the same for each collective, and the points of sweeps.
import { commas, ratio, words } from '../format.js';
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
import { panelOf } from '../plot/panel.js';
import { headings } from '../table.js';

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

/** A row for each policy. */
const meansOf = (scenarios, policies) =>
  policies.map((policy) => {
    const records = scenarios.map((one) => one.policies.get(policy)).filter(Boolean);
    const first = scenarios.filter(({ fastest }) => fastest && records.includes(fastest)).length;
    return [policy, ...figures(records), String(first)];
  });

/** A row for each policy, followed by those of its sweep's points. */
function rowsOf(scenarios, policies) {
  const points = groupBy(
    scenarios.flatMap(({ records }) => records.filter((one) => isPoint(one) && isMeasured(one))),
    policyOf,
  );
  return meansOf(scenarios, policies).flatMap((row) => [
    row,
    ...[...points]
      .filter(([name]) => name.startsWith(`${row[0]}:`))
      .map(([name, some]) => [name, ...figures(some), '–']),
  ]);
}

const NAMES = ['Scenarios', 'mean fraction of ideal', 'least', 'mean bound', 'least', 'fastest in'];

/** Of the groups of one place and number of ranks: all their scenarios and policies. */
const together = (groups) => [
  groups.flatMap(({ scenarios }) => scenarios),
  [...new Set(groups.flatMap(({ policies }) => policies))],
];

const workOf = ({ computing, collective }) =>
  computing === 'GEMM' ? words(collective) : `${words(computing)} beside ${words(collective)}`;

/** Each collective by itself, with the points of sweeps; all collectives first, if there are several. */
function details(byPlace, where, named) {
  const rows = byPlace.flatMap((groups) => {
    const row = (name) => (cells) => [...where(groups[0]), name, ...cells];
    const each = groups.flatMap((group) =>
      rowsOf(group.scenarios, group.policies).map(row(workOf(group))),
    );
    return groups.length < 2 ? each : [...rowsOf(...together(groups)).map(row('all')), ...each];
  });
  return { columns: headings([...named, 'Collective', 'Policy'], NAMES), rows };
}

export function panels(model) {
  const groups = overlapGroups(model);
  if (!groups.length) return [];
  const labels = placeLabels(groups.map(({ place }) => place));
  const byPlace = [
    ...groupBy(groups, ({ place, ranks }) => `${model.places.indexOf(place)}/${ranks}`).values(),
  ];
  const named = byPlace.length > 1 ? ['Where'] : [];
  const where = ({ place, ranks }) => named.map(() => commas(labels.get(place), `${ranks} ranks`));
  const rows = byPlace.flatMap((some) =>
    meansOf(...together(some)).map((cells) => [...where(some[0]), ...cells]),
  );
  const full = details(byPlace, where, named);
  const fold = { name: 'By collective, with the points of sweeps', table: full };
  return [
    panelOf({
      id: 'overlap-policies',
      title: ['Policies'],
      caption: [
        'Fraction of ideal: 0 is as long as one side after the other, 1 as long as the longer side alone.',
        'Bound: how near to what the machine could do at all.',
        'Only what was measured counts. A policy that was swept counts with its fastest point.',
      ],
      span: 'full',
      table: { columns: headings([...named, 'Policy'], NAMES), rows },
      folds: full.rows.length > rows.length ? [fold] : [],
    }),
  ];
}
