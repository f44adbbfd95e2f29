// Tooltips. They are built as elements, so that texts of a journal are never parsed as markup.
import { h } from '../dom.js';

/**
 * What a tooltip tells: a title, and the names of rows with their texts. Rows without a text are left out.
 * @typedef {{title: string, rows: Object<string, string>}} Told
 */

const tooltip = (theme, trigger, contentOf, more = {}) => ({
  backgroundColor: theme.background,
  borderColor: theme.muted,
  borderWidth: 1,
  padding: [6, 9],
  textStyle: { color: theme.text, fontSize: 12, fontWeight: 'normal' },
  extraCssText: 'box-shadow:none;border-radius:3px;white-space:normal;max-width:22rem',
  confine: true,
  transitionDuration: 0,
  trigger,
  ...more,
  formatter: contentOf,
});

function box(title, rows) {
  const lines = rows
    .filter(([, text]) => text)
    .map(([name, text]) => h('tr', h('th', { scope: 'row' }, name), h('td', text)));
  return h('div.tip', h('p', title), h('table', h('tbody', lines)));
}

/** A tooltip over one point: what its datum's `told(name of the series)` returns, a Told. */
export const pointTooltip = (theme) =>
  tooltip(theme, 'item', ({ data, seriesName }) => {
    if (!data?.told) return '';
    const { title, rows } = data.told(seriesName);
    return box(title, Object.entries(rows));
  });

/** What a row is called in a tooltip over all curves: points of no curve are left out. */
const curveName = ({ seriesType, seriesName }) => seriesType === 'line' && seriesName;

/**
 * A tooltip over all curves at one x.
 * @param {(x: number) => string} titleOf
 * @param {(value: number[]) => string} textOf of a point [x, y, ...]
 * @param {(params: Object) => string|false} [nameOf] of a point's row; false: none
 */
export function columnTooltip(theme, titleOf, textOf, nameOf = curveName) {
  const pointer = { type: 'line', snap: true, label: { show: false } };
  const axisPointer = { ...pointer, lineStyle: { color: theme.muted, width: 1 } };
  const contentOf = (list) => {
    const some = list.filter((one) => one.value && nameOf(one));
    if (!some.length) return '';
    const rows = some.map((one) => [nameOf(one), textOf(one.value)]);
    return box(titleOf(some[0].value[0]), rows);
  };
  return tooltip(theme, 'axis', contentOf, { axisPointer });
}
