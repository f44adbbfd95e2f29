// Metrics of computing and communicating at once: a panel for each collective, in which each scenario
// has a group of bars and each policy a bar.
import { ratio, seconds, words } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { columnAxis, linearAxis } from '../plot/axes.js';
import { columns } from '../plot/bars.js';
import { common } from '../plot/draw.js';
import { points, referenceLines, symbolAt } from '../plot/marks.js';
import { isPoint, metric, overlapGroups, policyOf, section } from '../plot/overlap_series.js';
import { panelOf } from '../plot/panel.js';
import { caseTable, lacks, leader, mean, METRICS, valuesOf } from '../plot/overlap_words.js';
import { pointTooltip } from '../plot/tooltip.js';

export const order = 25;
export { section };

const MOST_SCENARIOS = 20; // of a panel; more have a panel for each origin
const FEW_BARS = 25; // that fit in half of the page's width
const GROUP = 0.84; // share of a scenario's width for its bars
// Pixels: MOST_SCENARIOS with all eight policies fit a window of 1,300.
const LEAST_BAR = 6;
const BETWEEN = 7; // scenarios
/** A mark for each policy, the same in all panels; those without any figure have none. */
function marksOf({ policies, scenarios, order: all }) {
  const measured = (policy) => scenarios.some((one) => one.policies.get(policy));
  return policies.filter(measured).map((name) => {
    const at = all.indexOf(name);
    const fractions = valuesOf(scenarios, name, 'fraction_of_ideal');
    const note = fractions.length ? `${ratio(mean(fractions))} of ideal` : '';
    return { ...symbolAt(at), colour: at, name, note };
  });
}

const describe = (record, label) => () => {
  const slowed = (side) => `${ratio(metric(record, `${side}_slowdown`))} of its time alone`;
  return {
    title: `${label}, ${policyOf(record)}`,
    rows: {
      ...Object.fromEntries(METRICS.map(({ key, name }) => [name, ratio(metric(record, key))])),
      'ideal speedup': ratio(metric(record, 'ideal_speedup')),
      both: seconds(record.seconds.median),
      GEMM: slowed('compute'),
      [words(record.case.collective)]: slowed('communication'),
      class: record.notes?.class ?? '–',
    },
  };
};

/** The ideal speedup of each scenario: a short line over its bars. */
function ideals(scenarios, theme) {
  const at = scenarios.flatMap(({ fastest }, i) => {
    const value = metric(fastest, 'ideal_speedup');
    return value === undefined ? [] : [[i, value]];
  });
  const style = { stroke: theme.roof, lineWidth: 1.6 };
  const line = (_, api) => {
    const [x, y] = api.coord([api.value(0), api.value(1)]);
    const half = api.size([0.48, 0])[0];
    return { type: 'line', shape: { x1: x - half, y1: y, x2: x + half, y2: y }, style };
  };
  return { type: 'custom', data: at, renderItem: line, silent: true, z: 5 };
}

/** The bars of a policy. A bar beyond `least` or `most` ends there, with its value as a label. */
function barsOf(scenarios, mark, left, { key, least, most }, theme) {
  return scenarios.flatMap(({ policies, label }, at) => {
    const record = policies.get(mark.name);
    const figure = metric(record, key);
    if (figure === undefined) return [];
    const shown = Math.min(Math.max(figure, least), most);
    const told = { show: true, formatter: () => ratio(figure), color: theme.text, fontSize: 10 };
    const position = figure < shown ? 'bottom' : 'top';
    const beyond = shown === figure ? {} : { label: { ...told, position } };
    return [{ value: [at + left, shown], told: describe(record, label), ...beyond }];
  });
}

/** The values that the axis must include: those of all panels, so that these can be compared. */
function reachOf(groups, { key, base, least, most }) {
  const scenarios = groups.flatMap((group) => group.scenarios);
  const records = scenarios.flatMap(({ policies }) => [...policies.values()]);
  const names = key === 'speedup' ? [key, 'ideal_speedup'] : [key];
  const figures = records.flatMap((record) => names.map((name) => metric(record, name)));
  const known = figures.filter((value) => value !== undefined);
  return [base, 1, ...known.map((value) => Math.min(Math.max(value, least), most))];
}

function option({ scenarios, marks, groups }, { width, theme, chosen: [which] }) {
  const drawn = METRICS[which];
  const { key, name, base, line, position } = drawn;
  const labels = scenarios.map(({ label }) => label);
  const { below, xAxis } = columnAxis(theme, labels, (width - 68) / scenarios.length);
  const slot = GROUP / marks.length;
  const left = (i) => (i + 0.5) * slot - GROUP / 2;
  const data = marks.map((mark, i) => barsOf(scenarios, mark, left(i), drawn, theme));
  const lines = [
    ...(base === 1 ? [] : [{ axis: 'y', at: base, label: '', solid: true }]),
    { axis: 'y', at: 1, label: line, position },
  ];
  return {
    ...common(theme),
    grid: { left: 52, right: 16, top: 18, bottom: below },
    tooltip: pointTooltip(theme),
    xAxis,
    yAxis: linearAxis(theme, reachOf(groups, drawn), name, 36, ratio, 6),
    series: [
      referenceLines(lines, theme),
      ...(key === 'speedup' ? [ideals(scenarios, theme)] : []),
      ...marks.map((mark, i) => columns(mark, data[i], { base, width: slot * 0.86 }, theme)),
      ...marks.map((mark, i) => points(mark, data[i], theme, 6)),
    ],
  };
}

function panel(group, groups, label) {
  const marks = marksOf(group);
  const swept = group.scenarios.some(({ records }) => records.some(isPoint));
  const told = { ...group, marks, groups };
  return panelOf({
    id: `overlap-${group.key}${group.origin ? `/${group.origin}` : ''}`,
    title: [`${words(group.computing)} beside ${words(group.collective)}`, group.origin, label],
    caption: [
      simulatedNote([group.place]),
      group.ranks && `${group.ranks} ranks.`,
      'Bars of speedup begin at 1, and the short lines above them are the ideal.',
      swept && 'A policy that was swept shows its fastest point; the data has all.',
    ],
    findings: [...leader(group), ...lacks(group)],
    span: group.scenarios.length * marks.length > FEW_BARS ? 'full' : 'half',
    height: () => 400,
    minWidth: 70 + group.scenarios.length * (BETWEEN + LEAST_BAR * marks.length),
    legend: marks,
    places: [group.place],
    choices: [{ name: 'Metric', values: METRICS.map(({ name }) => name), start: 0 }],
    ...(marks.length ? { option: (how) => option(told, how) } : {}),
    table: caseTable(group),
  });
}

/** Splits a group with many scenarios into one group for each origin. */
function split(group) {
  if (group.scenarios.length <= MOST_SCENARIOS) return [group];
  return [...groupBy(group.scenarios, ({ origin }) => origin)].map(([origin, scenarios]) => ({
    ...group,
    origin,
    scenarios,
  }));
}

export function panels(model) {
  const groups = overlapGroups(model);
  const labels = placeLabels(groups.map(({ place }) => place));
  return groups.flatMap(split).map((group) => panel(group, groups, labels.get(group.place)));
}
