// Groups overlap records by scenario and policy. A policy that was swept ("partition:8",
// "partition:16") counts as one policy, with its fastest point. Tables have all points.
import { scenarioName } from '../format.js';
import { groupBy, reasonOf } from '../model.js';

/** The section of all charts of overlap. */
export const section = {
  id: 'overlap',
  title: 'Computing and communicating at once',
  short: 'Overlap',
};

/** @returns {string} a record's policy, with the units of a point of a sweep */
export const policyOf = ({ case: c }) => String(c.policy ?? '');

/** @returns {string} "partition" of "partition:8" */
export const sweepOf = (record) => policyOf(record).split(':')[0];

export const isPoint = (record) => policyOf(record).includes(':');

/** @returns {boolean} whether both sides were measured at once */
export const isMeasured = ({ outcome, seconds }) => outcome === 'measured' && seconds?.median > 0;

/** @returns {number|undefined} a metric; undefined where the record has none of that name */
export const metric = (record, name) => {
  const value = record?.metrics[name];
  return Number.isFinite(value) ? value : undefined;
};

/** The record with the shortest time. @param {Object[]} records not empty */
export const quickest = (records) =>
  records.reduce((a, b) => (b.seconds.median < a.seconds.median ? b : a));

/** A policy's record: its own or, without one, the fastest point of its sweep; undefined: none. */
function recordOf(records) {
  const measured = records.filter(isMeasured);
  const own = measured.filter((record) => !isPoint(record));
  if (own.length) return quickest(own);
  return measured.length ? quickest(measured) : undefined;
}

function scenarioOf(name, records) {
  const policies = new Map(
    [...groupBy(records, sweepOf)].map(([policy, some]) => [policy, recordOf(some)]),
  );
  const shown = [...policies.values()].filter(Boolean);
  const collective = String(records[0].case.collective ?? '');
  return {
    name,
    label: name.endsWith(` ${collective}`) ? name.slice(0, -collective.length - 1) : name,
    origin: String(records[0].case.origin ?? ''),
    records,
    policies,
    fastest: shown.length ? quickest(shown) : undefined,
  };
}

/** @returns {string} "GEMM", or another computing work without its size: "copy local kernel" */
function computingOf({ case: c }) {
  const text = String(c.compute ?? '');
  return text === '' || /^\d/.test(text) ? 'GEMM' : text.replace(/ \d\S*( \w*B)?$/, '');
}

function groupKey(record) {
  const { place, device, case: c } = record;
  const computing = computingOf(record);
  const other = computing === 'GEMM' ? [] : [computing];
  return [place.journal.name, device, c.ranks, ...other, c.collective].join('/');
}

/**
 * @returns {Object[]} a group for each place, number of ranks and pair of kinds of work: { key, place,
 *     computing, collective (the communicating side), ranks, policies (names in order of appearance),
 *     scenarios: [{ name, label, origin, records, policies (a map from names to a record or undefined),
 *     fastest (a record or undefined) }] }
 */
export function overlapGroups(model) {
  const all = model.records.filter(({ benchmark }) => benchmark === 'overlap');
  const policies = [...new Set(all.map(sweepOf))];
  return [...groupBy(all, groupKey)].map(([key, records]) => ({
    key,
    place: records[0].place,
    computing: computingOf(records[0]),
    collective: String(records[0].case.collective ?? ''),
    ranks: records[0].case.ranks,
    policies: policies.filter((one) => records.some((record) => sweepOf(record) === one)),
    scenarios: [...groupBy(records, ({ case: c }) => scenarioName(c))].map(
      ([name, some]) => scenarioOf(name, some),
    ),
    order: policies,
  }));
}

/** @returns {string} why a policy of a scenario has no figure */
export function lackOf(records) {
  if (!records.length) return 'not in the journal';
  const [record] = records;
  const reason = reasonOf(record);
  return reason ? `${record.outcome}: ${reason}` : `${record.outcome}, without a time`;
}
