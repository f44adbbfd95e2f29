// Bus bandwidth of collectives against size: a panel for each call, in place and not, a curve for each
// engine, and where one engine passes another.
import { bytes, number, plain, words } from '../format.js';
import { modeLabel, placeLabels, simulatedNote } from '../labels.js';
import { decadeAxis, sizeAxis } from '../plot/axes.js';
import { collectiveCurves } from '../plot/collective_series.js';
import { common } from '../plot/draw.js';
import {
  curve,
  doubtMarks,
  doubtRings,
  referenceLines,
  symbolAt,
  tellable,
} from '../plot/marks.js';
import { nearOnes, span, valuesOf } from '../plot/peaks.js';
import { columnTooltip } from '../plot/tooltip.js';

export const order = 20;
export const section = {
  id: 'collectives',
  title: 'Collectives: bus bandwidth against size',
  short: 'Collectives',
};

const rateOf = ({ rates }) => rates.busbw_gb_per_s;
const pointData = (record) => [Math.log2(record.case.bytes), Math.log10(rateOf(record))];
const withRecord = (record) => ({ value: pointData(record), record });

/** Names curves by what differs, and gives the ones that can be told apart their looks. */
function chosen(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const mode = modeLabel(curves);
  const several = new Set(curves.map((one) => one.case.ranks)).size > 1;
  for (const one of curves) {
    const ranks = several && `${one.case.ranks} ranks`;
    one.name = [labels.get(one.place), one.engine, ranks, mode(one)].filter(Boolean).join(' ');
  }
  const some = tellable(
    curves,
    ({ best }) => best,
    ({ place }) => place,
  );
  some.forEach((one, i) => {
    const note = `${number(one.best)} GB/s`;
    one.mark = { ...symbolAt(i), colour: i, name: one.name, note, line: true };
  });
  return some;
}

/** Where an engine passes another within the sizes that both were measured at. */
const passes = ({ rates }) => rates.crossover_bytes > rates.smallest_bytes;

function roofs(curves) {
  const bounds = curves.filter(({ bound }) => bound > 0).map(({ bound }) => ({ at: bound }));
  return nearOnes(bounds).flatMap((group) =>
    valuesOf(group).map((at, i, { length }) => ({
      axis: 'y',
      at: Math.log10(at),
      label: i === length - 1 ? `roofline ${span(group)} GB/s` : '',
    })),
  );
}

const crossings = (crossovers) =>
  crossovers.filter(passes).map(({ engine, rates }) => ({
    axis: 'x',
    at: Math.log2(rates.crossover_bytes),
    label: `${engine} from ${bytes(rates.crossover_bytes)}`,
    position: 'insideStartTop',
  }));

function option({ curves, crossovers, sizes }, { width, theme }) {
  const rates = curves.flatMap(({ points, bound }) => [...points.map(rateOf), bound ?? 0]);
  const tip = columnTooltip(theme, (list) => {
    const rows = list.filter(({ seriesType }) => seriesType === 'line');
    if (!rows.length) return null;
    const text = ({ value, seriesName }) => [seriesName, `${number(10 ** value[1])} GB/s`];
    return { title: bytes(Math.round(2 ** rows[0].value[0])), rows: rows.map(text) };
  });
  const name = width < 420 ? 'GB/s' : 'bus bandwidth, GB/s';
  return {
    ...common(theme),
    grid: { left: 52, right: 16, top: 14, bottom: 48 },
    tooltip: tip,
    xAxis: sizeAxis(theme, sizes, bytes, 'size, as nccl-tests counts it'),
    yAxis: decadeAxis(theme, rates, name, 36, plain),
    series: [
      referenceLines([...roofs(curves), ...crossings(crossovers)], theme),
      ...curves.map((one) => curve(one.mark, one.points.map(pointData), theme)),
      ...curves.flatMap((one) => doubtRings(one.name, one.points.map(withRecord), theme)),
    ],
  };
}

function sizeTable(curves) {
  const sizes = [...new Set(curves.flatMap(({ points }) => points.map((r) => r.case.bytes)))];
  const at = ({ points }, size) => points.find((record) => record.case.bytes === size);
  const columns = curves.flatMap(({ name }) => [
    { name: `${name}, us`, numeric: true },
    { name: `${name}, GB/s`, numeric: true },
  ]);
  const cells = (record) =>
    record ? [number(record.seconds.median * 1e6), number(rateOf(record))] : ['–', '–'];
  return {
    columns: [{ name: 'Size' }, ...columns],
    rows: sizes
      .sort((a, b) => a - b)
      .map((size) => [bytes(size), ...curves.flatMap((one) => cells(at(one, size)))]),
  };
}

const sentence = ({ engine, case: c, rates }) =>
  `${engine} is at least as fast as ${c.against} ` +
  `${passes({ rates }) ? `from ${bytes(rates.crossover_bytes)} on` : 'at every size'}: ` +
  `${number(rates.times_as_fast)} times at ${bytes(rates.largest_bytes)}.`;

function titleOf({ case: c }) {
  const what = [words(c.collective), c.type, c.op, c.layout && words(c.layout)];
  const root = c.root > 0 ? `, root ${c.root}` : '';
  return `${what.filter(Boolean).join(' ')}${root}, ${c.in_place ? 'in place' : 'out of place'}`;
}

function panel({ key, curves: all, crossovers }, sizes) {
  const curves = chosen(all);
  const places = curves.map((one) => one.place);
  const ranks = [...new Set(curves.map((one) => one.case.ranks))];
  const left = all.length - curves.length;
  return {
    id: `collective-${key.replaceAll(/[^\w]+/g, '-')}`,
    title: titleOf(curves[0]),
    caption: [
      simulatedNote(places),
      ranks.length === 1 ? `${ranks[0]} ranks.` : '',
      left > 0 ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: crossovers.map(sentence),
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: [...curves.map((one) => one.mark), ...doubtMarks(curves.flatMap((one) => one.points))],
    places,
    option: (how) => option({ curves, crossovers, sizes }, how),
    table: sizeTable(curves),
  };
}

export function panels(model) {
  const groups = collectiveCurves(model);
  // One scale of sizes for all panels, so that they can be compared.
  const sizes = groups.flatMap(({ curves }) =>
    curves.flatMap(({ points }) => points.map((record) => record.case.bytes)),
  );
  return groups.map((group) => panel(group, sizes));
}
