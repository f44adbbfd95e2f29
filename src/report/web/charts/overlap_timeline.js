// When each side began and ended on each rank in one iteration, beside the time of each side alone. The
// reader chooses scenario and policy.
import { plain, ratio, seconds } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { linearAxis, rowAxis } from '../plot/axes.js';
import { spans } from '../plot/bars.js';
import { common } from '../plot/draw.js';
import { referenceLines, textLabel, texts } from '../plot/marks.js';
import { isMeasured, lackOf, overlapGroups, policyOf, section } from '../plot/overlap_series.js';
import { alone, medianLines } from '../plot/overlap_words.js';
import { panelOf } from '../plot/panel.js';
import { timelineOf, timelineTable } from '../plot/timeline.js';
import { pointTooltip } from '../plot/tooltip.js';

export const order = 26;
export { section };

const ALONE = 'alone';
const LINE = 17; // pixels from one line of text to the next
const TOP = 4 * LINE + 14;
const ROW = 42; // pixels for each rank
const BAR = 12;
const LANES = { compute: -0.2, communication: 0.2 };
const MARKS = [
  { name: 'compute', colour: 0, symbol: 'rect' },
  { name: 'communication', colour: 1, symbol: 'rect', hollow: true },
];

const lines = (list, theme) =>
  list.map((text, i) => ({
    type: 'text',
    silent: true,
    style: {
      ...{ text, x: 14, y: 8 + i * LINE, fill: i ? theme.muted : theme.text },
      font: `${i ? '' : '600 '}12px system-ui, sans-serif`,
    },
  }));

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

function option(record, name, { theme, width }) {
  const ranks = timelineOf(record);
  const said = medianLines(record, name);
  if (!ranks) said.push('The journal has no timeline of it.');
  const bars = MARKS.map((mark) => barsOf(mark.name, record, ranks ?? []));
  const last = Math.max(...bars.flat().map(({ to }) => to), 0);
  const [unit, scale] = last >= 1e-3 ? ['ms', 1e3] : ['us', 1e6];
  const rows = [ALONE, ...(ranks ?? []).map((_, i) => `rank ${i}`)];
  const { compute = 0, communication = 0 } = alone(record);
  const longer = Math.max(compute, communication);
  const told = (title, from, to) => () => ({ title, rows: { from: micros(from), to: micros(to) } });
  const data = bars.map((some, i) =>
    some.map(({ from, row, to }) => ({
      value: [from * scale, row + LANES[MARKS[i].name], to * scale],
      told: told(`${MARKS[i].name}, ${rows[row]}`, from, to),
    })),
  );
  const values = [0, ...bars.flat().flatMap(({ from, to }) => [from * scale, to * scale])];
  return {
    ...common(theme),
    grid: { left: 62, right: 112, top: TOP, bottom: 46 },
    graphic: { elements: lines(said, theme) },
    tooltip: pointTooltip(theme),
    xAxis: linearAxis(theme, values, `time, ${unit}`, 28, plain, width < 600 ? 4 : 8),
    yAxis: { ...rowAxis(theme, rows), splitLine: { show: false } },
    series: [
      referenceLines(longer > 0 ? [{ axis: 'x', at: longer * scale, label: '' }] : [], theme),
      ...MARKS.map((mark, i) => spans(mark, data[i], BAR, theme)),
      ...MARKS.map((mark, i) => labelled(bars[i], mark, scale, theme)),
    ],
  };
}

const micros = (value) => `${(value * 1e6).toFixed(1)} us`;

/** The chart of a case that was not measured: the reason, without axes that would suggest a result. */
const empty = (said, { theme }) => ({
  ...common(theme),
  graphic: { elements: lines(said, theme) },
  grid: { top: TOP, bottom: 0 },
  xAxis: { show: false },
  yAxis: { show: false },
  series: [],
});

function panel(groups, label) {
  const scenarios = groups.flatMap((group) => group.scenarios);
  const policies = [...new Set(scenarios.flatMap(({ records }) => records.map(policyOf)))];
  const [{ place, ranks }] = groups;
  const first = scenarios.findIndex(({ fastest }) => fastest);
  const start = Math.max(first, 0);
  const policy = scenarios[start].fastest ? policyOf(scenarios[start].fastest) : policies[0];
  const draw = (how) => {
    const { name, records } = scenarios[how.chosen[0]];
    const wanted = policies[how.chosen[1]];
    const own = records.filter((record) => policyOf(record) === wanted);
    const record = own.find(isMeasured);
    return record ? option(record, name, how) : empty([`${name}, ${wanted}`, lackOf(own)], how);
  };
  const rows = 1 + Math.max(...scenarios.flatMap(({ records }) => records.map(rankCount)));
  return panelOf({
    id: `overlap-timeline-${[place.journal.name, place.device, ranks].join('/')}`,
    title: ['Both sides on each rank', label],
    caption: [
      simulatedNote([place]),
      'One iteration, the last; the words above it are of all iterations’ medians.',
      'Times begin where a rank’s first side is let go; the line is the longer side alone.',
    ],
    span: 'full',
    height: () => TOP + 46 + rows * ROW,
    minWidth: 620,
    legend: MARKS,
    places: [place],
    choices: [
      { name: 'Scenario', values: scenarios.map(({ name }) => name), start },
      { name: 'Policy', values: policies, start: policies.indexOf(policy) },
    ],
    option: draw,
    table: timelineTable(scenarios),
  });
}

const rankCount = (record) => timelineOf(record)?.length ?? 0;

export function panels(model) {
  const groups = overlapGroups(model);
  const labels = placeLabels(groups.map(({ place }) => place));
  const key = ({ place, ranks }) => `${model.places.indexOf(place)}/${ranks}`;
  return [...groupBy(groups, key).values()].map((some) => panel(some, labels.get(some[0].place)));
}
