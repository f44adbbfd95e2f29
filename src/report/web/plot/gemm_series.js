// GEMM records as series, beside what others reported and the peaks of the devices.
import { plain, shape } from '../format.js';
import { placeLabels } from '../labels.js';
import { groupBy } from '../model.js';
import { symbolAt } from './marks.js';

/** The row of the best figures, whatever their shape. */
export const BEST = 'best of the shapes';

/** A series for each place and engine. The colour says where, the symbol which engine. */
export function seriesOf(records) {
  const labels = placeLabels(records.map((record) => record.place));
  const places = [...labels.keys()];
  const engines = [...new Set(records.map((record) => record.engine))];
  const groups = groupBy(records, ({ place, engine }) => `${places.indexOf(place)}/${engine}`);
  return [...groups.values()].map((some) => {
    const [{ place, engine }] = some;
    const at = engines.indexOf(engine);
    const colour = places.length > 1 ? places.indexOf(place) : at;
    const name = [labels.get(place), engine].filter(Boolean).join(' ');
    return { records: some, mark: { name, colour, ...symbolAt(at) } };
  });
}

/** Series stand a little below each other in a row, so that equal rates do not hide each other. */
export const shiftOf = (series, i) =>
  series.length > 1 ? (i / (series.length - 1) - 0.5) * 0.44 : 0;

/** Hollow marks, by device, for what others reported. */
export function reportedMarks(reported) {
  const devices = [...new Set(reported.map(({ device }) => device))];
  const symbols = ['diamond', 'triangle', 'rect', 'circle'];
  return devices.map((device, i) => ({
    name: `${device}, reported elsewhere`,
    device,
    colour: 'muted',
    symbol: symbols[i % symbols.length],
    hollow: true,
  }));
}

/** What others reported for this type, where it stands in one of the rows. */
export function reportedOf(model, key, rows) {
  const [dtype, layout, , cpu] = key.split('/');
  if (layout !== 'nn' || cpu) return []; // reports do not say the layout; torch.matmul's is nn
  return (model.data.reported ?? [])
    .filter((one) => one.dtype === dtype && one.tflops > 0)
    .map((one) => ({ ...one, row: rows.indexOf(one.m ? shape(one) : BEST) }))
    .filter((one) => one.row >= 0);
}

/** @returns {{at: number, label: string}[]} dense or measured peaks of the devices, each once */
export function peaksOf(records, dtype) {
  const peaks = new Map();
  for (const { place } of records) {
    const peak = place.ceiling.tflops?.[dtype];
    if (!(peak > 0)) continue;
    const kind = place.ceiling.source === 'measured' ? 'measured peak' : 'dense peak';
    peaks.set(`${kind} ${plain(peak)}`, [
      ...(peaks.get(`${kind} ${plain(peak)}`) ?? []),
      { peak, model: place.model },
    ]);
  }
  return [...peaks].map(([text, some]) => ({
    at: some[0].peak,
    label:
      peaks.size > 1 ? `${text} (${[...new Set(some.map((one) => one.model))].join(', ')})` : text,
  }));
}

/** The best record of a series, shown again in the row of the best where reports have one. */
export const bestOf = ({ records }) =>
  records.reduce((a, b) => (b.rates.tflops > a.rates.tflops ? b : a));
