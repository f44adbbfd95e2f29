// Roofline: how close each record with FLOP comes to the limit of memory bandwidth or compute.
import { caseText, number, percent, plain, plural, spaces } from '../format.js';
import { differing, modeLabel, placeLabels } from '../labels.js';
import { addedOf, groupBy, typeOf } from '../model.js';
import { decadeAxis } from '../plot/axes.js';
import { common } from '../plot/draw.js';
import { doubtMarks, doubtRings, MOST_LOOKS, points, symbolAt, tellable } from '../plot/marks.js';
import { panelOf } from '../plot/panel.js';
import { roofAt, roofMarks, roofs, roofsOf } from '../plot/roofs.js';
import { pointTooltip } from '../plot/tooltip.js';
import { tableOf } from '../table.js';

export const order = 40;
export const section = { id: 'roofline', title: 'Roofline' };

const intensity = ({ cost }) => cost.flop / cost.memory_bytes;
const hasPlace = ({ cost, rates }) => cost?.flop > 0 && cost.memory_bytes > 0 && rates.tflops > 0;
/** Roofs are of one device, but the figures of parallel steps are of all their devices. */
const isOfOneDevice = ({ case: c }) => !c.parallel;
/** TFLOP/s of one device. */
const rateOf = (record) => record.rates.tflops / addedOf(record);

/**
 * One series for each engine, type and mode, and for each place if several places share these. Its
 * maker is all of that but the type. Colours stand for the type, as those of the roofs. Symbols stand
 * for the series or, if there are more than MOST_LOOKS series, for the maker. At most MOST_LOOKS
 * makers are shown, by tellable() of marks.js.
 */
function seriesOf(records, types) {
  const labels = placeLabels(records.map(({ place }) => place));
  const mode = modeLabel(records);
  const kind = (record) => `${record.engine} ${mode(record)} ${typeOf(record)}`;
  const shared = [...groupBy(records, kind).values()].some(
    (some) => differing(some, [({ place }) => place]).length,
  );
  const maker = (record) =>
    spaces(shared && labels.get(record.place), record.engine, mode(record));
  const makers = [...groupBy(records, maker)];
  const rate = ([, some]) => Math.max(...some.map(rateOf));
  const shown = tellable(makers, rate, ([, [{ place }]]) => place);
  const names = shown.map(([name]) => name);
  const some = shown.flatMap(([, made]) => made);
  const groups = [...groupBy(some, (record) => `${maker(record)} ${typeOf(record)}`)];
  const series = groups.map(([name, ofOne], i) => {
    const at = groups.length > MOST_LOOKS ? names.indexOf(maker(ofOne[0])) : i;
    const colour = Math.max(0, types.indexOf(typeOf(ofOne[0])));
    return { records: ofOne, mark: { name, colour, ...symbolAt(at) } };
  });
  return { series, left: makers.length - shown.length };
}

function option(series, roofing, types, { width, theme }) {
  const all = series.flatMap((one) => one.records);
  const peaks = roofing.peaks.flat().map(({ at }) => at);
  const memory = roofing.memories.at(-1)?.at(-1).at;
  const knees = memory > 0 ? peaks.map((peak) => (peak * 1000) / memory) : [];
  const xs = [...all.map(intensity), ...knees.map((knee) => knee / 4)];
  const x = [
    10 ** Math.floor(Math.log10(Math.min(...xs))),
    10 ** (Math.log10(Math.max(...xs)) + 0.15),
  ];
  const ys = [...all.map(rateOf), ...peaks];
  const told = (record) => (name) => ({
    title: caseText(record),
    rows: {
      series: name,
      rate: `${number(rateOf(record))} TFLOP/s`,
      'FLOP/byte': number(intensity(record)),
    },
  });
  const data = (some) =>
    some.map((record) => ({
      value: [intensity(record), rateOf(record)].map(Math.log10),
      ...{ record, told: told(record) },
    }));
  const name = width < 420 ? 'FLOP/byte' : 'arithmetic intensity, FLOP/byte of device memory';
  const yAxis = decadeAxis(theme, ys, 'TFLOP/s', 40, plain);
  return {
    ...common(theme),
    grid: { left: 58, right: 18, top: 18, bottom: 48 },
    tooltip: pointTooltip(theme),
    xAxis: decadeAxis(theme, xs, name, 30, plain),
    yAxis,
    series: [
      ...roofs(roofing, types, x, 10 ** yAxis.min, theme),
      ...series.map((one) => points(one.mark, data(one.records), theme, 8)),
      ...series.flatMap((one) => doubtRings(one.mark.name, data(one.records), theme)),
    ],
  };
}

const shareOfRoof = (record) => rateOf(record) / roofAt(record, intensity(record));

const table = (series) =>
  tableOf(
    series.flatMap(({ mark, records }) => records.map((record) => ({ mark, record }))),
    { Case: ({ record }) => caseText(record), Series: ({ mark }) => mark.name },
    {
      'FLOP/byte': ({ record }) => number(intensity(record)),
      'TFLOP/s': ({ record }) => number(rateOf(record)),
      'of the roof': ({ record }) => percent(shareOfRoof(record) || NaN),
    },
  );

function panel(model, records, without) {
  const types = [...new Set(records.map(typeOf))];
  const roofing = roofsOf(records, types);
  const { series, left } = seriesOf(records, types);
  const roofless = !roofing.peaks.length && !roofing.memories.length;
  const have = without === 1 ? 'has' : 'have';
  return panelOf({
    id: `roofline-${model}`,
    title: [model],
    caption: [
      roofless && 'No roof is known for this device.',
      roofing.measured && 'The roofs were measured.',
      records.some((one) => addedOf(one) > 1) && 'Rates of works on all ranks are per device.',
      left && `The fastest engines only; ${left} more cannot be told apart.`,
      without &&
        `${plural(without, 'other work')} of this device ${have} no FLOP or no memory traffic, and so no place here.`,
    ],
    span: 'full',
    height: (width) => (width < 480 ? 300 : 380),
    legend: [
      ...series.map((one) => one.mark),
      ...roofMarks(roofing, types),
      ...doubtMarks(records),
    ],
    places: records.map(({ place }) => place),
    option: (how) => option(series, roofing, types, how),
    table: table(series),
  });
}

export function panels(model) {
  const title = ({ place }) => place.model + (place.simulated ? ' (simulated)' : '');
  const measured = model.records.filter((one) => one.outcome === 'measured' && isOfOneDevice(one));
  return [...groupBy(measured, title)].flatMap(([name, records]) => {
    const placed = records.filter(hasPlace);
    return placed.length ? [panel(name, placed, records.length - placed.length)] : [];
  });
}
