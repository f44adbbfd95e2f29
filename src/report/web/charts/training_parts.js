// Where the time of a training step goes: the parts that `duet train --breakdown` times.
import { milliseconds } from '../format.js';
import { section, stackedPanels } from '../plot/stacked_rows.js';

export const order = 33;
export { section };

const KIND = {
  id: 'parts',
  title: 'Where the time of a step goes',
  caption:
    'Parts are of one step whose operations are timed one after the other. ' +
    'The diamond is the median of whole steps, as throughput has it.',
  suffix: '_seconds',
  whole: '',
  first: ['gemm', 'attention', 'norm', 'elementwise', 'loss', 'optimizer'].map(
    (part) => `${part}_seconds`,
  ),
  wholeName: 'whole step',
  wholeOf: ({ seconds: measured }) => measured.median,
  unit: 'ms',
  scale: 1e3,
  text: milliseconds,
  mostApart: 8,
};

export const panels = (model) => stackedPanels(model, KIND);
