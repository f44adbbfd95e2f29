// The roofs of a roofline: the memory's slope and a line for each peak.
import { plain } from '../format.js';
import { groupBy } from '../model.js';
import { seriesColour } from '../palette.js';

/** Peaks of the types drawn (one line where they are equal), and the memory's rate. */
export function roofsOf(records, types) {
  const ceiling =
    records.find(({ place }) => place.ceiling.tflops || place.ceiling.memory_gb_per_s)?.place
      .ceiling ?? {};
  const known = types.filter((dtype) => ceiling.tflops?.[dtype] > 0);
  const peaks = [...groupBy(known, (dtype) => ceiling.tflops[dtype])].map(([peak, some]) => ({
    peak,
    dtypes: some,
    colour: some.length > 1 ? null : types.indexOf(some[0]),
  }));
  return { peaks, memory: ceiling.memory_gb_per_s, source: ceiling.source };
}

/** TFLOP/s that the memory allows at so many FLOP a byte. */
export const fed = (memory, flopPerByte) => (memory * flopPerByte) / 1000;

function roofSeries(from, to, colour, label, theme, dash) {
  const text = {
    show: true,
    formatter: () => label,
    color: theme.text,
    fontSize: 11,
    position: 'insideStartTop',
    textBorderColor: theme.background,
    textBorderWidth: 3,
  };
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
      label: text,
      data: [line],
    },
  };
}

/** The roofs as series: `x` the ends of the axis in FLOP/byte, `lowest` TFLOP/s shown. */
export function roofs({ peaks, memory }, x, lowest, theme) {
  const top = Math.max(...peaks.map(({ peak }) => peak));
  const series = [];
  if (memory > 0) {
    const start = Math.max(x[0], (lowest * 1000) / memory);
    const end = peaks.length ? Math.min(x[1], (top * 1000) / memory) : x[1];
    if (end > start) {
      series.push(
        roofSeries(
          [start, fed(memory, start)],
          [end, fed(memory, end)],
          theme.roof,
          `memory ${plain(memory)} GB/s`,
          theme,
          [7, 3, 1, 3],
        ),
      );
    }
  }
  for (const { dtypes, peak, colour } of peaks) {
    const knee = memory > 0 ? Math.max(x[0], (peak * 1000) / memory) : x[0];
    const paint = colour === null ? theme.roof : seriesColour(theme, colour);
    const label = `${dtypes.join(', ')} ${plain(peak)} TFLOP/s`;
    if (knee < x[1])
      series.push(roofSeries([knee, peak], [x[1], peak], paint, label, theme, 'solid'));
  }
  return series;
}
