// Axes. A logarithmic axis is a linear one over logarithms, so that this file can choose its ticks.

const look = (theme) => ({
  axisLine: { show: true, onZero: false, lineStyle: { color: theme.muted } },
  splitLine: { show: true, lineStyle: { color: theme.grid } },
  nameTextStyle: { color: theme.muted, fontSize: 12 },
  nameLocation: 'middle',
});

/** An axis with chosen ticks: `ticks` in the axis' coordinates, and `text(tick)` for its label. */
function axis(theme, { name, min, max, ticks, text, gap }) {
  return {
    ...look(theme),
    type: 'value',
    name,
    nameGap: gap,
    min,
    max,
    axisTick: { show: false, customValues: ticks },
    axisLabel: {
      color: theme.muted,
      fontSize: 11,
      customValues: ticks,
      formatter: text,
      hideOverlap: true,
    },
  };
}

function range(from, to, step = 1) {
  const values = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
}

/** The logarithms of the positive values. */
const logs = (values, log) => values.filter((value) => value > 0).map(log);

/**
 * An axis of sizes in bytes over their binary logarithm, with a label at every factor of 16, or of 4
 * if the range is small.
 * @param {number[]} sizes @param {string} name the name of the axis
 */
export function sizeAxis(theme, sizes, text, name) {
  const min = Math.floor(Math.min(...logs(sizes, Math.log2)));
  const max = Math.ceil(Math.max(...logs(sizes, Math.log2)));
  const step = max - min > 8 ? 4 : 2;
  const ticks = range(Math.ceil(min / step) * step, max, step);
  const label = (value) => text(2 ** value);
  return axis(theme, { name, min, max, ticks, text: label, gap: 30 });
}

/**
 * An axis over the binary logarithm of some values, with a tick at each of them.
 * @param {number} [margin] of a doubling, from the outer ticks to the ends
 */
export function valueAxis(theme, values, name, text, margin = 0) {
  const ticks = [...new Set(values)].sort((a, b) => a - b).map(Math.log2);
  const [min, max] = [ticks[0] - margin, ticks.at(-1) + margin];
  const label = (value) => text(Math.round(2 ** value));
  return axis(theme, { name, min, max, ticks, text: label, gap: 30 });
}

/** An axis over the decimal logarithm, from a power of ten to a little above the largest value. */
export function decadeAxis(theme, values, name, gap, text) {
  const exponents = logs(values, Math.log10);
  const min = Math.floor(Math.min(...exponents) + 1e-9);
  const max = Math.max(min + 1, Math.max(...exponents) + 0.15);
  const whole = range(min, Math.floor(max));
  const ticks =
    max - min > 2.2 ? whole : whole.flatMap((e) => [e, e + Math.log10(2), e + Math.log10(5)]);
  return axis(theme, { name, min, max, ticks, text: (value) => text(10 ** value), gap });
}

const NICE = [1, 2, 2.5, 5, 10];

/**
 * A linear axis to a little above the largest value, with about `wanted` ticks. It begins at zero, or
 * at a tick below the smallest value if that is negative or all values are far from zero. That suits
 * marks, which show positions. Charts that draw lengths include the base of the lengths in `values`.
 */
export function linearAxis(theme, values, name, gap, text, wanted) {
  const top = Math.max(...values) * 1.04;
  const lowest = Math.min(...values);
  const from = lowest > 0.45 * top ? lowest * 0.9 : Math.min(0, lowest);
  const unit = 10 ** Math.floor(Math.log10((top - from) / wanted));
  const step = unit * NICE.find((nice) => nice * unit * wanted >= top - from);
  const min = Math.floor(from / step) * step;
  const ticks = range(Math.round(min / step), Math.floor(top / step)).map((i) => i * step);
  return axis(theme, { name, min, max: top, ticks, text, gap });
}

/**
 * An axis of named rows, the first at the top, with room for series beside a row's middle.
 * @param {number[]} [places] of the rows in ascending order; by default 0, 1, 2 ...
 */
export function rowAxis(theme, names, places = names.map((_, i) => i)) {
  const text = (value) => names[places.indexOf(value)] ?? '';
  const own = axis(theme, { min: -0.6, max: places.at(-1) + 0.6, ticks: places, text });
  const axisLabel = { ...own.axisLabel, color: theme.text, hideOverlap: false };
  return { ...own, inverse: true, axisLabel };
}

const MINUTE = 60e3;
const DAY = 24 * 60 * MINUTE;
/** Steps between ticks of time in milliseconds: minutes, hours, days. */
const TIME_STEPS = [
  ...[1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes * MINUTE),
  ...[1, 2, 7, 14, 30, 91, 182, 365, 730].map((days) => days * DAY),
];

/**
 * An axis of time, UTC, with about `wanted` ticks.
 * @param {number[]} times milliseconds since 1970
 */
export function timeAxis(theme, times, name, wanted) {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const margin = Math.max((last - first) * 0.03, 10 * MINUTE);
  const [min, max] = [first - margin, last + margin];
  const step =
    TIME_STEPS.find((one) => (max - min) / one <= wanted) ??
    Math.ceil((max - min) / wanted / (365 * DAY)) * 365 * DAY;
  const ticks = range(Math.ceil(min / step), Math.floor(max / step)).map((i) => i * step);
  const text = (time) => {
    const iso = new Date(time).toISOString();
    return step < DAY ? `${iso.slice(5, 10)} ${iso.slice(11, 16)}` : iso.slice(0, 10);
  };
  return axis(theme, { name, min, max, ticks, text, gap: 30 });
}

const SLANT = 35; // degrees
const LETTER = 6.2; // approximate width in pixels
const RADIANS = Math.PI / 180;

/**
 * An axis of named columns. Names are slanted if they are wider than a column of `room` pixels.
 * @returns {{below: number, xAxis: Object}} `below`: the pixels that the names need
 */
export function columnAxis(theme, names, room) {
  const longest = Math.max(...names.map((name) => name.length)) * LETTER;
  const rotate = longest > room - 6 ? SLANT : 0;
  const ticks = range(0, names.length - 1);
  const text = (value) => names[value] ?? '';
  const own = axis(theme, { min: -0.5, max: names.length - 0.5, ticks, text });
  const axisLabel = { ...own.axisLabel, color: theme.text, hideOverlap: false, rotate };
  const below = 24 + (rotate ? longest * Math.sin(SLANT * RADIANS) : 0);
  return { below, xAxis: { ...own, axisLabel, splitLine: { show: false } } };
}
