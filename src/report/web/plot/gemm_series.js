// Groups GEMM records into series, and prepares the figures that others reported and device peaks.
import { shape, spaces } from '../format.js';
import { modeLabel, placeLabels, shortModel } from '../labels.js';
import { fastest, groupBy } from '../model.js';
import { symbolAt, tellable } from './marks.js';
import { nearOnes, span, valuesOf } from './peaks.js';

/** The name of the row with the best figure over all shapes. */
export const BEST = 'best of the shapes';

/**
 * One series for each place, engine and mode. If there are more than have different looks, only the
 * fastest are kept. Each series has its own symbol. Its colour is that of its place if there are
 * several places, else its own.
 * @returns {{series: Object[], left: number}} `left` series are left out
 */
export function seriesOf(records) {
  const labels = placeLabels(records.map((record) => record.place));
  const mode = modeLabel(records);
  const places = [...labels.keys()];
  const key = ({ place, engine, ...record }) =>
    `${places.indexOf(place)}/${engine}/${mode(record)}`;
  const groups = [...groupBy(records, key).values()];
  const rate = (some) => fastest(some, 'tflops').rates.tflops;
  const series = tellable(groups, rate, ([{ place }]) => place).map((some, i) => {
    const [{ place, engine }] = some;
    const colour = places.length > 1 ? places.indexOf(place) : i;
    const name = spaces(labels.get(place), engine, mode(some[0]));
    return { records: some, mark: { name, colour, ...symbolAt(i) } };
  });
  return { series, left: groups.length - series.length };
}

/** The vertical shift of a series within a row, so that equal rates do not hide each other. */
export const shiftOf = (series, i) =>
  series.length > 1 ? (i / (series.length - 1) - 0.5) * 0.44 : 0;

/** The figures that others reported for this type and for one of the rows. */
export function reportedOf(model, key, rows) {
  const [dtype, layout, , cpu] = key.split('/');
  if (layout !== 'nn' || cpu) return []; // reports do not state the layout; torch.matmul's is nn
  return (model.data.reported ?? [])
    .filter((one) => one.dtype === dtype && one.tflops > 0)
    .map((one) => ({ ...one, row: rows.indexOf(one.m ? shape(one) : BEST) }))
    .filter((one) => one.row >= 0);
}

/**
 * The dense or measured peaks of the devices. Of peaks that are nearly equal only the highest has a
 * label.
 * @param {boolean} named whether labels name the device even if there is only one peak
 * @returns {{at: number, label: string}[]}
 */
export function peaksOf(records, dtype, named) {
  const places = [...new Set(records.map(({ place }) => place))];
  const peaks = places
    .map(({ ceiling, model }) => ({ at: ceiling.tflops?.[dtype], model, source: ceiling.source }))
    .filter(({ at }) => at > 0);
  const groups = [...groupBy(peaks, ({ source }) => source).values()].flatMap(nearOnes);
  return groups.flatMap((group) => {
    const values = valuesOf(group);
    const kind = group[0].source === 'measured' ? 'measured peak' : 'dense peak';
    const models = [...new Set(group.map(({ model }) => shortModel(model)))].join(', ');
    const whose = named || groups.length > 1 ? ` (${models})` : '';
    const label = `${kind}${values.length > 1 ? 's' : ''} ${span(group)}${whose}`;
    return values.map((at, i) => ({ at, label: i === values.length - 1 ? label : '' }));
  });
}

/** The best record of a series, which is shown also in the row BEST if there is one. */
export const bestOf = ({ records }) => fastest(records, 'tflops');
