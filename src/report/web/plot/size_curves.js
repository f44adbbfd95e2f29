// The common part of charts that draw curves of a rate over size, or over another axis of their cases.
import { bytes, number, plain } from '../format.js';
import { decadeAxis, linearAxis, sizeAxis } from './axes.js';
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
import { columnTooltip } from './tooltip.js';

/** A curve has records in `points`, a `name`, a `place`, a `best` rate and, if known, a `bound`. */

/** Sizes in bytes, as the x axis of curves. */
const SIZES = { of: ({ case: c }) => c.bytes, text: bytes, axis: sizeAxis, column: 'Size' };

/** Rates over their decimal logarithm: `to` gives coordinates of the y axis, `from` rates. */
const DECADES = { to: Math.log10, from: (y) => 10 ** y, axis: decadeAxis };
/** Rates over themselves from zero, in the form of DECADES. */
export const LINEAR = {
  to: (rate) => rate,
  from: (y) => y,
  axis: (theme, rates, ...how) => linearAxis(theme, [0, ...rates], ...how, 6),
};

/**
 * @param {{rateOf: (record: Object) => number, unit: string, name: string, size: string,
 *     roof: string, over?: Object, scale?: Object}} what is drawn: `name` and `unit` of the rate, `size`
 *     the name of the x axis, `roof` the name of the bound, `over` what the x axis is, in the form of
 *     SIZES, and `scale` what the y axis is, in the form of DECADES
 */
export function sizeCurves({ rateOf, unit, name, size, roof, over = SIZES, scale = DECADES }) {
  const at = (x, rate) => [Math.log2(x), scale.to(rate)];
  const pointData = (record) => at(over.of(record), rateOf(record));
  const withRecord = (record) => ({ value: pointData(record), record });

  const roofs = (curves) =>
    nearOnes(curves.filter(({ bound }) => bound > 0).map(({ bound }) => ({ at: bound }))).flatMap(
      (group) =>
        valuesOf(group).map((bound, i, { length }) => ({
          axis: 'y',
          at: scale.to(bound),
          label: i === length - 1 ? `${roof} ${span(group)} ${unit}` : '',
        })),
    );

  return {
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
    option(curves, sizes, lines, { width, theme }, others = []) {
      const rates = [
        ...curves.flatMap((one) => [...one.points.map(rateOf), one.bound]),
        ...others.flatMap((one) => one.points.map(({ rate }) => rate)),
      ].filter((rate) => rate > 0);
      const tip = columnTooltip(theme, (list) => {
        const rows = list.filter(({ seriesType }) => seriesType === 'line');
        if (!rows.length) return null;
        const text = ({ value, seriesName }) => [
          seriesName,
          `${number(scale.from(value[1]))} ${unit}`,
        ];
        return { title: over.text(Math.round(2 ** rows[0].value[0])), rows: rows.map(text) };
      });
      return {
        ...common(theme),
        grid: { left: 52, right: 16, top: 14, bottom: 48 },
        tooltip: tip,
        xAxis: over.axis(theme, sizes, over.text, size),
        yAxis: scale.axis(theme, rates, width < 420 ? unit : `${name}, ${unit}`, 36, plain),
        series: [
          referenceLines([...roofs(curves), ...lines], theme),
          ...curves.map((one) => curve(one.mark, one.points.map(pointData), theme)),
          ...others.map((one) =>
            points(
              one.mark,
              one.points.map(({ size: x, rate }) => at(x, rate)),
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
