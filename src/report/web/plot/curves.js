// The common part of charts that draw curves of a rate over size, or over another axis of their cases.
import { bytes, count, number } from '../format.js';
import { shortModel, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { headings } from '../table.js';
import { sizeAxis, valueAxis } from './axes.js';
import { common } from './draw.js';
import { curve, doubtMarks, doubtRings, points, referenceLines, reportedMarks, symbolAt, tellable } from './marks.js';
import { fewer, panelOf } from './panel.js';
import { nearOnes, span, valuesOf } from './peaks.js';
import { LOGARITHMIC, scaleChoice, scaleOf } from './scales.js';
import { columnTooltip, pointTooltip } from './tooltip.js';

/** Sizes in bytes, as the x axis of curves. */
const SIZES = { of: ({ case: c }) => c.bytes, text: bytes, axis: sizeAxis, column: 'Size' };

/** Numbers as the x axis, in the form of SIZES, with a tick at each. `margin`: see valueAxis() */
export const counted = (of, column, margin = 0) => ({
  ...{ of, column, text: count },
  axis: (theme, values, text, name) => valueAxis(theme, values, name, text, margin),
});
/** Of a doubling, from the outer marks to the ends of the axis. */
export const MARGIN = 0.2;

// The positions of labels, from the highest line down, so that neighbouring labels do not overlap.
const LABELS = ['insideStartTop', 'insideStartBottom', 'insideEndTop', 'insideEndBottom'];

/** What studies report, as points of their marks. */
const studiesOf = (reported) =>
  reportedMarks(reported).map((mark) => ({
    mark,
    points: reported.filter(({ device }) => device === mark.device),
  }));

/**
 * A chart of curves. A curve has records in `points`, a `name`, a `place`, a `best` rate and, if known, a
 * `bound`; curves() makes them of records but for the name.
 * @param {Object} what is drawn:
 *     rateOf(one)       of a record or of a study's row; `name` and `unit` of it
 *     size              the name of the x axis; `over`: what that is, in the form of SIZES
 *     start             what the y axis is at first (scales.js); `lower`: the lowest rate is the best
 *     boundOf(points)   what the rate cannot exceed, which is called `roof`; 0: not known
 *     roofsOfModels     the lines of bounds name the devices that they are of
 *     bestOf(points)    the rate by which curves are chosen, and which the legend has
 *     columns           of the table, for each curve: what they tell of a record, by their names
 *     wide              rates have up to six digits
 */
export function curveChart(what) {
  const { rateOf, unit, name, size, roof, over = SIZES, start = LOGARITHMIC, lower = false } = what;
  const { boundOf = () => 0, bestOf = (some) => Math.max(...some.map(rateOf)), columns } = what;

  function roofs(curves, level) {
    const named = what.roofsOfModels;
    const bounded = curves.filter(({ bound }) => bound > 0);
    const groups = nearOnes(bounded.map(({ bound: at, place }) => ({ at, place })));
    return (named ? groups.reverse() : groups).flatMap((group, row) => {
      const models = [...new Set(group.map(({ place }) => shortModel(place.model)))].join(', ');
      const whose = named && groups.length > 1 ? ` (${models})` : '';
      return valuesOf(group).map((at, i, { length }) => ({
        ...{ axis: 'y', at: level(at) },
        label: i === length - 1 ? `${roof} ${span(group)} ${unit}${whose}` : '',
        position: named ? LABELS[row % LABELS.length] : LABELS[0],
      }));
    });
  }

  /** Chooses the curves to draw, by tellable() of marks.js, and sets their marks. */
  function tellCurves(curves, noteOf) {
    const some = tellable(
      curves,
      ({ best }) => best,
      ({ place }) => place,
    );
    some.forEach((one, i) => {
      one.mark = { ...symbolAt(i), colour: i, name: one.name, note: noteOf(one), line: true };
    });
    return some;
  }

  function option({ curves, studies, xs, lines, extra, told }, { width, theme, chosen }) {
    const scale = scaleOf(chosen[0] ?? start, curves, { xOf: over.of, rateOf, lower, name, unit });
    const data = (some, curve) =>
      some.map((one) => ({
        value: [Math.log2(over.of(one)), scale.y(over.of(one), rateOf(one))],
        ...(told ? { told: () => told(one, curve) } : {}),
      }));
    const dataOf = (one) => data(one.points, one);
    const levels = scale.level ? roofs(curves, scale.level) : [];
    const upright = lines.filter(({ axis }) => axis === 'x' || scale.level);
    const rates = [
      ...curves.flatMap((one) => [...one.points.map(rateOf), one.bound]),
      ...studies.flatMap((one) => one.points.map(rateOf)),
    ].filter((rate) => rate > 0);
    const yAxis = scale.axis(theme, rates, width < 420);
    return {
      ...common(theme),
      grid: { left: what.wide ? 66 : 52, right: 16, top: 14, bottom: 48 },
      tooltip: told
        ? pointTooltip(theme)
        : columnTooltip(
            theme,
            (x) => over.text(Math.round(2 ** x)),
            ([, y]) => scale.text(y),
          ),
      xAxis: over.axis(theme, xs, over.text, size),
      yAxis: what.wide ? { ...yAxis, nameGap: 50 } : yAxis,
      series: [
        referenceLines([...levels, ...upright], theme),
        ...curves.map((one) => curve(one.mark, dataOf(one), theme)),
        ...studies.map(({ mark, points: some }) =>
          points(
            mark,
            data(some).filter(({ value: [, y] }) => !isNaN(y)),
            theme,
          ),
        ),
        ...extra(curves, scale.level, theme),
        ...curves.flatMap((one) =>
          doubtRings(
            one.name,
            dataOf(one).map((point, i) => ({ ...point, record: one.points[i] })),
            theme,
          ),
        ),
      ],
    };
  }

  /** A table with a row for each size, in which each curve has the columns. */
  function table(curves) {
    const sizes = [...new Set(curves.flatMap(({ points: some }) => some.map(over.of)))];
    const names = curves.flatMap((one) => Object.keys(columns).map((own) => `${one.name}, ${own}`));
    const cells = (at) => (one) => {
      const record = one.points.find((each) => over.of(each) === at);
      return Object.values(columns).map((cell) => (record ? cell(record) : '–'));
    };
    return {
      columns: headings([over.column], names),
      rows: sizes.sort((a, b) => a - b).map((at) => [over.text(at), ...curves.flatMap(cells(at))]),
    };
  }

  /** A curve for each key of some records that has `fewest` points, which are in the order of x. */
  const curves = (records, key, fewest = 2) =>
    [...groupBy(records, key).values()]
      .filter((some) => some.length >= fewest)
      .map((some) => {
        const own = [...some].sort((a, b) => over.of(a) - over.of(b));
        const { place, engine, mode, case: c } = own.at(-1);
        return { place, engine, mode, case: c, points: own, best: bestOf(own), bound: boundOf(own) };
      });

  return {
    table,

    curves,

    /** The curves of each panel that has any. @returns {[string, Object[]][]} */
    groups: (records, panelKey, curveKey) =>
      [...groupBy(records, panelKey)]
        .map(([key, some]) => [key, curves(some, curveKey)])
        .filter(([, some]) => some.length),

    /**
     * A panel (panel.js) of curves.
     * @param {Object} of the panel:
     *     all                  the curves; `from`: those of which some are drawn, if not of all
     *     tell(curves, noteOf) chooses them and sets their marks; noteOf(curve): the mark's note
     *     about(curves), after sentences of the caption around what says how many are drawn, `few`
     *     xs                   values of the x axis that it must include
     *     lines                reference lines
     *     reported             rows of studies, drawn as points
     *     tableOf              'drawn': the table has no other curves
     *     extra(curves, level, theme) -> more series; `level` see scaleOf()
     *     told(one, curve)     what the tooltip tells of a record of a curve or of a study's row; without
     *                          it the tooltip tells of all curves at one x
     */
    panel({ all, from = all, reported = [], lines = [], about = () => [], after = [], ...own }) {
      const { tell = tellCurves, noteOf = ({ best }) => `${number(best)} ${unit}`, told } = own;
      const shown = tell(from, noteOf);
      const studies = studiesOf(reported);
      const records = shown.flatMap(({ points: some }) => some);
      const { xs = [...records, ...reported].map(over.of), extra = () => [], few = fewer } = own;
      const drawn = { curves: shown, studies, xs, lines, extra, told };
      return panelOf({
        places: shown.map(({ place }) => place),
        choices: [scaleChoice(start)],
        table: columns && table(own.tableOf === 'drawn' ? shown : all),
        ...own,
        caption: [
          simulatedNote(records.map(({ place }) => place)),
          about(shown),
          few(shown.length, all.length),
          after,
        ].flat(),
        legend: [
          ...shown.map(({ mark }) => mark),
          ...doubtMarks(records),
          ...studies.map(({ mark }) => mark),
        ],
        option: (how) => option(drawn, how),
      });
    },
  };
}

/** The sizes of all panels, which share one axis so that they can be compared. */
export const sizesOf = (groups) =>
  groups.flatMap(([, curves]) =>
    curves.flatMap(({ points: some }) => some.map((record) => record.case.bytes)),
  );
