// How halo exchange scales over ranks: a panel for each grid, scaling and norm, a curve for each engine.
// Rates are of one rank, so that perfect scaling is a level line. What a study reports stands beside it.
import { count, number, percentage, plural } from '../format.js';
import { simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { valueAxis } from '../plot/axes.js';
import {
  boundOf,
  conclusions,
  curvesOf,
  isMeasured,
  ranksOf,
  rateOf,
  scalingOf,
  section,
} from '../plot/halo_series.js';
import { reportedMarks } from '../plot/marks.js';
import { LINEAR } from '../plot/scales.js';
import { sizeCurves } from '../plot/size_curves.js';

export const order = 21;
export { section };

const MARGIN = 0.2; // of a doubling, from the outer marks to the ends of the axis

function ranksAxis(theme, ranks, text, name) {
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  const axis = valueAxis(theme, sorted, name, text);
  return { ...axis, min: axis.min - MARGIN, max: axis.max + MARGIN };
}

const drawn = sizeCurves({
  rateOf,
  unit: 'GB/s',
  name: 'rate of a rank',
  size: 'ranks',
  roof: 'memory',
  over: { of: ranksOf, text: count, axis: ranksAxis, column: 'Ranks' },
  start: LINEAR,
});

const ARTEFACT =
  'The efficiency of the reported rows is an artefact: their sweep on one GPU takes 472 ms, where ' +
  'memory allows one in 0.64 ms, as every point adds to one word by an atomic operation; such work ' +
  'divides by any number of GPUs.';

const panelKey = ({ case: c }) => [c.nx, c.ny, c.scaling, c.norm].join('-');

const scalings = (model) =>
  model.records.filter((one) => isMeasured(one) && one.case.scaling !== 'none');

const reportedFor = (model, { nx, ny, scaling, norm }) =>
  scaling === 'strong'
    ? (model.data.reported_halo ?? []).filter(
        (one) => one.nx === nx && one.ny === ny && one.norm === norm,
      )
    : [];

function studiesOf(reported) {
  return reportedMarks(reported).map((mark) => ({
    mark,
    points: reported
      .filter(({ device }) => device === mark.device)
      .map((row) => ({ size: ranksOf(row), rate: rateOf(row) })),
  }));
}

/** A row for each case, with its efficiency over the fastest case of one rank, and the studies' rows. */
function table(model, curves, reported) {
  const own = ({ name, points }) =>
    points.map((record) => [
      name,
      count(ranksOf(record)),
      number(record.seconds.median * 1e3),
      number(rateOf(record)),
      percentage(100 * (scalingOf(model, record)?.rates.efficiency ?? NaN)),
      (scalingOf(model, record)?.warnings ?? []).join(' '),
    ]);
  return {
    columns: [
      { name: 'Series' },
      ...['Ranks', 'ms an iteration', 'GB/s a rank', 'efficiency'].map((name) => ({
        name,
        numeric: true,
      })),
      { name: 'Source, or a warning' },
    ],
    rows: [
      ...curves.flatMap(own),
      ...reported.map((one) => [
        `${one.device}, ${one.variant}, reported elsewhere`,
        count(one.ranks),
        number(one.milliseconds),
        number(rateOf(one)),
        '–',
        one.source,
      ]),
    ],
  };
}

function captionOf(curves, all, reported) {
  return [
    simulatedNote(curves.map(({ place }) => place)),
    'Perfect scaling is a level line; each point has its sweep and its exchange.',
    curves.length < all.length ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    reported.length ? ARTEFACT : '',
  ]
    .filter(Boolean)
    .join(' ');
}

function panel(model, [key, records]) {
  const [{ case: c }] = records;
  const all = curvesOf(records, ranksOf, rateOf, boundOf);
  const curves = drawn.tell(all);
  for (const one of curves) {
    const reached = scalingOf(model, one.points.at(-1))?.rates.efficiency;
    if (reached) one.mark.note = `${percentage(100 * reached)} on ${ranksOf(one.points.at(-1))}`;
  }
  const reported = reportedFor(model, c);
  const studies = studiesOf(reported);
  const ranks = [...curves.flatMap(({ points }) => points), ...reported].map(ranksOf);
  const rows = c.scaling === 'weak' ? `${plural(c.ny, 'row')} a rank` : plural(c.ny, 'row');
  return {
    id: `halo-scaling-${key}`,
    title: `${c.scaling === 'weak' ? 'Weak' : 'Strong'} scaling, ${count(c.nx)} columns, ${rows}, norm ${c.norm}`,
    caption: captionOf(curves, all, reported),
    findings: conclusions(all, {
      ...{ xOf: ranksOf, rateOf, lower: false },
      at: (some) => `On ${plural(some, 'rank')}`,
    }),
    span: 'half',
    height: (width) => (width < 420 ? 300 : 360),
    legend: [...drawn.legend(curves), ...studies.map(({ mark }) => mark)],
    places: curves.map(({ place }) => place),
    choices: drawn.choices,
    option: (how) => drawn.option(curves, ranks, [], how, studies),
    table: table(model, all, reported),
  };
}

export function panels(model) {
  const several = ([, records]) => new Set(records.map(ranksOf)).size > 1;
  return [...groupBy(scalings(model), panelKey)]
    .filter(several)
    .map((group) => panel(model, group));
}
