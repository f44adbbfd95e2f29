// The roofs of a roofline chart: the slope of the memory bandwidth and a line for each peak.
import { typeOf } from '../model.js';
import { markColour } from './marks.js';
import { nearOnes, span, valuesOf } from './peaks.js';

/**
 * The roofs of all places of some records: the peaks of the given types and the memory bandwidths,
 * grouped by nearly equal values (peaks.js).
 * @returns {{peaks: Object[][], memories: Object[][], measured: boolean}}
 */
export function roofsOf(records, types) {
  const ceilings = [...new Set(records.map(({ place }) => place.ceiling))];
  const peaks = ceilings.flatMap((ceiling) =>
    types
      .filter((dtype) => ceiling.tflops?.[dtype] > 0)
      .map((dtype) => ({ at: ceiling.tflops[dtype], dtype })),
  );
  const memories = ceilings
    .map((ceiling) => ({ at: ceiling.memory_gb_per_s }))
    .filter(({ at }) => at > 0);
  return {
    peaks: nearOnes(peaks),
    memories: nearOnes(memories),
    measured: ceilings.some(({ source }) => source === 'measured'),
  };
}

/** @returns {number} TFLOP/s of the record's roof at an intensity; Infinity if the roof is unknown */
export function roofAt(record, flopPerByte) {
  const { ceiling } = record.place;
  const memory = ceiling.memory_gb_per_s;
  return Math.min(
    ceiling.tflops?.[typeOf(record)] || Infinity,
    memory > 0 ? fed(memory, flopPerByte) : Infinity,
  );
}

/** The TFLOP/s that a memory bandwidth in GB/s allows at an intensity in FLOP/byte. */
const fed = (memory, flopPerByte) => (memory * flopPerByte) / 1000;

function roofSeries(from, to, colour, dash) {
  const line = [from, to].map((point) => ({ coord: point.map(Math.log10), symbol: 'none' }));
  return {
    type: 'line',
    data: [],
    silent: true,
    markLine: {
      silent: true,
      animation: false,
      symbol: 'none',
      precision: 9,
      lineStyle: { color: colour, width: 1.6, type: dash },
      label: { show: false },
      data: [line],
    },
  };
}

const SLOPE = [7, 3, 1, 3];

/** The slopes of the memory bandwidths, up to the highest peak. */
function slopes({ memories, top }, x, lowest, theme) {
  return memories.flatMap((group) =>
    valuesOf(group).map((memory) => {
      const start = Math.max(x[0], (lowest * 1000) / memory);
      const end = top > 0 ? Math.min(x[1], (top * 1000) / memory) : x[1];
      const ends = [start, end].map((at) => [at, fed(memory, at)]);
      return end > start && roofSeries(...ends, theme.roof, SLOPE);
    }),
  );
}

const typesOf = (group) => [...new Set(group.map(({ dtype }) => dtype))];
/** An index of the series colours, or the name of a theme's colour. */
const colourOf = (group, types) => {
  const dtypes = typesOf(group);
  return dtypes.length > 1 ? 'roof' : types.indexOf(dtypes[0]);
};

/**
 * Marks that name the roofs, for the legend: beside the lines labels would cover points.
 * @returns {import('./marks.js').Mark[]}
 */
export function roofMarks({ peaks, memories }, types) {
  const look = { line: true, fixed: true };
  return [
    ...[...peaks].reverse().map((group) => ({
      ...{ name: `peak, ${typesOf(group).join(', ')}: ${span(group)} TFLOP/s` },
      ...{ colour: colourOf(group, types), ...look },
    })),
    ...[...memories].reverse().map((group) => ({
      ...{ name: `memory: ${span(group)} GB/s`, colour: 'roof', dash: 'dashed', ...look },
    })),
  ];
}

/** The roofs as series. `x`: the ends of the axis in FLOP/byte; `lowest`: the lowest TFLOP/s shown. */
export function roofs({ peaks, memories }, types, x, lowest, theme) {
  const fastest = memories.at(-1)?.at(-1).at;
  const flat = peaks.flatMap((group) =>
    valuesOf(group).map((peak) => {
      const knee = fastest > 0 ? Math.max(x[0], (peak * 1000) / fastest) : x[0];
      const paint = markColour({ colour: colourOf(group, types) }, theme);
      return knee < x[1] && roofSeries([knee, peak], [x[1], peak], paint, 'solid');
    }),
  );
  const top = peaks.at(-1)?.at(-1).at;
  return [...slopes({ memories, top }, x, lowest, theme), ...flat].filter(Boolean);
}
