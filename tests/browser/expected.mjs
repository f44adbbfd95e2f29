// What charts the page must have for some journals, and how many measured marks each of them: counted
// from the journals themselves.

// Pixels; larger marks are of fits.
const LARGEST = {
  ...{ collective: 8.5, copy: 8.5, fabric: 8.5, grid: 8.5, gemm: 13, overlap: 9.5, roofline: 13 },
  training: 10.5,
};
/** Charts whose marks are no figures of a record: bars, and lines. */
const WITHOUT_MARKS = [
  ...['overlap-timeline', 'training-parts', 'training-memory', 'training-timeline'],
];

function groupBy(list, key) {
  const groups = new Map();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return [...groups];
}

const most = (list, key) => Math.max(...groupBy(list, key).map(([, some]) => some.length));
const slug = (parts) => parts.join('/').replaceAll(/[^\w]+/g, '-');
const hostMemory = (c) =>
  [c.source, c.destination].find((end) => end === 'pinned' || end === 'pageable') ?? '';

/** Curves over two sizes or more, along the path with the most of them. */
function copyCharts(copies) {
  const way = ({ case: c }) =>
    `copy-${[c.kind, c.pattern, Boolean(c.bidirectional), hostMemory(c)].join('-')}`;
  const maker = ({ journal, case: c }) => [journal, c.executor, c.issue, c.grid, c.block].join();
  const path = ({ case: c }) => `${c.source} ${c.destination}`;
  const points = (some) =>
    groupBy(some, maker)
      .map(([, ofOne]) => most(ofOne, path))
      .filter((sizes) => sizes > 1)
      .reduce((sum, sizes) => sum + sizes, 0);
  return groupBy(copies, way).map(([id, some]) => [id, points(some)]);
}

function gridCharts(copies) {
  const parts = ({ journal, device, case: c }) =>
    `grid-${slug([journal, device, c.kind, c.executor, c.issue, c.pattern, Boolean(c.bidirectional), c.bytes])}`;
  return groupBy(
    copies.filter(({ case: c }) => c.grid > 0),
    parts,
  ).map(([id, some]) => [id, some.length]);
}

function pairCharts(copies) {
  const pairs = copies.filter(({ case: c }) => c.kind === 'peer' && c.pattern === 'pair');
  const key = ({ journal, device, engine, case: c }) =>
    `pairs-${slug([journal, device, engine, c.executor, c.issue, Boolean(c.bidirectional)])}`;
  const distinct = (some) =>
    new Set(some.map(({ case: c }) => `${c.source} ${c.destination}`)).size;
  const cells = (some) =>
    Math.max(...groupBy(some, ({ case: c }) => c.bytes).map(([, ofSize]) => distinct(ofSize)));
  return groupBy(pairs, key)
    .map(([id, some]) => [id, cells(some)])
    .filter(([, count]) => count >= 3);
}

/** The row of the best figures has a mark more for each journal and engine. */
function gemmCharts(gemms, reported) {
  const key = ({ device, case: c }) =>
    `gemm-${[c.dtype, c.layout, c.output, device === 'host' ? 'CPU' : ''].join('-')}`;
  return groupBy(gemms, key).map(([id, some]) => {
    const [{ device, case: c }] = some;
    const withBest = reported.some((one) => one.dtype === c.dtype && !one.m);
    const best = withBest && c.layout === 'nn' && device !== 'host';
    const series = groupBy(some, ({ journal, engine }) => `${journal} ${engine}`).length;
    return [id, some.length + (best ? series : 0)];
  });
}

/** Curves over two sizes or more, an engine each. */
function collectiveCharts(collectives) {
  const call = ({ case: c }) =>
    `collective-${[c.collective, c.type, c.op, c.root, c.layout, c.in_place ? 'in-place' : 'out-of-place'].filter((part) => part !== undefined).join('-')}`;
  const maker = ({ journal, engine, case: c }) => [journal, engine, c.ranks, c.packet].join();
  const points = (some) =>
    groupBy(some, maker)
      .map(([, ofOne]) => ofOne.length)
      .filter((sizes) => sizes > 1)
      .reduce((sum, sizes) => sum + sizes, 0);
  return groupBy(collectives, call).map(([id, some]) => [id, points(some)]);
}

/** Curves over two sizes or more, one for each window. */
function fabricCharts(messages) {
  const chart = ({ case: c }) =>
    `fabric-${slug([c.operation, c.bidirectional ? 'two-way' : 'one-way', c.memory, c.memory_path, c.provider])}`;
  const points = (some) =>
    groupBy(some, ({ journal, case: c }) => `${journal} ${c.window}`)
      .map(([, ofOne]) => ofOne.length)
      .filter((sizes) => sizes > 1)
      .reduce((sum, sizes) => sum + sizes, 0);
  return groupBy(messages, chart).map(([id, some]) => [id, points(some)]);
}

/** A mark for each policy and scenario that has a fraction of ideal; a sweep is one policy. */
function overlapCharts(overlaps) {
  const chart = ({ journal, device, case: c }) =>
    `overlap-${slug([journal, device, c.ranks, c.collective])}`;
  const policy = ({ case: c }) => `${c.scenario} ${c.policy.split(':')[0]}`;
  const drawn = overlaps.filter(({ metrics }) => metrics.fraction_of_ideal !== undefined);
  const bars = groupBy(drawn, chart).map(([id, some]) => [id, groupBy(some, policy).length]);
  const timelines = groupBy(
    overlaps,
    ({ journal, device, case: c }) => `overlap-timeline-${slug([journal, device, c.ranks])}`,
  );
  return [...bars, ...timelines.map(([id]) => [id, 0])];
}

function rooflineCharts(records) {
  const placed = records.filter(
    ({ cost, rates, case: c }) => cost?.memory_bytes > 0 && rates.tflops > 0 && !c.parallel,
  );
  return groupBy(placed, ({ model }) => `roofline-${slug([model])}`).map(([id, some]) => [
    id,
    some.length,
  ]);
}

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
  const cpu = ({ device }) => (device === 'host' ? '-cpu' : '');
  const byModel = (name, some) =>
    groupBy(some, cpu).map(([end, own]) => [`training-${name}${end}`, own]);
  const throughput = byModel('throughput', steps).map(([id, own]) => [
    id,
    drawnSteps(own, reported).length,
  ]);
  const having = (name) => steps.filter(({ metrics }) => metrics?.[name] > 0);
  const bars = [
    ...byModel('parts', having('gemm_seconds')),
    ...byModel('memory', having('parameters_bytes')),
  ].map(([id]) => [id, 0]);
  const batches = groupBy(steps, ({ case: c }) =>
    slug(['training-batches', c.model, c.layers, c.sequence].filter(Boolean)).replaceAll('/', '-'),
  ).map(([id, some]) => {
    const maker = ({ journal, engine, case: c }) => [journal, engine, c.recipe].join();
    const curves = groupBy(some, maker);
    const points = curves.map(([, own]) => own.length).filter((length) => length > 1);
    return [id, points.reduce((sum, length) => sum + length, 0)];
  });
  const evaluations = (some) =>
    some.reduce((sum, { curves }) => sum + curves.evaluation_step.length, 0);
  const losses = groupBy(runs, ({ case: c }) => `training-losses-${slug([c.data])}`);
  return [
    ...throughput,
    ...bars,
    ...batches,
    ...losses.map(([id, some]) => [id, evaluations(some)]),
  ];
}

/** Curves over the number of devices, which begin at the same program's step of one device. */
function scalingCharts(parallel, steps) {
  const size = ({ case: c }) => [c.model, c.layers, c.parameters, c.batch, c.sequence];
  const maker = ({ engine, case: c }) => [engine, c.parallel, c.late_sums, c.recipe].join();
  const isTorch = ({ engine }) => engine.startsWith('torch-');
  const points = (some) => {
    const one = (step) =>
      isTorch(step) === isTorch(some[0]) &&
      step.case.recipe === some[0].case.recipe && slug(size(step)) === slug(size(some[0]));
    return some.length + (steps.some(one) ? 1 : 0);
  };
  return groupBy(
    parallel,
    (step) => `training-scaling-${size(step).filter(Boolean).join('-')}`,
  ).map(([id, some]) => [
    id,
    groupBy(some, maker).reduce((sum, [, ofOne]) => sum + points(ofOne), 0),
  ]);
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
      .map((record) => ({ ...record, journal: name, model }));
  });
  const of = (benchmark) => records.filter((record) => record.benchmark === benchmark);
  const steps = of('train').filter(({ case: c }) => !c.parallel);
  const parallel = of('train').filter(({ case: c }) => c.parallel);
  const charts = [
    ...copyCharts(of('copy')),
    ...gridCharts(of('copy')),
    ...collectiveCharts(of('collective')),
    ...fabricCharts(of('fabric')),
    ...overlapCharts(of('overlap')),
    ...pairCharts(of('copy')),
    ...gemmCharts(of('gemm'), reported),
    ...rooflineCharts(records),
    ...trainingCharts(steps, of('train_run'), reportedSteps),
    ...scalingCharts(parallel, steps),
    ...(parallel.some(({ curves }) => curves) ? [['training-timeline', 0]] : []),
  ];
  return new Map(
    charts
      .filter(([id, marks]) => marks > 0 || WITHOUT_MARKS.some((begin) => id.startsWith(begin)))
      .map(([id, marks]) => [id, { marks, largest: LARGEST[id.split('-')[0]] }]),
  );
}
