// What charts the page must have for some journals, and how many measured marks each of them: counted
// from the journals themselves.

// Pixels; larger marks are of fits.
const LARGEST = {
  ...{ collective: 8.5, copy: 8.5, fabric: 8.5, grid: 8.5, gemm: 13, overlap: 9.5, roofline: 13 },
  ...{ layer: 8.5, training: 10.5 },
};
/** Charts whose marks are no figures of a record: bars, and lines. */
const WITHOUT_MARKS = [
  ...['layer-timeline', 'overlap-timeline', 'training-parts', 'training-memory', 'training-timeline'],
  'moe-phases',
];

function groupBy(list, key) {
  const groups = new Map();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return [...groups];
}

const most = (list, key) => Math.max(...groupBy(list, key).map(([, some]) => some.length));
const total = (counts) => counts.reduce((sum, count) => sum + count, 0);
const slug = (parts) => parts.join('/').replaceAll(/[^\w]+/g, '-');
const hostMemory = (c) =>
  [c.source, c.destination].find((end) => end === 'pinned' || end === 'pageable') ?? '';

/** The charts of some records: of each id as many marks as `marksOf` says of its records. */
const charts = (records, id, marksOf) =>
  groupBy(records, id).map(([name, some]) => [name, marksOf(some)]);

/** Marks of curves, one for each maker, over two places or more; by default a mark for each record. */
const inCurves = (maker, pointsOf = (some) => some.length) => (records) =>
  total(
    groupBy(records, maker)
      .map(([, ofOne]) => pointsOf(ofOne))
      .filter((points) => points > 1),
  );

/** Along the path with the most sizes. */
const copyCharts = (copies) =>
  charts(
    copies,
    ({ case: c }) => `copy-${[c.kind, c.pattern, Boolean(c.bidirectional), hostMemory(c)].join('-')}`,
    inCurves(
      ({ journal, case: c }) => [journal, c.executor, c.issue, c.grid, c.block].join(),
      (ofOne) => most(ofOne, ({ case: c }) => `${c.source} ${c.destination}`),
    ),
  );

const gridCharts = (copies) =>
  charts(
    copies.filter(({ case: c }) => c.grid > 0),
    ({ journal, device, case: c }) =>
      `grid-${slug([journal, device, c.kind, c.executor, c.issue, c.pattern, Boolean(c.bidirectional), c.bytes])}`,
    (some) => some.length,
  );

function pairCharts(copies) {
  const distinct = (some) => groupBy(some, ({ case: c }) => `${c.source} ${c.destination}`).length;
  const cells = (some) =>
    Math.max(...groupBy(some, ({ case: c }) => c.bytes).map(([, ofSize]) => distinct(ofSize)));
  return charts(
    copies.filter(({ case: c }) => c.kind === 'peer' && c.pattern === 'pair'),
    ({ journal, device, engine, case: c }) =>
      `pairs-${slug([journal, device, engine, c.executor, c.issue, Boolean(c.bidirectional)])}`,
    cells,
  ).filter(([, count]) => count >= 3);
}

/** The row of the best figures has a mark more for each journal and engine. */
const gemmCharts = (gemms, reported) =>
  charts(
    gemms,
    ({ device, case: c }) =>
      `gemm-${[c.dtype, c.layout, c.output, device === 'host' ? 'CPU' : ''].join('-')}`,
    (some) => {
      const [{ device, case: c }] = some;
      const withBest = reported.some((one) => one.dtype === c.dtype && !one.m);
      const best = withBest && c.layout === 'nn' && device !== 'host';
      const series = groupBy(some, ({ journal, engine }) => `${journal} ${engine}`).length;
      return some.length + (best ? series : 0);
    },
  );

const collectiveCharts = (collectives) =>
  charts(
    collectives,
    ({ case: c }) => {
      const way = c.in_place ? 'in-place' : 'out-of-place';
      const call = ['collective', c.collective, c.type, c.op, c.root, c.layout, way];
      return call.filter((part) => part !== undefined).join('-');
    },
    inCurves(({ journal, engine, case: c }) => [journal, engine, c.ranks, c.packet].join()),
  );

const fabricCharts = (messages) =>
  charts(
    messages,
    ({ case: c }) =>
      `fabric-${slug([c.operation, c.bidirectional ? 'two-way' : 'one-way', c.memory, c.memory_path, c.provider])}`,
    inCurves(({ journal, case: c }) => `${journal} ${c.window}`),
  );

/** A mark for each policy and scenario that has a fraction of ideal; a sweep is one policy. */
function overlapCharts(overlaps) {
  const policy = ({ case: c }) => `${c.scenario} ${c.policy.split(':')[0]}`;
  const bars = charts(
    overlaps.filter(({ metrics }) => metrics.fraction_of_ideal !== undefined),
    ({ journal, device, case: c }) => `overlap-${slug([journal, device, c.ranks, c.collective])}`,
    (some) => groupBy(some, policy).length,
  );
  const timelines = charts(
    overlaps,
    ({ journal, device, case: c }) => `overlap-timeline-${slug([journal, device, c.ranks])}`,
    () => 0,
  );
  return [...bars, ...timelines];
}

/** A mark for each engine and number of rows, of which pieces have several ways. */
function layerCharts(layers) {
  const added = charts(
    layers.filter(({ metrics }) => metrics?.added_percent !== undefined),
    ({ devices, case: c }) => {
      const what = [c.layer, c.part, c.dtype, c.graph_launches > 0 && 'captured'].filter(Boolean);
      return slug(['layer-added', devices, c.ranks, ...what]);
    },
    (some) => groupBy(some, ({ engine, case: c }) => `${engine} ${c.m}`).length,
  );
  const timelines = charts(
    layers.filter(({ curves }) => curves?.gemms_of_rank_0),
    ({ journal, device, case: c }) => slug(['layer-timeline', journal, device, c.ranks]),
    () => 0,
  );
  return [...added, ...timelines];
}

/** Bars of the phases of each layer. */
const moeCharts = (layers) =>
  charts(
    layers.filter(({ metrics }) => metrics?.experts_seconds > 0),
    ({ model, case: c }) => {
      const own = c.model === 'own' && `${c.experts} experts of ${c.hidden} x ${c.width}`;
      const shared = c.shared_experts && `${c.shared_experts} shared`;
      return slug(['moe-phases', model, own || c.model, shared, c.dtype].filter(Boolean));
    },
    () => 0,
  );

const rooflineCharts = (records) =>
  charts(
    records.filter(
      ({ cost, rates, case: c }) => cost?.memory_bytes > 0 && rates.tflops > 0 && !c.parallel,
    ),
    ({ model }) => `roofline-${slug([model])}`,
    (some) => some.length,
  );

/** Of each model those of one size: one that a study reports or, without it, the fastest. */
function drawnSteps(steps, reported) {
  const size = ({ case: c }) => `${c.batch} x ${c.sequence}`;
  const known = ({ case: c }) =>
    reported.some((one) => ['model', 'batch', 'sequence'].every((axis) => one[axis] === c[axis]));
  return groupBy(steps, ({ case: c }) => c.model).flatMap(([, some]) => {
    const [first] = [...some].sort(
      (a, b) => known(b) - known(a) || b.rates.tflops - a.rates.tflops,
    );
    return some.filter((record) => size(record) === size(first));
  });
}

/** A mark for each step, curves over batches, the evaluations of runs; bars of parts have no marks. */
function trainingCharts(steps, runs, reported) {
  const byModel = (name, some, marksOf) =>
    charts(some, ({ device }) => `training-${name}${device === 'host' ? '-cpu' : ''}`, marksOf);
  const having = (name) => steps.filter(({ metrics }) => metrics?.[name] > 0);
  return [
    ...byModel('throughput', steps, (own) => drawnSteps(own, reported).length),
    ...byModel('parts', having('gemm_seconds'), () => 0),
    ...byModel('memory', having('parameters_bytes'), () => 0),
    ...charts(
      steps,
      ({ case: c }) => slug(['training-batches', c.model, c.layers, c.sequence].filter(Boolean)),
      inCurves(({ journal, engine, case: c }) => [journal, engine, c.recipe].join()),
    ),
    ...charts(
      runs,
      ({ case: c }) => `training-losses-${slug([c.data])}`,
      (some) => total(some.map(({ curves }) => curves.evaluation_step.length)),
    ),
  ];
}

/** Curves over the number of devices, which begin at the same program's step of one device. */
function scalingCharts(parallel, steps) {
  const size = ({ case: c }) => [c.model, c.layers, c.parameters, c.batch, c.sequence];
  const maker = ({ engine, case: c }) => [engine, c.parallel, c.late_sums, c.recipe].join();
  const isTorch = ({ engine }) => engine.startsWith('torch-');
  const points = ([, some]) => {
    const one = (step) =>
      isTorch(step) === isTorch(some[0]) &&
      step.case.recipe === some[0].case.recipe && slug(size(step)) === slug(size(some[0]));
    return some.length + (steps.some(one) ? 1 : 0);
  };
  return charts(
    parallel,
    (step) => `training-scaling-${size(step).filter(Boolean).join('-')}`,
    (some) => total(groupBy(some, maker).map(points)),
  );
}

/**
 * @param {Object[]} journals see readJournal
 * @param {Object} data the report's own, with what others reported
 * @returns {Map<string, {marks: number, largest?: number}>} by the chart's id; a mark of a matrix is a
 *     cell and has no largest size
 */
export function expectedCharts(journals, { reported, reported_steps: reportedSteps }) {
  const records = journals.flatMap(({ name, environment, records: some }) => {
    const [{ devices, virtual_time: simulated }] = environment.machines;
    const model = devices[0].model + (simulated ? ' (simulated)' : '');
    return some
      .filter(({ outcome }) => outcome === 'measured')
      .map((record) => ({ ...record, journal: name, model, devices: `${devices.length} x ${model}` }));
  });
  const of = (benchmark) => records.filter((record) => record.benchmark === benchmark);
  const steps = of('train').filter(({ case: c }) => !c.parallel);
  const parallel = of('train').filter(({ case: c }) => c.parallel);
  const all = [
    ...copyCharts(of('copy')),
    ...gridCharts(of('copy')),
    ...collectiveCharts(of('collective')),
    ...fabricCharts(of('fabric')),
    ...overlapCharts(of('overlap')),
    ...layerCharts(of('layer')),
    ...moeCharts(of('moe')),
    ...pairCharts(of('copy')),
    ...gemmCharts(of('gemm'), reported),
    ...rooflineCharts(records),
    ...trainingCharts(steps, of('train_run'), reportedSteps),
    ...scalingCharts(parallel, steps),
    ...(parallel.some(({ curves }) => curves) ? [['training-timeline', 0]] : []),
  ];
  return new Map(
    all
      .filter(([id, marks]) => marks > 0 || WITHOUT_MARKS.some((begin) => id.startsWith(begin)))
      .map(([id, marks]) => [id, { marks, largest: LARGEST[id.split('-')[0]] }]),
  );
}
