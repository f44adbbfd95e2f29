// Roofline: how close every work with FLOP comes to the memory's or the arithmetic's limit.
import { caseText, number, percent, plain, plural } from '../format.js';
import { placeLabels } from '../labels.js';
import { groupBy } from '../model.js';
import { decadeAxis } from '../plot/axes.js';
import { common } from '../plot/draw.js';
import { points, symbolAt } from '../plot/marks.js';
import { fed, roofs, roofsOf } from '../plot/roofs.js';
import { pointTooltip } from '../plot/tooltip.js';

export const order = 40;
export const section = { id: 'roofline', title: 'Roofline' };

const intensity = ({ cost }) => cost.flop / cost.memory_bytes;
const hasPlace = ({ cost, rates }) => cost?.flop > 0 && cost.memory_bytes > 0 && rates.tflops > 0;

/** A series for each engine and type, and for each place where several have the same. */
function seriesOf(records, types) {
  const labels = placeLabels(records.map(({ place }) => place));
  const kind = ({ engine, case: c }) => `${engine} ${c.dtype}`;
  const shared = [...groupBy(records, kind).values()].some(
    (some) => new Set(some.map(({ place }) => place)).size > 1,
  );
  const maker = ({ place, engine }) =>
    [shared && labels.get(place), engine].filter(Boolean).join(' ');
  const makers = [...new Set(records.map(maker))];
  return [...groupBy(records, (record) => `${maker(record)} ${record.case.dtype}`)].map(
    ([name, some]) => {
      const look = symbolAt(makers.indexOf(maker(some[0])));
      return {
        records: some,
        mark: { name, colour: Math.max(0, types.indexOf(some[0].case.dtype)), ...look },
      };
    },
  );
}

function option(series, roofing, { width, theme }) {
  const all = series.flatMap((one) => one.records);
  const peaks = roofing.peaks.map(({ peak }) => peak);
  const knees = roofing.memory > 0 ? peaks.map((peak) => (peak * 1000) / roofing.memory) : [];
  const xs = [...all.map(intensity), ...knees.map((knee) => knee / 4)];
  const x = [
    10 ** Math.floor(Math.log10(Math.min(...xs))),
    10 ** (Math.log10(Math.max(...xs)) + 0.15),
  ];
  const ys = [...all.map((record) => record.rates.tflops), ...peaks];
  const data = (some) =>
    some.map((record) => ({
      value: [intensity(record), record.rates.tflops].map(Math.log10),
      record,
    }));
  const tip = pointTooltip(
    theme,
    ({ data: point, seriesName }) =>
      point?.record && {
        title: caseText(point.record),
        rows: [
          ['series', seriesName],
          ['rate', `${number(point.record.rates.tflops)} TFLOP/s`],
          ['FLOP/byte', number(intensity(point.record))],
        ],
      },
  );
  const yAxis = decadeAxis(theme, ys, 'TFLOP/s', 40, plain);
  return {
    ...common(theme),
    grid: { left: 58, right: 18, top: 18, bottom: 48 },
    tooltip: tip,
    xAxis: {
      ...decadeAxis(
        theme,
        xs,
        width < 420 ? 'FLOP/byte' : 'arithmetic intensity, FLOP/byte of device memory',
        30,
        plain,
      ),
    },
    yAxis,
    series: [
      ...roofs(roofing, x, 10 ** yAxis.min, theme),
      ...series.map((one) => points(one.mark, data(one.records), theme, 8)),
    ],
  };
}

function table(series, { peaks, memory }) {
  const columns = [
    { name: 'Case' },
    { name: 'Series' },
    ...['FLOP/byte', 'TFLOP/s', 'of the roof'].map((name) => ({ name, numeric: true })),
  ];
  const roofAt = (record) =>
    Math.min(
      peaks.find(({ dtypes }) => dtypes.includes(record.case.dtype))?.peak ?? Infinity,
      memory > 0 ? fed(memory, intensity(record)) : Infinity,
    );
  const rows = series.flatMap((one) =>
    one.records.map((record) => [
      caseText(record),
      one.mark.name,
      number(intensity(record)),
      number(record.rates.tflops),
      Number.isFinite(roofAt(record)) ? percent(record.rates.tflops / roofAt(record)) : '–',
    ]),
  );
  return { columns, rows };
}

function panel(model, records, without) {
  const types = [...new Set(records.map((record) => record.case.dtype))];
  const roofing = roofsOf(records, types);
  const series = seriesOf(records, types);
  const roofless = !roofing.peaks.length && !roofing.memory;
  return {
    id: `roofline-${model.replaceAll(/[^\w]+/g, '-')}`,
    title: model,
    caption: [
      roofless ? 'No roof is known for this device.' : '',
      roofing.source === 'measured' ? 'The roofs were measured.' : '',
      without
        ? `${plural(without, 'other work')} of this device ${without === 1 ? 'has' : 'have'} no FLOP or no memory traffic, and so no place here.`
        : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: [],
    span: 'full',
    height: (width) => (width < 480 ? 300 : 380),
    legend: series.map((one) => one.mark),
    option: (how) => option(series, roofing, how),
    table: table(series, roofing),
  };
}

export function panels(model) {
  const title = ({ place }) => place.model + (place.simulated ? ' (simulated)' : '');
  return [
    ...groupBy(
      model.records.filter(({ outcome }) => outcome === 'measured'),
      title,
    ),
  ]
    .map(([name, records]) => [name, records.filter(hasPlace), records])
    .filter(([, placed]) => placed.length)
    .map(([name, placed, records]) => panel(name, placed, records.length - placed.length));
}
