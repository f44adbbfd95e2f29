// Pair matrix: the rate of copies between every two devices, and the pairs that are slower than others.
import { bytes, launch, number, pathText, percent, place as short, plural } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { common } from '../plot/draw.js';
import { copyTitle } from '../plot/copies.js';
import {
  deviationOf,
  devicesAt,
  findingsOf,
  isUnder,
  matrixOf,
  reference,
} from '../plot/matrix.js';
import { panelOf } from '../plot/panel.js';
import { pointTooltip } from '../plot/tooltip.js';
import { diverging, divergingLabels, inkOn } from '../palette.js';
import { tableOf } from '../table.js';

export const order = 20;
export const section = { id: 'pairs', title: 'Pair by pair', short: 'Pairs' };

const FEWEST = 3; // pairs of a matrix
const KEY_HEIGHT = 46;

const seriesKey = ({ place, device, engine, case: c }) =>
  [place.journal.name, device, engine, c.executor, c.issue, Boolean(c.bidirectional)].join('/');
const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** Draws the cell of a pair. The diagonal stays empty. */
function cell(matrix, theme) {
  return (params, api) => {
    const record = matrix.pairs[params.dataIndex];
    const deviation = deviationOf(record, matrix);
    const [width, height] = api.size([1, 1]);
    const [x, y] = api.coord([api.value(0), api.value(1)]);
    const fill = diverging(theme, deviation);
    const outlier = isUnder(record, matrix);
    const shape = {
      x: x - width / 2 + 1,
      y: y - height / 2 + 1,
      width: width - 2,
      height: height - 2,
    };
    const text = width > 46 ? number(record.rates.gb_per_s) : digits(record.rates.gb_per_s);
    const border = outlier
      ? { stroke: theme.text, lineWidth: 2.5 }
      : { stroke: theme.grid, lineWidth: 1 };
    const style = {
      text,
      x,
      y,
      align: 'center',
      verticalAlign: 'middle',
      fill: inkOn(fill),
      font: `${outlier ? 'bold ' : ''}${width > 38 ? 12 : 10}px system-ui, sans-serif`,
    };
    return {
      type: 'group',
      children: [
        { type: 'rect', shape, style: { fill, ...border }, z2: outlier ? 2 : 1 },
        { type: 'text', style, z2: 3 },
      ],
    };
  };
}

/** The key of the colours, in a row below the matrix. Labels are at the borders between colours. */
function colourKey(theme, width, height) {
  const step = Math.min(52, (width - 70) / theme.diverging.length);
  const left = (width - step * theme.diverging.length) / 2;
  const cells = theme.diverging.map((fill, i) => ({
    type: 'rect',
    shape: { x: left + i * step, y: height - 34, width: step, height: 10 },
    style: { fill, stroke: theme.grid },
    silent: true,
  }));
  const labels = divergingLabels.map((text, i) => ({
    type: 'text',
    silent: true,
    style: {
      text,
      x: left + (i + 1) * step,
      y: height - 19,
      align: 'center',
      fill: theme.muted,
      font: '11px system-ui, sans-serif',
    },
  }));
  return [...cells, ...labels];
}

function axis(theme, devices, name, at) {
  return {
    type: 'category',
    name,
    position: at,
    nameLocation: 'middle',
    nameGap: 26,
    data: devices.map(short),
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: { color: theme.text, fontSize: 12, interval: 0 },
    nameTextStyle: { color: theme.muted, fontSize: 12 },
  };
}

function option(matrix, height, { width, theme }) {
  const [from, to] = [devicesAt(matrix, 'source'), devicesAt(matrix, 'destination')];
  const both = matrix.case.bidirectional;
  const data = matrix.pairs.map((record) => ({
    value: [to.indexOf(record.case.destination), from.indexOf(record.case.source)],
    told: () => {
      const deviation = deviationOf(record, matrix);
      const far = `${deviation < 0 ? '-' : '+'}${percent(Math.abs(deviation))}`;
      const rate = `${number(record.rates.gb_per_s)} GB/s`;
      return { title: pathText(record.case), rows: { rate, [`from ${reference(matrix)}`]: far } };
    },
  }));
  return {
    ...common(theme),
    grid: { left: 46, right: 12, top: 46, bottom: KEY_HEIGHT },
    tooltip: pointTooltip(theme),
    graphic: { elements: colourKey(theme, width, height(width)) },
    xAxis: axis(theme, to, both ? 'and' : 'destination', 'top'),
    yAxis: { ...axis(theme, from, both ? 'between' : 'source', 'left'), inverse: true },
    series: [
      {
        type: 'custom',
        name: 'pairs',
        data,
        renderItem: cell(matrix, theme),
        encode: { x: 0, y: 1 },
      },
    ],
  };
}

const table = (matrix) =>
  tableOf(
    matrix.pairs,
    { Source: ({ case: c }) => c.source, Destination: ({ case: c }) => c.destination },
    {
      'GB/s': ({ rates }) => number(rates.gb_per_s),
      [`of ${reference(matrix)}`]: (record) => percent(1 + deviationOf(record, matrix)),
    },
  );

function panel(key, matrix, label) {
  const { case: c, place, launches } = matrix;
  const rows = devicesAt(matrix, 'source').length;
  const count = Math.max(rows, devicesAt(matrix, 'destination').length);
  const height = (width) =>
    46 + KEY_HEIGHT + rows * Math.min(56, Math.max(26, (width - 58) / count));
  return panelOf({
    id: `pairs-${key}`,
    title: [[c.executor, c.issue].join(' '), c.bidirectional ? 'both ways' : 'one way', label],
    caption: [
      simulatedNote([place]),
      `${copyTitle(c)}, ${bytes(matrix.size)}, in GB/s; colour: distance from ${reference(matrix)}.`,
      launches > 1 && `The fastest of ${plural(launches, 'launch', 'launches')}: ${launch(c)}.`,
    ],
    findings: findingsOf(matrix),
    span: count > 10 ? 'full' : 'half',
    height,
    minWidth: 58 + count * 30,
    places: [place],
    option: (how) => option(matrix, height, how),
    table: table(matrix),
  });
}

export function panels(model) {
  const pairs = model.records.filter(
    ({ benchmark, case: c, rates }) =>
      benchmark === 'copy' &&
      c.kind === 'peer' &&
      c.pattern === 'pair' &&
      c.source !== c.destination &&
      rates.gb_per_s > 0,
  );
  const matrices = [...groupBy(pairs, seriesKey)]
    .map(([key, records]) => [key, matrixOf(records)])
    .filter(([, matrix]) => matrix.pairs.length >= FEWEST);
  const labels = placeLabels(matrices.map(([, matrix]) => matrix.place));
  const ways = ([, matrix]) => Number(Boolean(matrix.case.bidirectional));
  return matrices
    .sort((a, b) => ways(a) - ways(b))
    .map(([key, matrix]) => panel(key, matrix, labels.get(matrix.place)));
}
