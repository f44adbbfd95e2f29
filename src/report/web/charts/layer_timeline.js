// When each rank multiplied which rows in one call, beside the GEMM alone. The reader chooses operation,
// engine and way.
import { commas, percentage, ratio, seconds } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { segments } from '../plot/bars.js';
import {
  caseName,
  isMeasured,
  layerRecords,
  leastAdded,
  section,
  wayOf,
} from '../plot/layer_series.js';
import { lackOf } from '../plot/overlap_series.js';
import { BAR, micros, timelineOption, timelinePanel, toldOf } from '../plot/timeline.js';
import { tableOf } from '../table.js';

export const order = 29.5; // behind what is added
export { section };

const CURVE = /^gemms_of_rank_\d+$/;
const MARKS = [{ name: 'multiplying', colour: 0, symbol: 'rect' }];
const LANE = 0.2; // of a row, on either side of its middle

/** [begin, end] of each multiplication on each rank, in seconds from the call's begin. */
const ranksOf = ({ curves = {} }) =>
  Object.keys(curves)
    .filter((name) => CURVE.test(name))
    .map((name) => {
      const ends = curves[name];
      return Array.from({ length: ends.length / 2 }, (_, i) => ends.slice(2 * i, 2 * i + 2));
    });

const isDrawn = (record) => isMeasured(record) && ranksOf(record).length > 0;
const lackOfTimeline = (records) =>
  records.some(isMeasured) ? 'The journal has no timeline of it.' : lackOf(records);
const engineOf = (record) => commas(record.engine, !record.notes?.chosen && wayOf(record));

/** Puts multiplications that are made at once, on two streams, beside each other. */
function lanesOf(spans) {
  const ends = [0, 0];
  return spans.map(([from, to]) => {
    const lane = from >= ends[0] ? 0 : 1;
    ends[lane] = to;
    return lane;
  });
}

/** The bars of a rank: in the middle of its row, if none are made at once. */
function barsOf(spans, rank) {
  const lanes = lanesOf(spans);
  const beside = lanes.includes(1);
  return spans.map(([from, to], i) => ({
    ...{ from, to },
    title: `rank ${rank}, multiplication ${i + 1} of ${spans.length}`,
    row: rank + (beside ? (2 * lanes[i] - 1) * LANE : 0),
  }));
}

function saidOf(record, name) {
  const { added_percent: added, gemm_seconds: alone, hidden } = record.metrics;
  const { first_wait_seconds: first, tail_seconds: tail } = record.metrics;
  return [
    `${name}: ${engineOf(record)}`,
    commas(
      `a call ${seconds(record.seconds.median)}`,
      `the GEMM alone ${seconds(alone)}`,
      `added ${percentage(added)}`,
      hidden !== undefined && `hidden ${ratio(hidden)}`,
    ),
    `first rows after ${micros(first)}, and ${micros(tail)} behind the last multiplication`,
    record.notes?.chosen && `chosen: ${record.notes.chosen}`,
  ].filter(Boolean);
}

function option(record, name, how) {
  const ranks = ranksOf(record);
  const bars = ranks.flatMap(barsOf);
  const at = record.metrics.gemm_seconds;
  const data = (scale) =>
    bars.map(({ from, to, row, title }) => ({
      value: [from * scale, row, to * scale],
      told: toldOf(title, from, to),
    }));
  return timelineOption(
    {
      said: saidOf(record, name),
      rows: ranks.map((_, i) => `rank ${i}`),
      times: [at, ...bars.flatMap(({ from, to }) => [from, to])],
      line: { at, label: '' },
      series: (scale) => [segments(MARKS[0], data(scale), BAR, how.theme)],
    },
    how,
  );
}

function table(scenarios) {
  const all = scenarios.flatMap(({ name, records }) =>
    records.flatMap((record) =>
      ranksOf(record).flatMap((spans, rank) =>
        spans.map((span, i) => ({ name, record, rank, span, i })),
      ),
    ),
  );
  return tableOf(
    all,
    {
      Scenario: ({ name }) => name,
      Engine: ({ record }) => engineOf(record),
      Rank: ({ rank }) => String(rank),
    },
    {
      Multiplication: ({ i }) => String(i + 1),
      'from, us': ({ span: [from] }) => (from * 1e6).toFixed(1),
      'to, us': ({ span: [, to] }) => (to * 1e6).toFixed(1),
    },
  );
}

function panel(records, label) {
  const [{ place, case: c }] = records;
  const scenarios = [...groupBy(records, caseName)].map(([name, some]) => ({ name, records: some }));
  const [first] = groupBy(records.filter(isDrawn), caseName).values();
  const own = first.filter(({ case: { ranges } }) => ranges > 0);
  const start = (own.length ? own : first).reduce(leastAdded);
  return timelinePanel({
    id: `layer-timeline-${[place.journal.name, place.device, c.ranks].join('/')}`,
    title: ['Multiplications on each rank', label],
    caption: [
      simulatedNote([place]),
      'One call behind another one; the words above it are of all calls’ medians, but for the waits.',
      'Between bars a rank waits or does what is not a GEMM; the line is the GEMM alone.',
    ],
    scenarios,
    wayOf: engineOf,
    way: 'Engine',
    start,
    isDrawn,
    lackOf: lackOfTimeline,
    drawn: option,
    rows: Math.max(...records.map((record) => ranksOf(record).length)),
    legend: MARKS,
    places: [place],
    table: table(scenarios),
  });
}

export function panels(model) {
  const records = layerRecords(model);
  const key = ({ place, case: c }) => `${model.places.indexOf(place)}/${c.ranks}`;
  const groups = [...groupBy(records, key).values()].filter((some) => some.some(isDrawn));
  const labels = placeLabels(groups.map(([{ place }]) => place));
  return groups.map((some) => panel(some, labels.get(some[0].place)));
}
