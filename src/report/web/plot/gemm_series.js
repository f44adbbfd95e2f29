// GEMM records as series, beside what others reported and the peaks of the devices.
import { shape } from '../format.js';
import { modeLabel, placeLabels, shortModel } from '../labels.js';
import { fastest, groupBy } from '../model.js';
import { symbolAt, tellable } from './marks.js';
import { nearOnes, span, valuesOf } from './peaks.js';

/** The row of the best figures, whatever their shape. */
export const BEST = 'best of the shapes';

/**
 * A series for each place, engine and mode, as many as can be told apart: the fastest. The symbol says
 * which; so does the colour, which is a place's own where there are several.
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
    const name = [labels.get(place), engine, mode(some[0])].filter(Boolean).join(' ');
    return { records: some, mark: { name, colour, ...symbolAt(i) } };
  });
  return { series, left: groups.length - series.length };
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

/**
 * Dense or measured peaks of the devices; of those that are nearly equal only the highest has a label.
 * @param {boolean} named say whose they are, even if there is only one
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

/** The best record of a series, shown again in the row of the best where reports have one. */
export const bestOf = ({ records }) => fastest(records, 'tflops');
