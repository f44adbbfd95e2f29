// When the operations of one training step ran on a rank, what was communicated beside them, and how long
// they waited for that. The reader chooses the step.
import { commas, milliseconds, plain, plural, wayText } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { linearAxis, rowAxis } from '../plot/axes.js';
import { spans } from '../plot/bars.js';
import { common } from '../plot/draw.js';
import { panelOf } from '../plot/panel.js';
import { pointTooltip } from '../plot/tooltip.js';
import { section, sizeText } from '../plot/training_series.js';
import { tableOf } from '../table.js';

export const order = 36;
export { section };

const PREFIX = 'timeline_';
const COLLECTIVES = ['all_gather', 'reduce_scatter', 'all_to_all', 'all_reduce'];
const ROWS = [
  ...['gemm', 'attention', 'norm', 'elementwise', 'loss', 'optimizer', 'wait'],
  ...COLLECTIVES,
];
const ROW = 26; // pixels
const BAR = 14;
const TOP = 10;
const BOTTOM = 46;
const MARKS = [
  { name: 'computing', colour: 0, symbol: 'rect' },
  { name: 'communicating', colour: 1, symbol: 'rect' },
  { name: 'waiting for it', colour: 2, symbol: 'rect' },
];

const markOf = (row) => (COLLECTIVES.includes(row) ? 1 : row === 'wait' ? 2 : 0);

/** [begin, end] of each span of a row, in seconds. */
function spansOf({ curves }, row) {
  const ends = curves?.[PREFIX + row] ?? [];
  return Array.from({ length: ends.length / 2 }, (_, i) => ends.slice(2 * i, 2 * i + 2));
}

const sum = (list) => list.reduce((all, [from, to]) => all + to - from, 0);
const rowsOf = (record) => ROWS.filter((row) => spansOf(record, row).length);

const isDrawn = ({ benchmark, curves }) =>
  benchmark === 'train' && COLLECTIVES.some((row) => curves?.[PREFIX + row]?.length);

function option(record, { theme, width }) {
  const rows = rowsOf(record);
  const told = (title, from, to) => () => {
    const [begin, end, long] = [from, to, to - from].map(milliseconds);
    return { title, rows: { from: begin, to: end, long } };
  };
  const bars = rows.flatMap((row, at) =>
    spansOf(record, row).map(([from, to]) => ({
      value: [from * 1e3, at, to * 1e3],
      mark: markOf(row),
      told: told(row, from, to),
    })),
  );
  const ends = bars.map(({ value }) => value[2]);
  const ofMark = (i) => bars.filter(({ mark }) => mark === i);
  return {
    ...common(theme),
    grid: { left: 112, right: 24, top: TOP, bottom: BOTTOM },
    tooltip: pointTooltip(theme),
    xAxis: linearAxis(theme, [0, ...ends], 'time, ms', 28, plain, width < 600 ? 4 : 8),
    yAxis: { ...rowAxis(theme, rows), splitLine: { show: false } },
    series: MARKS.map((mark, i) => spans(mark, ofMark(i), BAR, theme)),
  };
}

/** Names steps by model, size, way, engine and recipe; by place too, where there are several. */
function namesOf(records) {
  const labels = placeLabels(records.map(({ place }) => place));
  return records.map(({ place, engine, case: c }) =>
    commas(
      ...[c.model, sizeText(c), `${wayText(c)} by ${engine}`],
      ...[c.recipe, plural(c.ranks, 'device'), labels.get(place)],
    ),
  );
}

function table(records, names) {
  const time = (row) => (record) => {
    const list = spansOf(record, row);
    return list.length ? plain(sum(list) * 1e3) : '–';
  };
  return tableOf(
    records,
    { Step: (record) => names[records.indexOf(record)] },
    Object.fromEntries(ROWS.map((row) => [`${row}, ms`, time(row)])),
  );
}

export function panels(model) {
  const records = model.records.filter(isDrawn);
  if (!records.length) return [];
  const names = namesOf(records);
  const places = records.map(({ place }) => place);
  return [
    panelOf({
      id: 'training-timeline',
      title: ['One step on rank 0'],
      caption: [
        simulatedNote(places),
        'Operations were enqueued one by one and timed by events; a measured step is one graph.',
        'Waiting is of the stream that computes. The data has the sums.',
      ],
      span: 'full',
      height: () => TOP + BOTTOM + ROWS.length * ROW,
      minWidth: 620,
      legend: MARKS,
      places,
      choices: [{ name: 'Step', values: names, start: 0 }],
      option: (how) => option(records[how.chosen[0]], how),
      table: table(records, names),
    }),
  ];
}
