// The times at which each rank of an overlap record computed and communicated: the field `timeline`, in
// seconds from the start of the rank's first side. Older journals have microseconds in the note
// timeline_us: "0.0-980.6/20.8-1263.8, ...", for each rank the span of computing, then that of
// communicating.
import { headings } from '../table.js';
import { policyOf } from './overlap_series.js';

const NUMBER = '(-?\\d+(?:\\.\\d+)?)';
const RANK = new RegExp(`^${NUMBER}-${NUMBER}/${NUMBER}-${NUMBER}$`);

function fromNote(text) {
  if (typeof text !== 'string') return null;
  const ranks = text.split(', ').map((rank) =>
    RANK.exec(rank)
      ?.slice(1)
      .map((us) => us * 1e-6),
  );
  if (!ranks.every(Boolean)) return null;
  return ranks.map((one) => ({ compute: one.slice(0, 2), communication: one.slice(2) }));
}

const isSpan = ([from, to]) => Number.isFinite(from) && Number.isFinite(to) && to >= from;

/**
 * @returns {{compute: number[], communication: number[]}[]|null} for each rank [begin, end] in seconds;
 *     null if the record has no timeline, or one of another form
 */
export function timelineOf({ timeline, notes }) {
  const ranks = timeline ?? fromNote(notes?.timeline_us);
  const whole = ranks?.every((one) => isSpan(one.compute) && isSpan(one.communication));
  return whole ? ranks : null;
}

/** A table of the timelines of all records in microseconds, with a row for each rank. */
export function timelineTable(scenarios) {
  const rows = scenarios.flatMap(({ name, records }) =>
    records.flatMap((record) =>
      (timelineOf(record) ?? []).map((rank, at) => ({ name, record, rank, at })),
    ),
  );
  const names = ['compute from, us', 'to, us', 'communication from, us', 'to, us'];
  const us = (value) => (value * 1e6).toFixed(1);
  return {
    columns: headings(['Scenario', 'Policy', 'Rank'], names),
    rows: rows.map(({ name, record, rank: { compute, communication }, at }) => [
      ...[name, policyOf(record), String(at)],
      ...[...compute, ...communication].map(us),
    ]),
  };
}
