// The memory of a training step by kind.
import { plain } from '../format.js';
import { section, stackedPanels } from '../plot/stacked_rows.js';
import { memoryOf } from '../plot/training_series.js';

export const order = 34;
export { section };

const KINDS = ['parameters', 'gradients', 'optimizer_states', 'activations', 'workspace', 'input'];

const KIND = {
  id: 'memory',
  title: 'Memory of a step',
  caption: '',
  withoutParts:
    'A diamond without a bar is of an engine that does not tell kinds apart: the most that its ' +
    'allocator gave.',
  suffix: '_bytes',
  whole: 'memory_bytes',
  first: [...KINDS, 'gemm_and_attention'].map((kind) => `${kind}_bytes`),
  wholeName: 'whole step',
  wholeOf: memoryOf,
  reportedOf: ({ memory_gb: gb }) => (gb ? gb * 1e9 : 0),
  unit: 'GB',
  scale: 1e-9,
  text: (value) => `${plain(value / 1e9)} GB`,
  mostApart: Infinity,
};

export const panels = (model) => stackedPanels(model, KIND);
