// What a collective adds to a GEMM, over the rows: a panel for each operation, a curve for each engine.
import { commas, count, number, percentage, plain, plural, ratio, seconds } from '../format.js';
import { placeName, shortModel, simulatedNote } from '../labels.js';
import { linearAxis, valueAxis } from '../plot/axes.js';
import { MARGIN } from '../plot/curves.js';
import { common } from '../plot/draw.js';
import { layerGroups, section, wayOf } from '../plot/layer_series.js';
import {
  curve,
  doubtMarks,
  doubtRings,
  MOST_LOOKS,
  referenceLines,
  symbolAt,
  tellable,
  textLabel,
} from '../plot/marks.js';
import { fewer, panelOf } from '../plot/panel.js';
import { pointTooltip } from '../plot/tooltip.js';
import { tableOf } from '../table.js';

export const order = 29;
export { section };

// Per cent: the axis reaches as far where nothing adds more, and no farther where something does.
const LEAST_TOP = 1;
const MOST = 100;
const addedOf = ({ metrics }) => metrics.added_percent;
const BOUND = { name: 'the least possible', colour: 'muted', dash: 'dashed', line: true, fixed: true };
const signed = (value) => (value > 0 ? '+' : '') + percentage(value);
const time = (value) => value !== undefined && seconds(value);

const describe = (record, name) => () => {
  const { metrics, case: c } = record;
  return {
    title: `${name}, ${count(c.m)} rows`,
    rows: {
      way: wayOf(record),
      added: signed(addedOf(record)),
      'a call': seconds(record.seconds.median),
      'GEMM alone': seconds(metrics.gemm_seconds),
      'whole collective': time(metrics.serial_seconds),
      hidden: metrics.hidden !== undefined && ratio(metrics.hidden),
      'least possible': time(metrics.bound_seconds),
      'GEMM in parts': time(metrics.cut_seconds),
      'waits for its first rows': time(metrics.first_wait_seconds),
      'behind the last GEMM': time(metrics.tail_seconds),
    },
  };
};

/** Curves with marks: those that add least, if there are too many. `names`: of the curves of all panels */
function chosen(curves, names) {
  const best = ({ points }) => -Math.min(...points.map(addedOf));
  const some = tellable(curves, best, ({ place }) => place);
  return some.map((one, i) => {
    const at = names.length > MOST_LOOKS ? i : names.indexOf(one.name);
    const last = one.points.at(-1);
    const note = `${signed(addedOf(last))} at ${count(last.case.m)}`;
    return { ...one, mark: { ...symbolAt(at), colour: at, name: one.name, note, line: true } };
  });
}

/** A point; beyond MOST it is there, with its figure. */
function pointOf(record, name, theme) {
  const added = addedOf(record);
  const label = { label: textLabel(theme.text, 'right'), text: signed(added) };
  return {
    value: [Math.log2(record.case.m), Math.min(added, MOST)],
    told: describe(record, name),
    record,
    ...(added > MOST ? label : {}),
  };
}

/** Of each number of rows the least that the links and their power leave possible: [rows, %]. */
function boundOf(curves) {
  const least = new Map();
  for (const { case: c, metrics } of curves.flatMap(({ points }) => points)) {
    const added = 100 * (metrics.bound_seconds / metrics.gemm_seconds - 1);
    if (Number.isFinite(added)) least.set(c.m, Math.min(added, least.get(c.m) ?? MOST));
  }
  return [...least].sort(([a], [b]) => a - b);
}

/** With a dash at each point, which is all that there is of a single one. */
const boundCurve = (bound, theme) =>
  bound.length === 0
    ? []
    : [{ ...curve(BOUND, bound, theme), symbol: 'rect', symbolSize: [14, 2], silent: true }];

function option(curves, { theme, width }) {
  const drawn = curves.map(({ name, mark, points }) => ({
    mark,
    data: points.map((record) => pointOf(record, name, theme)),
  }));
  const data = drawn.flatMap((one) => one.data);
  const rows = data.map(({ record }) => record.case.m);
  const bound = boundOf(curves).map(([m, added]) => [Math.log2(m), added]);
  const values = [0, LEAST_TOP, ...[...data.map(({ value }) => value), ...bound].map(([, y]) => y)];
  const name = width < 420 ? 'added, %' : 'added to the GEMM alone, %';
  return {
    ...common(theme),
    grid: { left: 52, right: 16, top: 14, bottom: 48 },
    tooltip: pointTooltip(theme),
    xAxis: valueAxis(theme, rows, 'rows of all ranks', count, MARGIN),
    yAxis: linearAxis(theme, values, name, 36, plain, 6),
    series: [
      referenceLines([{ axis: 'y', at: 0, label: 'the GEMM alone' }], theme),
      ...boundCurve(bound, theme),
      ...drawn.map((one) => curve(one.mark, one.data, theme)),
      ...drawn.flatMap((one) => doubtRings(one.mark.name, one.data, theme)),
    ],
  };
}

/** A row for each record, with the ways that are not drawn. */
const table = ({ curves, records }) => {
  const us = (value) => number(value * 1e6);
  const drawn = new Set(curves.flatMap(({ points }) => points));
  const inOrder = [...records].sort((a, b) => a.case.m - b.case.m);
  return tableOf(
    inOrder,
    { Rows: ({ case: c }) => count(c.m), Engine: ({ engine }) => engine, Way: wayOf },
    {
      'GEMM alone, us': ({ metrics }) => us(metrics.gemm_seconds),
      'a call, us': (record) => us(record.seconds.median),
      added: (record) => signed(addedOf(record)),
      hidden: ({ metrics }) => ratio(metrics.hidden),
      'least possible, us': ({ metrics }) => us(metrics.bound_seconds),
      'GEMM in parts, us': ({ metrics }) => us(metrics.cut_seconds),
      'first wait, us': ({ metrics }) => us(metrics.first_wait_seconds),
      'tail, us': ({ metrics }) => us(metrics.tail_seconds),
    },
    {
      Drawn: (record) => (drawn.has(record) ? 'yes' : ''),
      Journal: ({ place }) => place.journal.name,
    },
  );
};

function panel(group, names, several) {
  const curves = chosen(group.curves, names);
  const records = curves.flatMap(({ points }) => points);
  const places = [...new Set(records.map(({ place }) => place))];
  const { n, k } = group.case;
  const { place } = group;
  return panelOf({
    id: `layer-added-${group.key}`,
    title: [group.title, several && placeName({ ...place, model: shortModel(place.model) })],
    caption: [
      simulatedNote(places),
      `${commas(`N ${count(n)}`, `K ${count(k)}`, plural(group.ranks, 'rank'))}.`,
      records.some(wayOf) && 'Of several ways of an engine the one that adds least; the data has all.',
      'Below 0 the clock is higher than in the GEMM alone; differences under two per cent say nothing.',
      records.some((one) => addedOf(one) > MOST) && `What adds more than ${MOST}% is drawn there.`,
      fewer(curves.length, group.curves.length),
    ],
    legend: [
      ...curves.map(({ mark }) => mark),
      ...(boundOf(curves).length > 0 ? [BOUND] : []),
      ...doubtMarks(records),
    ],
    places,
    option: (how) => option(curves, how),
    table: table(group),
  });
}

export function panels(model) {
  const groups = layerGroups(model);
  const names = [...new Set(groups.flatMap(({ curves }) => curves.map(({ name }) => name)))];
  const kinds = new Set(groups.map(({ place }) => placeName(place)));
  return groups.map((group) => panel(group, names, kinds.size > 1));
}
