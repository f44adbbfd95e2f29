// Where the time of a mixture-of-experts layer goes: its phases, over tokens, routing and ranks.
import { commas, count, plain, plural, slug, spaces } from '../format.js';
import { placeLabels, placeName, shortModel } from '../labels.js';
import { groupBy } from '../model.js';
import { stackedPanel } from '../plot/stacked_rows.js';

export const order = 30;
export const section = {
  id: 'moe',
  title: 'Layers of a mixture of experts',
  short: 'Experts',
};

/** The parts of a bar, each of phases of the journal; those of backward passes count to their phases. */
const PARTS = {
  route: ['route'],
  pack: ['pack', 'pack_in_node'],
  counts: ['counts', 'counts_in_node'],
  dispatch: ['dispatch', 'dispatch_in_node'],
  expand: ['expand'],
  experts: ['experts', 'shared', 'weights'],
  sums: ['reduce', 'sum_in_node', 'sum'],
  combine: ['combine_in_node', 'combine'],
  wait: ['wait'],
};
/** Of a layer with an overlap they run beside others, which wait for what is left of them. */
const EXCHANGES = new Set(['dispatch', 'combine']);

const KIND = {
  title: 'Where the time of a layer goes',
  caption:
    'Phases are of calls that are enqueued one by one. The diamond is the median of whole layers, ' +
    'which begin behind a start gate.',
  rowName: 'Layer',
  suffix: '_seconds',
  whole: '',
  first: Object.keys(PARTS).map((part) => `${part}_seconds`),
  wholeName: 'whole layer',
  wholeOf: ({ seconds: measured }) => measured.median,
  unit: 'us',
  scale: 1e6,
  text: (value) => `${plain(value * 1e6)} us`,
  mostApart: 8,
};

const hasPhases = ({ benchmark, outcome, metrics }) =>
  benchmark === 'moe' && outcome === 'measured' && metrics.experts_seconds > 0;

/** The record with the metrics of PARTS alone. */
function inParts(record) {
  const { metrics } = record;
  const overlaps = metrics.wait_seconds !== undefined;
  const time = (phase) =>
    (metrics[`${phase}_seconds`] ?? 0) + (metrics[`${phase}_backward_seconds`] ?? 0);
  const parts = Object.entries(PARTS)
    .filter(([part]) => !(overlaps && EXCHANGES.has(part)))
    .map(([part, phases]) => [`${part}_seconds`, phases.reduce((sum, one) => sum + time(one), 0)]);
  return { ...record, metrics: Object.fromEntries(parts) };
}

const rowName = ({ case: c }) =>
  commas(
    `${count(c.tokens)} tokens`,
    c.routing,
    plural(c.ranks, 'rank'),
    c.pass,
    c.capacity && c.capacity !== 'none' && `capacity ${c.capacity}`,
    c.graph_launches > 0 && 'captured',
  );

const wayOf = ({ engine, case: c, notes }) =>
  spaces(
    ...[engine, c.exchange, c.dispatch_dtype === 'fp8' && 'fp8'],
    c.counts === 'host' && 'counts for hosts',
    c.overlap && c.overlap !== 'none' && `overlap ${c.overlap}`,
    notes?.chosen && `(${notes.chosen})`,
  );

const layerOf = ({ place, case: c }) => ({
  device: placeName({ ...place, count: 1 }),
  model: commas(
    c.model === 'own' ? `${c.experts} experts of ${c.hidden} x ${c.width}` : c.model,
    c.shared_experts && `${c.shared_experts} shared`,
    c.dtype,
  ),
});

function panel(records, several) {
  const { device, model } = layerOf(records[0]);
  const labels = placeLabels(records.map(({ place }) => place));
  const places = new Set(records.map(({ place }) => labels.get(place)));
  const made = (record) =>
    spaces(places.size > 1 && labels.get(record.place), wayOf(record));
  const inOrder = [...records].sort(
    (a, b) => a.case.ranks - b.case.ranks || a.case.tokens - b.case.tokens,
  );
  const group = {
    rows: [...groupBy(inOrder, rowName)].map(([name, some]) => ({
      name,
      records: some.map(inParts),
      reported: [],
    })),
    words: () => [
      'Sums are of a rank and of ranks (reduce, sum), experts are with those that are shared.',
      records.some(({ metrics }) => metrics.wait_seconds !== undefined) &&
        'Where exchanges run beside the products, the bar has what the products wait for them.',
    ],
  };
  const all = group.rows.flatMap((row) => row.records);
  group.series = [...groupBy(all, made)].map(([name, some]) => ({ name, records: some }));
  return stackedPanel(group, KIND, {
    id: `moe-phases-${slug(device, model)}`,
    title: [KIND.title, model, several && shortModel(device)],
  });
}

export function panels(model) {
  const records = model.records.filter(hasPhases);
  const groups = groupBy(records, (record) => Object.values(layerOf(record)).join('/'));
  const devices = new Set(records.map((record) => layerOf(record).device));
  return [...groups.values()].map((some) => panel(some, devices.size > 1));
}
