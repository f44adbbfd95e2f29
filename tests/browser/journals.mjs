// Journals for the tests of the report: runs of simulated machines, one of a CPU, and doctored ones:
// with a bad link, a wrong case, a failed one, curves without lines, words that would do harm if
// they were taken for markup; and with a figure that is too good to be true.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const HOSTILE = '</script><img src=x onerror="document.title=\'broken\'">{b|x}';
export const FORMULA = '=HYPERLINK("x")';
export const NO_FIT = 'a line misses a size by 31%';
export const BAD = { from: '0', to: '3', share: 0.62 };

const COPY = ['copy', '--device', 'sim:h200-4', '--sizes', '64K,1M,16M,256M', '--pattern', 'pair'];
const GEMM = ['gemm', '--set', 'seed', '--dtype', 'bf16', '--device'];
const ONE_PAIR = ['--kind', 'peer', '--one-way', '--pairs', '0-1', '--matrix', '0'];
const GRID = [
  ...['copy', '--device', 'sim:h200-4', ...ONE_PAIR, '--pattern', 'pair', '--executor', 'kernel'],
  ...['--sizes', '16M', '--grid', '4,16,64', '--block', '256,512'],
];
const COLLECTIVE = [
  ...['collective', 'all_gather,all_reduce,send_recv', '--device', 'host:2', '--seconds', '0.02'],
  ...['--engine', 'host', '-b', '4K', '-e', '256K', '-f', '4'],
];
const OVERLAP = [
  ...['overlap', 'training', '--device', 'sim:mi300x-8', '--iterations', '3'],
  ...['--policy', 'serial,base,priority,dma,zero-cta'],
];
const STEPS = ['train', 'gpt', '--device', 'sim:h200:devices=1', '--recipe', 'amp,bf16'];
const MODELS = ['--model', 'small,medium,1.5b', '--breakdown'];
const BATCHES = ['--model', 'small', '--batch', '1,2,8'];
const MLP = ['train', 'mlp', '--device', 'sim:h200:devices=1', '--recipe', 'bf16', '--breakdown'];
const ONE_DEVICE = [...STEPS.slice(0, -1), 'bf16', '--model', '7b'];
const PARALLEL = [
  ...['train', 'gpt', '--device', 'sim:h200:devices=2,sim:h200:devices=8', '--recipe', 'bf16'],
  ...['--model', '7b,13b', '--batch', '8', '--parallel', 'ddp', '--engine', 'none,dma'],
];
const SHARDED = [
  ...PARALLEL.slice(0, PARALLEL.indexOf('--model')),
  ...['--model', '7b', '--batch', '8', '--parallel', 'zero3', '--engine', 'dma', '--breakdown'],
];
const LATE = [...SHARDED, '--late-sums'];
const HALO = [
  ...['halo', '--device', 'sim:h200-4', '--nx', '2048,16384', '--scaling', 'strong,weak'],
  ...['--engine', 'dma,kernel', '--iterations', '3'],
];
const NORMS = [
  ...['halo', '--device', 'sim:h200-4', '--nx', '16384', '--scaling', 'strong', '--engine', 'dma'],
  ...['--norm', 'host,delayed', '--iterations', '3'],
];
const OVER_NODES = [
  ...['collective', 'all_gather', '-b', '64M', '-e', '256M', '-f', '4', '--in-place', 'out', '--engine'],
  ...['dma,vendor-model', '-n', '1', '-w', '0', '--device'],
  [2, 4].map((nodes) => `sim:p5-48xlarge:nodes=${nodes}`).join(','),
];
const LAYERS = [
  ...['layer', 'gather-gemm', '--device', 'sim:h200:devices=2', '--tokens', '2048,8192'],
  ...['--engine', 'none,vendor-model,pieces', '--ranges', '1', '--streams', '1,2'],
  ...['--iterations', '2', '--warm-up', '0', '--tuning-seconds', '0.01'],
];
const EXPERTS = [
  ...['moe', '--device', 'sim:h200:devices=2', '--hidden', '512', '--width', '256', '--experts', '16'],
  ...['--top-k', '2', '--tokens', '64', '--shared-experts', '1', '--engine', 'none,dma'],
  ...['--exchange', 'per-rank', '--overlap', 'none,halves', '--iterations', '2', '--warm-up', '0'],
];
/** An engine of PyTorch that adds more than the axis has, and an engine without a timeline. */
export const LAYER = {
  torch: { engine: 'torch-fused', m: 2048, added: 250 },
  untimed: { engine: 'vendor-model', m: 8192 },
};
/** Of runs on a text of their own. */
export const RUN = { data: 'text', steps: 12, evaluateEvery: 4, seeds: [1, 2] };
const TINY = `[[model]]
name = "tiny"
layers = 1
heads = 2
width = 16
ffn_width = 24
vocabulary = 300
batch = 2
sequence = 8
`;
/** TFLOP/s and memory of an engine that tells no parts. */
export const OTHER = { engine: 'other', share: 0.8, memory: 5e9 };
/** PyTorch's steps of one device and of several, in parts of Duet's rate. */
export const TORCH = {
  one: { engine: 'torch-graph', share: 0.8 },
  several: { engine: 'torch-compile-blocks', share: 0.7 },
};
const inTree = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const result = (path) => inTree(`docs/results/${path}.jsonl`);
const CPU = result('epyc-2-cores/gemm-1');
const H200 = result('h200-4/overlap/paper');
const ISOLATED = result('h200-4/overlap/isolated');
const SWEEP = result('h200-4/overlap/sweep');
const H200_LAYERS = ['layers', 'layers-torch', 'layers-captured'].map((name) =>
  result(`h200-2/layers/${name}`),
);
const FABRIC = result('h200-2/fabric/memory-shm-ipc');
/** TFLOP/s that no MI300X can reach in bf16, of the shape of `HIGH.k` */
export const HIGH = { tflops: 1500, k: 8192 };

const call = (duet, words) =>
  execFileSync(duet, words, { stdio: ['ignore', 'ignore', 'inherit'] });

function run(duet, words, file) {
  call(duet, [...words, '--quiet', '--json', file]);
  return file;
}

/** Output of another tool (tests/importing) as a journal. */
function imported(duet, name, journal) {
  call(duet, ['import', inTree(`tests/importing/${name}`), '--out', journal]);
  return journal;
}

const parse = (text) => text.trimEnd().split('\n').map((line) => JSON.parse(line));
const format = (records) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** A journal as the tests hold the page against it. @returns {{name, environment, records}} */
export function readJournal(file) {
  const [environment, ...records] = parse(readFileSync(file, 'utf8'));
  return { name: basename(file), environment, records };
}

/** Runs that differ in their seed, one journal each. */
function trainingRuns(duet, folder) {
  const file = (name) => join(folder, name);
  const { data, steps, evaluateEvery, seeds } = RUN;
  writeFileSync(file('tiny.toml'), TINY);
  writeFileSync(file(data), 'as it was said, so it was done. '.repeat(40));
  return seeds.map((seed) => {
    const words = ['train', 'gpt', '--model', file('tiny.toml'), '--data', file(data)];
    const run_ = ['--steps', steps, '--evaluate-every', evaluateEvery, '--seed', seed];
    return run(duet, [...words, ...run_.map(String)], file(`run-${seed}.jsonl`));
  });
}

/** The last step's record again, as another engine's that has no parts and tells only all memory. */
function withOtherEngine(text) {
  const records = parse(text);
  const copy = slower(structuredClone(records.at(-1)), OTHER.share);
  Object.assign(copy, { engine: OTHER.engine, metrics: {} });
  copy.rates.memory_bytes = OTHER.memory;
  return format([...records, copy]);
}

/** A journal in which PyTorch has made a step too: the one whose record has these axes. */
function withTorch(text, axes, { engine, share }) {
  const records = parse(text);
  const like = records.find(
    ({ benchmark, engine: by, case: c }) =>
      benchmark === 'train' &&
      by !== 'none' &&
      Object.entries(axes).every(([name, value]) => c[name] === value),
  );
  return format([...records, { ...slower(structuredClone(like), share), engine, metrics: {} }]);
}

/** A record whose times are longer and whose rates are lower, in the same proportion. */
function slower(record, share) {
  for (const name of Object.keys(record.seconds)) {
    if (typeof record.seconds[name] === 'number' && name !== 'n') record.seconds[name] /= share;
  }
  for (const name of Object.keys(record.rates)) record.rates[name] *= share;
  record.samples = record.samples.map((seconds) => seconds / share);
  return record;
}

function broken({ type, schema, benchmark, device, engine, case: axes }, outcome, reason) {
  const which = { type, schema, benchmark, device, engine, case: axes };
  return { ...which, outcome, failed: { reason }, notes: {}, warnings: [] };
}

function doctor(text) {
  const records = parse(text);
  const at = (size, from, to) =>
    records.findIndex(
      ({ case: c }) =>
        c?.bytes === size &&
        c.executor === 'dma' &&
        c.issue === 'push' &&
        !c.bidirectional &&
        c.source.endsWith(from) &&
        c.destination.endsWith(to),
    );
  const bad = at(256 * 2 ** 20, `:${BAD.from}`, `:${BAD.to}`);
  records[bad] = slower(records[bad], BAD.share);
  const wrong = at(2 ** 20, ':0', ':1');
  records[wrong] = broken(records[wrong], 'wrong', `byte 17 differs ${HOSTILE}`);
  const failed = at(64 * 2 ** 10, ':0', ':1');
  records[failed] = broken(records[failed], 'failed', 'the device is gone');
  records.find(({ case: c }) => c?.kind === 'local').notes = { algorithm: FORMULA };
  for (const record of records.filter(({ benchmark }) => benchmark === 'copy_curve'))
    Object.assign(record, { rates: {}, notes: { no_fit: NO_FIT } });
  const { machines, run: one } = records[0];
  for (const device of machines[0].devices) device.model = HOSTILE;
  one.variables = { HOSTILE };
  return format(records);
}

/** The size from which on the second engine of the collectives is the faster one. */
export const CROSSOVER = 64 * 1024;

/** A second engine beside the first, slower than it and from CROSSOVER on faster. */
function withSecondEngine(text) {
  const [environment, ...records] = parse(text);
  const measured = records.filter(({ benchmark }) => benchmark === 'collective');
  for (const { seconds } of measured) {
    Object.assign(seconds, { ci_low: seconds.median, ci_high: seconds.median });
  }
  const second = measured.map((record) => {
    const share = record.case.bytes < CROSSOVER ? 0.5 : 2;
    return { ...slower(structuredClone(record), share), engine: 'second' };
  });
  return format([environment, ...measured, ...second]);
}

/** What the doctored journal of overlap has in which place, by its scenario's. */
export const OVERLAPS = {
  ...{ withoutFraction: 0, withoutTimeline: 1, swept: 2, points: [8, 16] },
  far: { place: 3, policy: 'serial', fraction: -41.5 },
};

/** Points of a sweep, made of the policy priority, the last of them the fastest. */
function sweep(record, units, place) {
  const copy = slower(structuredClone(record), 1 + 0.01 * place);
  copy.case.policy = `partition:${units}`;
  for (const name of ['speedup', 'bound']) copy.metrics[name] *= 1 + 0.01 * place;
  copy.metrics.fraction_of_ideal += 0.01 * place;
  return copy;
}

/** Overlap with a sweep, and without some of what a record may have. */
function doctorOverlap(text) {
  const [environment, ...records] = parse(text);
  const scenarios = [...new Set(records.map(({ case: c }) => c.scenario))];
  const of = (place, policy) =>
    records.find(({ case: c }) => c.scenario === scenarios[place] && c.policy === policy);
  const { swept, points, withoutFraction, withoutTimeline, far } = OVERLAPS;
  const base = of(swept, 'priority');
  const sweeps = points.map((units, i) => sweep(base, units, i + 1));
  delete of(withoutFraction, 'dma').metrics.fraction_of_ideal;
  of(far.place, far.policy).metrics.fraction_of_ideal = far.fraction;
  delete of(withoutTimeline, 'dma').timeline;
  of(withoutTimeline, 'dma').notes.timeline_us = '0-1, soon';
  return format([environment, ...records, ...sweeps]);
}

/** Layers with PyTorch's, and without the timelines of an engine. */
function doctorLayers(text) {
  const records = parse(text);
  const { torch, untimed } = LAYER;
  const of = (m) => records.filter(({ engine, case: c }) => engine === untimed.engine && c.m === m);
  const copies = structuredClone(of(torch.m));
  for (const { metrics } of copies) metrics.added_percent = torch.added;
  for (const record of of(untimed.m)) delete record.curves;
  return format([...records, ...copies.map((record) => ({ ...record, engine: torch.engine }))]);
}

/** The last record of a text, with a rate above the device's peak. */
function exaggerate(text) {
  const records = parse(text);
  const record = [...records].reverse().find(({ case: c }) => c?.k === HIGH.k);
  slower(record, HIGH.tflops / record.rates.tflops);
  return format(records);
}

/**
 * @returns {{good: string[], bad: string[], many: string[], overlap: string[], training: string[]}} files,
 *     most of them in `folder`
 */
export function makeJournals(duet, folder) {
  const file = (name) => join(folder, `${name}.jsonl`);
  /** Runs a command, and changes the text of its journal. */
  const made = (name, words, change = null, ...how) => {
    const journal = run(duet, words, file(name));
    if (change) writeFileSync(journal, change(readFileSync(journal, 'utf8'), ...how));
    return journal;
  };
  const copy = made('copy', COPY);
  const gemm = made('gemm', [...GEMM, 'sim:h200-4']);
  const other = made('other', [...GEMM, 'sim:mi300x-8'], exaggerate);
  const grid = made('grid', GRID);
  const collective = made('collective', COLLECTIVE, withSecondEngine);
  const bad = file('doctored');
  writeFileSync(bad, doctor(readFileSync(copy, 'utf8')));
  const overlap = made('overlap', OVERLAP, doctorOverlap);
  const steps = made('steps', [...STEPS, ...MODELS], withOtherEngine);
  const batches = made('batches', [...STEPS, ...BATCHES]);
  const mlp = made('mlp', MLP);
  const one = made('one-device', ONE_DEVICE, withTorch, { model: '7b' }, TORCH.one);
  const several = { model: '7b', ranks: 8 };
  const parallel = made('parallel', PARALLEL, withTorch, several, TORCH.several);
  const sharded = made('sharded', SHARDED);
  const late = made('late', LATE);
  return {
    good: [copy, gemm],
    bad: [bad],
    many: [gemm, other, CPU, grid, collective, FABRIC],
    overlap: [overlap, H200],
    isolated: [ISOLATED, SWEEP],
    layers: [made('layers-sim', LAYERS, doctorLayers), ...H200_LAYERS, made('experts-sim', EXPERTS)],
    imported: ['nvbandwidth.txt', 'all_reduce.txt', 'transferbench.csv'].map((name) =>
      imported(duet, name, file(name)),
    ),
    halo: [made('halo', HALO), made('nodes', OVER_NODES), made('norms', NORMS)],
    training: [steps, batches, mlp, one, parallel, sharded, late, ...trainingRuns(duet, folder)],
  };
}

/**
 * Runs of a journal over time: on the host `old` every day in the same time, the last time with one
 * copy slower; on `new` once.
 */
export const HISTORY = {
  ...{ days: ['2026-03-01', '2026-03-02', '2026-03-03'], share: 0.8, bytes: 256 * 2 ** 20 },
  hosts: ['old', 'new'],
};

/** @returns {string|null} a store of a copies' journal's runs; null where there is no SQLite */
export function makeStore(duet, journal, folder) {
  const { days, share, bytes, hosts } = HISTORY;
  const runs = [...days.map((day) => [hosts[0], day]), [hosts[1], days[1]]].map(([host, day], i) => {
    const records = parse(readFileSync(journal, 'utf8'));
    Object.assign(records[0].run, { time_utc: `${day}T02:00:00Z`, host: { name: host } });
    if (i === days.length - 1) {
      const at = records.findIndex(({ case: c }) => c?.bytes === bytes && c.kind === 'peer');
      records[at] = slower(records[at], share);
    }
    const file = join(folder, `history-${i}.jsonl`);
    writeFileSync(file, format(records));
    return file;
  });
  const store = join(folder, 'runs.sqlite');
  try {
    execFileSync(duet, ['history', ...runs, '--store', store], { stdio: 'pipe' });
  } catch (error) {
    if (/needs SQLite/.test(error.stderr)) return null;
    throw error;
  }
  return store;
}

export const FLEET = { nodes: 6, slow: 'node4', from: 'sim:h200-4:1', to: 'sim:h200-4:3', share: 0.8 };

/** The page of a fleet of nodes that ran one journal, with a slow link on one. @returns {string} its file */
export function makeFleet(duet, journal, folder) {
  const { nodes, slow, from, to, share } = FLEET;
  const paths = Array.from({ length: nodes }, (_, i) => {
    const records = parse(readFileSync(journal, 'utf8'));
    const name = `node${i}`;
    Object.assign(records[0].run, { host: { name } });
    const isLink = ({ case: c }) => [c?.source, c?.destination].sort().join() === `${from},${to}`;
    const file = join(folder, `fleet-${i}.jsonl`);
    writeFileSync(file, format(records.map((one) => (name === slow && isLink(one) ? slower(one, share) : one))));
    return file;
  });
  const page = join(folder, 'fleet.html');
  const { status, stderr } = spawnSync(duet, ['fleet', ...paths, '--report', page], { encoding: 'utf8' });
  if (status !== 1) throw new Error(`duet fleet: exit ${status}, expected 1: ${stderr}`);
  return page;
}

/** The report of journals, as `duet report` makes it. @returns {string} its file */
export function makeReport(duet, journals, file, more = []) {
  call(duet, ['report', ...journals, ...more, '--output', file]);
  return file;
}
