// A matrix whose cells are changes of rates against peers, in the diverging colours.
import { diverging, inkOn } from '../palette.js';
import { common } from './draw.js';
import { pointTooltip } from './tooltip.js';

const FONT = 'system-ui, sans-serif';

/** @returns {string} a change in thousandths as text: "-8.2%" */
export const changeText = (change) => `${change > 0 ? '+' : ''}${(change / 10).toFixed(1)}%`;

function cell(cells, theme) {
  return (params, api) => {
    const { change } = cells[params.dataIndex];
    const [width, height] = api.size([1, 1]);
    const [x, y] = api.coord([api.value(0), api.value(1)]);
    const fill = diverging(theme, change / 1000);
    const shape = { x: x - width / 2, y: y - height / 2, width: width - 1, height: height - 1 };
    const children = [{ type: 'rect', shape, style: { fill, stroke: theme.grid, lineWidth: 0.5 } }];
    if (width > 44 && height > 13) {
      const style = { text: changeText(change), x, y, align: 'center', verticalAlign: 'middle' };
      children.push({ type: 'text', style: { ...style, fill: inkOn(fill), font: `11px ${FONT}` } });
    }
    return { type: 'group', children };
  };
}

function axis(theme, names, position, shown) {
  return {
    type: 'category',
    position,
    data: names,
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      ...{ show: shown, color: theme.text, fontSize: 11, interval: 0 },
      rotate: position === 'top' ? 35 : 0,
    },
  };
}

/**
 * The option of a chart.
 * @param {string[]} rows @param {string[]} columns names; `shownColumns`: are they drawn
 * @param {{x: number, y: number, change: number, title: string, rows: Object}[]} cells `title` and
 *     `rows` are for the tooltip
 */
export function matrixOption(theme, { rows, columns, cells, left, top, shownColumns = true }) {
  return {
    ...common(theme),
    grid: { left, right: 12, top, bottom: 10 },
    tooltip: pointTooltip(theme),
    xAxis: axis(theme, columns, 'top', shownColumns),
    yAxis: { ...axis(theme, rows, 'left', true), inverse: true },
    series: [
      {
        type: 'custom',
        name: 'changes',
        data: cells.map((one) => ({
          value: [one.x, one.y],
          told: () => ({ title: one.title, rows: one.rows }),
        })),
        renderItem: cell(cells, theme),
        encode: { x: 0, y: 1 },
      },
    ],
  };
}
