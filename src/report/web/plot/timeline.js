// The note timeline_us of an overlap record: "0.0-980.6/20.8-1263.8, ..." are microseconds from when a
// rank's first side is let go, computing before the slash, communicating behind it, a rank each.
import { policyOf } from './overlap_series.js';

const NUMBER = '(-?\\d+(?:\\.\\d+)?)';
const RANK = new RegExp(`^${NUMBER}-${NUMBER}/${NUMBER}-${NUMBER}$`);

/**
 * @returns {{compute: number[], communication: number[]}[]|null} [begin, end] in seconds, a rank each;
 *     null where the record has no such note, or one of another form
 */
export function timelineOf({ notes }) {
  const text = notes?.timeline_us;
  if (typeof text !== 'string') return null;
  const ranks = text.split(', ').map((rank) =>
    RANK.exec(rank)
      ?.slice(1)
      .map((us) => us * 1e-6),
  );
  const isSpan = ([from, to]) => Number.isFinite(from) && Number.isFinite(to) && to >= from;
  if (!ranks.every((one) => one && isSpan(one.slice(0, 2)) && isSpan(one.slice(2)))) return null;
  return ranks.map((one) => ({ compute: one.slice(0, 2), communication: one.slice(2) }));
}

/** The timelines of all records in microseconds, a row a rank. */
export function timelineTable(scenarios) {
  const columns = [
    ...['Scenario', 'Policy', 'Rank'].map((name) => ({ name })),
    ...['compute from, us', 'to, us', 'communication from, us', 'to, us'].map((name) => ({
      name,
      numeric: true,
    })),
  ];
  const us = (value) => (value * 1e6).toFixed(1);
  const rows = scenarios.flatMap(({ name, records }) =>
    records.flatMap((record) =>
      (timelineOf(record) ?? []).map(({ compute, communication }, rank) => [
        name,
        policyOf(record),
        String(rank),
        ...[...compute, ...communication].map(us),
      ]),
    ),
  );
  return { columns, rows };
}
