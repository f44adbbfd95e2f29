// The common part of charts that draw curves of a rate over size, or over another axis of their cases.
import { bytes, number } from '../format.js';
import { sizeAxis } from './axes.js';
import { common } from './draw.js';
import {
  curve,
  doubtMarks,
  doubtRings,
  points,
  referenceLines,
  symbolAt,
  tellable,
} from './marks.js';
import { nearOnes, span, valuesOf } from './peaks.js';
import { LOGARITHMIC, scaleChoice, scaleOf } from './scales.js';
import { columnTooltip } from './tooltip.js';

/** A curve has records in `points`, a `name`, a `place`, a `best` rate and, if known, a `bound`. */

/** Sizes in bytes, as the x axis of curves. */
const SIZES = { of: ({ case: c }) => c.bytes, text: bytes, axis: sizeAxis, column: 'Size' };

/**
 * @param {{rateOf: (record: Object) => number, unit: string, name: string, size: string,
 *     roof: string, over?: Object, start?: number, lower?: boolean}} what is drawn: `name` and `unit` of
 *     the rate, `size` the name of the x axis, `roof` the name of the bound, `over` what the x axis is, in
 *     the form of SIZES, `start` what the y axis is at first (scales.js), `lower`: the lowest is the best
 */
export function sizeCurves(what) {
  const { rateOf, unit, name, size, roof, over = SIZES, start = LOGARITHMIC, lower = false } = what;

  const roofs = (curves, level) =>
    nearOnes(curves.filter(({ bound }) => bound > 0).map(({ bound }) => ({ at: bound }))).flatMap(
      (group) =>
        valuesOf(group).map((bound, i, { length }) => ({
          axis: 'y',
          at: level(bound),
          label: i === length - 1 ? `${roof} ${span(group)} ${unit}` : '',
        })),
    );

  return {
    choices: [scaleChoice(start)],

    /** Chooses the curves to draw, by tellable() of marks.js, and sets their marks. */
    tell(curves) {
      const some = tellable(
        curves,
        ({ best }) => best,
        ({ place }) => place,
      );
      some.forEach((one, i) => {
        const note = `${number(one.best)} ${unit}`;
        one.mark = { ...symbolAt(i), colour: i, name: one.name, note, line: true };
      });
      return some;
    },

    legend: (curves) => [
      ...curves.map((one) => one.mark),
      ...doubtMarks(curves.flatMap((one) => one.points)),
    ],

    /**
     * The chart. `sizes`: all sizes of the x axis; `lines`: additional reference lines; `others`: points
     * of no curve, as { mark, points: [{ size, rate }] }.
     */
    option(curves, sizes, lines, { width, theme, chosen }, others = []) {
      const scale = scaleOf(chosen[0] ?? start, curves, { xOf: over.of, rateOf, lower, name, unit });
      const at = (x, rate) => [Math.log2(x), scale.y(x, rate)];
      const pointData = (record) => at(over.of(record), rateOf(record));
      const withRecord = (record) => ({ value: pointData(record), record });
      const levels = scale.level ? roofs(curves, scale.level) : [];
      const upright = lines.filter(({ axis }) => axis === 'x' || scale.level);
      const rates = [
        ...curves.flatMap((one) => [...one.points.map(rateOf), one.bound]),
        ...others.flatMap((one) => one.points.map(({ rate }) => rate)),
      ].filter((rate) => rate > 0);
      const tip = columnTooltip(theme, (list) => {
        const rows = list.filter(({ seriesType }) => seriesType === 'line');
        if (!rows.length) return null;
        const text = ({ value, seriesName }) => [seriesName, scale.text(value[1])];
        return { title: over.text(Math.round(2 ** rows[0].value[0])), rows: rows.map(text) };
      });
      return {
        ...common(theme),
        grid: { left: 52, right: 16, top: 14, bottom: 48 },
        tooltip: tip,
        xAxis: over.axis(theme, sizes, over.text, size),
        yAxis: scale.axis(theme, rates, width < 420),
        series: [
          referenceLines([...levels, ...upright], theme),
          ...curves.map((one) => curve(one.mark, one.points.map(pointData), theme)),
          ...others.map((one) =>
            points(
              one.mark,
              one.points.map(({ size: x, rate }) => at(x, rate)).filter(([, y]) => !isNaN(y)),
              theme,
            ),
          ),
          ...curves.flatMap((one) => doubtRings(one.name, one.points.map(withRecord), theme)),
        ],
      };
    },

    /** A table with a row for each size. Each curve has `columns`, with the `cells` of its record. */
    table(curves, columns, cells) {
      const sizes = [...new Set(curves.flatMap(({ points }) => points.map(over.of)))];
      const recordAt = (curve, one) => curve.points.find((record) => over.of(record) === one);
      const none = columns.map(() => '–');
      return {
        columns: [
          { name: over.column },
          ...curves.flatMap((one) =>
            columns.map((column) => ({ name: `${one.name}, ${column}`, numeric: true })),
          ),
        ],
        rows: sizes
          .sort((a, b) => a - b)
          .map((one) => [
            over.text(one),
            ...curves.flatMap((curve) => {
              const record = recordAt(curve, one);
              return record ? cells(record) : none;
            }),
          ]),
      };
    },
  };
}

/** The sizes of all panels, which share one axis so that they can be compared. */
export const sizesOf = (groups) =>
  groups.flatMap(({ curves }) =>
    curves.flatMap(({ points }) => points.map((record) => record.case.bytes)),
  );
