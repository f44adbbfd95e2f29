// Texts and tables of overlap records: the metrics, the fastest policies, the missing figures, and the
// times of each side.
import { commas, number, plural, ratio, seconds } from '../format.js';
import { groupBy } from '../model.js';
import { tableOf } from '../table.js';
import { isMeasured, lackOf, metric, policyOf, sweepOf } from './overlap_series.js';

/**
 * The metrics that can be drawn. Bars begin at `base`, and `line` is the label of the value 1. If the
 * ideal gains next to nothing, the fraction of ideal can have any size: values under `least` or over
 * `most` are drawn as these.
 */
export const METRICS = [
  {
    ...{ key: 'fraction_of_ideal', name: 'fraction of ideal', base: 0 },
    ...{ line: 'ideal', position: 'insideStartTop', least: -1, most: 2 },
  },
  {
    ...{ key: 'bound', name: 'bound', base: 0, line: 'as fast as the longer side alone can be' },
    ...{ position: 'insideStartTop', least: 0, most: 2 },
  },
  {
    ...{ key: 'speedup', name: 'speedup', base: 1, line: 'one after the other' },
    ...{ position: 'insideEndBottom', least: 0, most: 4 },
  },
];

/** @param {number[]} values not empty */
export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The values of a metric for a policy, from the scenarios that have it. */
export const valuesOf = (scenarios, policy, key) =>
  scenarios.map((one) => metric(one.policies.get(policy), key)).filter((x) => x !== undefined);

const ms = (value) => (value > 0 ? (value * 1e3).toFixed(3) : '–');

const ratioOf = (name) => ({ record }) => ratio(metric(record, name));
const msOf = (name) => ({ record }) => ms(metric(record, name));

/** A table of all records of a group, including points of sweeps and cases without a figure. */
export const caseTable = ({ scenarios }) =>
  tableOf(
    scenarios.flatMap(({ label, records }) => records.map((record) => ({ label, record }))),
    {
      Scenario: ({ label }) => label,
      Class: ({ record }) => record.notes?.class ?? '–',
      Policy: ({ record }) => policyOf(record),
    },
    {
      'fraction of ideal': ratioOf('fraction_of_ideal'),
      bound: ratioOf('bound'),
      speedup: ratioOf('speedup'),
      'ideal speedup': ratioOf('ideal_speedup'),
      'both, ms': ({ record }) => ms(record.seconds?.median),
      'GEMM alone, ms': msOf('compute_seconds'),
      'default library alone, ms': msOf('communication_seconds'),
      'engine alone, ms': msOf('engine_seconds'),
      'GEMM slowdown': ratioOf('compute_slowdown'),
      'collective slowdown': ratioOf('communication_slowdown'),
    },
    { 'Without a figure': ({ record }) => (isMeasured(record) ? '' : lackOf([record])) },
  );

/** A finding: the policy that is the fastest in most scenarios, and its fraction of ideal. */
export function leader({ scenarios, policies }) {
  const counts = groupBy(
    scenarios.filter(({ fastest }) => fastest),
    ({ fastest }) => sweepOf(fastest),
  );
  if (policies.length < 2 || !counts.size) return [];
  const [policy, won] = [...counts].reduce((a, b) => (b[1].length > a[1].length ? b : a));
  const fractions = valuesOf(scenarios, policy, 'fraction_of_ideal');
  const kept = fractions.length
    ? `: ${ratio(mean(fractions))} of ideal in the mean, ${ratio(Math.min(...fractions))} at least`
    : '';
  return [
    `${policy} is the fastest in ${won.length} of ${plural(scenarios.length, 'scenario')}${kept}.`,
  ];
}

/** Findings: the bars and metrics that are missing, and why. A missing bar is not drawn at zero. */
export function lacks({ scenarios, policies }) {
  const reasons = policies.flatMap((policy) =>
    scenarios.flatMap((one) => {
      const record = one.policies.get(policy);
      if (record && METRICS.every(({ key }) => metric(record, key) !== undefined)) return [];
      const own = one.records.filter((other) => sweepOf(other) === policy);
      if (!record) return [{ policy, what: 'no bar', why: lackOf(own) }];
      const missing = METRICS.filter(({ key }) => metric(record, key) === undefined);
      return [{ policy, what: `no ${missing.map(({ name }) => name).join(', no ')}`, why: '' }];
    }),
  );
  const groups = groupBy(reasons, ({ policy, what, why }) => [policy, what, why].join('\n'));
  return [...groups.values()].map((some) => {
    const [{ policy, what, why }] = some;
    const where = `in ${some.length} of ${plural(scenarios.length, 'scenario')}`;
    return `${policy}: ${what} ${where}${why && ` (${why})`}.`;
  });
}

/** Seconds of each side alone; undefined if the record does not state them. */
export const alone = (record) => ({
  compute: metric(record, 'compute_seconds'),
  communication: metric(record, 'engine_seconds'),
});

/** The medians over all iterations as lines of text. */
export function medianLines(record, name) {
  const { compute, communication } = alone(record);
  const usual = metric(record, 'communication_seconds');
  const library =
    usual !== undefined && usual !== communication
      ? ` (the default library: ${seconds(usual)})`
      : '';
  const kept = metric(record, 'fraction_of_ideal');
  const facts = [
    `both ${seconds(record.seconds.median)}`,
    kept === undefined ? 'no fraction of ideal' : `${ratio(kept)} of ideal`,
    `bound ${ratio(metric(record, 'bound'))}`,
    record.notes?.class,
  ];
  return [
    `${name}, ${policyOf(record)}: ${commas(facts)}`,
    `compute: ${seconds(compute)} alone, slowdown ${number(metric(record, 'compute_slowdown'))}`,
    `communication by ${record.engine}: ${seconds(communication)} alone${library}, ` +
      `slowdown ${number(metric(record, 'communication_slowdown'))}`,
  ];
}
