// When each side began and ended on each rank in one iteration, beside the time of each side alone. The
// reader chooses scenario and policy.
import { ratio, seconds } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { spans } from '../plot/bars.js';
import { textLabel, texts } from '../plot/marks.js';
import { isMeasured, lackOf, overlapGroups, policyOf, section } from '../plot/overlap_series.js';
import { timelineOf, timelineTable } from '../plot/overlap_times.js';
import { alone, medianLines } from '../plot/overlap_words.js';
import { BAR, timelineOption, timelinePanel, toldOf } from '../plot/timeline.js';

export const order = 26;
export { section };

const ALONE = 'alone';
const LANES = { compute: -0.2, communication: 0.2 };
const MARKS = [
  { name: 'compute', colour: 0, symbol: 'rect' },
  { name: 'communication', colour: 1, symbol: 'rect', hollow: true },
];

/** The bars of a side with their lengths as texts: alone in the first row, then on each rank. */
function barsOf(side, record, ranks) {
  const before = alone(record)[side];
  const first = before > 0 ? [{ row: 0, from: 0, to: before, text: seconds(before) }] : [];
  const rest = ranks.map((rank, i) => {
    const [from, to] = rank[side];
    const slower = before > 0 ? `, x ${ratio((to - from) / before)}` : '';
    return { row: i + 1, from, to, text: `${seconds(to - from)}${slower}` };
  });
  return [...first, ...rest];
}

/** Lengths behind bars, above the line of the longer side, which would strike through them. */
const labelled = (bars, mark, scale, theme) => {
  const at = ({ to, row, text }) => ({ value: [to * scale, row + LANES[mark.name]], text });
  const ground = { backgroundColor: theme.background, padding: [1, 2] };
  const label = textLabel(theme.text, 'right', ground);
  return { ...texts(mark, bars.map(at), label, 0.8), z: 6 };
};

function option(record, name, how) {
  const { theme } = how;
  const ranks = timelineOf(record);
  const said = medianLines(record, name);
  if (!ranks) said.push('The journal has no timeline of it.');
  const bars = MARKS.map((mark) => barsOf(mark.name, record, ranks ?? []));
  const rows = [ALONE, ...(ranks ?? []).map((_, i) => `rank ${i}`)];
  const { compute = 0, communication = 0 } = alone(record);
  const data = (mark, i, scale) =>
    bars[i].map(({ from, row, to }) => ({
      value: [from * scale, row + LANES[mark.name], to * scale],
      told: toldOf(`${mark.name}, ${rows[row]}`, from, to),
    }));
  const series = (scale) => [
    ...MARKS.map((mark, i) => spans(mark, data(mark, i, scale), BAR, theme)),
    ...MARKS.map((mark, i) => labelled(bars[i], mark, scale, theme)),
  ];
  const times = bars.flat().flatMap(({ from, to }) => [from, to]);
  const line = { at: Math.max(compute, communication), label: '' };
  return timelineOption({ said, rows, times, line, series }, how);
}

const rankCount = (record) => timelineOf(record)?.length ?? 0;

function panel(groups, label) {
  const scenarios = groups.flatMap((group) => group.scenarios);
  const [{ place, ranks }] = groups;
  return timelinePanel({
    id: `overlap-timeline-${[place.journal.name, place.device, ranks].join('/')}`,
    title: ['Both sides on each rank', label],
    caption: [
      simulatedNote([place]),
      'One iteration, the last; the words above it are of all iterations’ medians.',
      'Times begin where a rank’s first side is let go; the line is the longer side alone.',
    ],
    scenarios,
    wayOf: policyOf,
    way: 'Policy',
    start: scenarios.find(({ fastest }) => fastest)?.fastest,
    isDrawn: isMeasured,
    lackOf,
    drawn: option,
    rows: 1 + Math.max(...scenarios.flatMap(({ records }) => records.map(rankCount))),
    legend: MARKS,
    places: [place],
    table: timelineTable(scenarios),
  });
}

export function panels(model) {
  const groups = overlapGroups(model);
  const labels = placeLabels(groups.map(({ place }) => place));
  const key = ({ place, ranks }) => `${model.places.indexOf(place)}/${ranks}`;
  return [...groupBy(groups, key).values()].map((some) => panel(some, labels.get(some[0].place)));
}
