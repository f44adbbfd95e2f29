// Checks of what needs no browser: numbers as texts, and who is the fastest.
import assert from 'node:assert/strict';
import {
  bytes,
  caseText,
  fittedBytes,
  namedRate,
  plain,
  seconds,
  wayText,
} from '../../src/report/web/format.js';
import { panels as studyPanels } from '../../src/report/web/charts/overlap_study.js';
import { fastestRanges } from '../../src/report/web/plot/fastest.js';
import { conclusions } from '../../src/report/web/plot/halo_series.js';
import { scaleChoice, scaleOf } from '../../src/report/web/plot/scales.js';
import { scalingGroups } from '../../src/report/web/plot/scaling_series.js';
import { COUNTS, tflopsBy } from '../../src/report/web/plot/training_series.js';

/** As format_bytes and format_seconds of src/core/units.cc have them. */
function unitsAreTheConsoles() {
  for (const [value, text] of [
    [65536, '64 KiB'],
    [1572864, '1536 KiB'],
    [2101346304, '2004 MiB'],
    [13 * 2 ** 30, '13 GiB'],
    [4294967300, '4 GiB'], // nine digits of a journal's rate
    [1000, '1000 B'],
    [1048577, '1048577 B'],
    [0, '–'],
  ])
    assert.equal(bytes(value), text);
  assert.equal(fittedBytes(410009.6), '400.4 KiB');
  assert.equal(fittedBytes(65536), '64 KiB');
  for (const [value, text] of [
    [1.5, '1.500 s'],
    [0.0054271, '5.427 ms'],
    [0.00040389, '403.89 us'],
    [9.51e-6, '9.51 us'],
    [2.5e-8, '25.0 ns'],
  ])
    assert.equal(seconds(value), text);
  for (const [value, text] of [
    [450, '450'],
    [989.4, '989.4'],
    [200000, '200,000'],
    [NaN, '–'],
  ])
    assert.equal(plain(value), text);
}

/** A curve of medians in us by size, each 1% wide on either side. */
const curve = (name, times) => ({
  name,
  points: Object.entries(times).map(([size, us]) => ({
    case: { bytes: Number(size) },
    seconds: { median: us, ci_low: 0.99 * us, ci_high: 1.01 * us },
  })),
});

const ranges = (...curves) =>
  fastestRanges(curves).map(({ curve: one, from, to }) => `${one.name} ${from}-${to}`);

function theFastestOfAllIsMarked() {
  const kernel = curve('kernel', { 1: 10, 2: 12, 4: 30, 8: 60 });
  const dma = curve('dma', { 1: 20, 2: 20, 4: 20, 8: 40 });
  const slow = curve('slow', { 1: 90, 2: 90, 4: 90, 8: 90 });
  assert.deepEqual(ranges(kernel, dma, slow), ['kernel 1-2', 'dma 4-8']);
  // What is within the noise is no change: one engine that is as fast as any goes on.
  const both = curve('auto', { 1: 10.1, 2: 12.1, 4: 20.1, 8: 40.2 });
  assert.deepEqual(ranges(kernel, dma, both), ['auto 1-8']);
  assert.deepEqual(ranges(kernel), []);
  assert.deepEqual(ranges(kernel, curve('other', { 16: 1 })), []);
}

function messagesHaveWords() {
  const message = { operation: 'write', memory: 'host', provider: 'shm', nodes: 2, rails: 1 };
  const rest = { bytes: 65536, window: 8, messages: 9, chunk: 1048576, mode: 'single' };
  assert.equal(
    caseText({ benchmark: 'fabric', case: { ...message, ...rest, bidirectional: false } }),
    'write, 64 KiB, host memory, shm, 1 rail, window 8',
  );
}

function groupsHaveWords() {
  const groups = { groups: 32, rows_per_group: 128, routing: 'zipf:1.2', n: 4096, k: 7168 };
  const types = { dtype: 'bf16', output: 'bf16', layout: 'nn' };
  assert.equal(
    caseText({ benchmark: 'gemm_grouped', case: { ...groups, ...types } }),
    '32 groups of 128 rows (zipf:1.2) x 4096 x 7168, bf16 nn',
  );
  const expert = { model: 'deepseek-v3', part: 'gate_up' };
  assert.equal(
    caseText({ benchmark: 'gemm_grouped', case: { ...expert, ...groups, ...types } }),
    'deepseek-v3 gate up, 32 groups of 128 rows (zipf:1.2) x 4096 x 7168, bf16 nn',
  );
}

function trainingHasWords() {
  const step = { model: 'small', recipe: 'amp', batch: 32, sequence: 512, layers: 6 };
  assert.equal(
    caseText({ benchmark: 'train', case: { ...step, parameters: 30122112 } }),
    'small amp, 32 x 512, 6 layers',
  );
  const run = { optimizer: 'sgd', data: 'text', steps: 100, seed: 1, accumulate: 2 };
  assert.equal(
    caseText({ benchmark: 'train_run', case: { ...step, ...run } }),
    'small amp, 32 x 512, 2 batches a step, 6 layers, sgd, on text, 100 steps, seed 1',
  );
  assert.equal(
    caseText({ benchmark: 'train_communication', case: { ...step, parallel: 'ddp', ranks: 8 } }),
    'small amp, 32 x 512, 6 layers, ddp on 8 devices',
  );
  const sharded = { ...step, recompute: 'block', parallel: 'zero3', ranks: 2 };
  assert.equal(
    caseText({ benchmark: 'train', case: { ...sharded, keep_gathered: 'yes', late_sums: 'yes' } }),
    'small amp, 32 x 512, 6 layers, recompute block, zero3 keep-gathered late-sums on 2 devices',
  );
  assert.equal(wayText({ parallel: 'ddp', bucket: 104857600 }), 'ddp buckets of 100 MiB');
  assert.equal(namedRate('communication_seconds', 0.0352759), 'communication 35.276 ms');
  assert.equal(namedRate('hidden_percent', 76.71), 'hidden 76.7%');
  assert.equal(namedRate('hidden_percent', -1.6e-6), 'hidden 0.0%');
}

/** What a study states by 6N, a record without that rate, and a model without attention. */
function flopAreCounted() {
  const [sixN, withAttention] = COUNTS;
  const small = { case: { sequence: 512, parameters: 30122112 } };
  const rates = { tokens_per_s: 950586 };
  assert.equal(tflopsBy({ ...small, rates }, sixN).toFixed(1), '171.8');
  assert.equal(tflopsBy({ ...small, rates }, withAttention), undefined);
  const mlp = { case: { parameters: 1e6 }, rates: { samples_per_s: 1e6 } };
  assert.equal(tflopsBy(mlp, withAttention), 6);
}

/** Steps that communicate in different ways are different curves, also of one journal. */
function curvesAreTold() {
  const place = { kind: 'cuda', model: 'GPU', count: 2, units: 132, journal: { name: 'a.jsonl' } };
  const size = { model: '7b', recipe: 'bf16', batch: 8, sequence: 1024, layers: 32 };
  const records = [{}, { keep_gathered: 'yes' }, { late_sums: 'yes' }].map((way) => ({
    ...{ benchmark: 'train', engine: 'dma', outcome: 'measured', place, device: 'cuda' },
    case: { ...size, parameters: 5243744256, parallel: 'zero3', ranks: 2, ...way },
    rates: { tokens_per_s: 38000 },
    seconds: { median: 0.4 },
  }));
  const [{ curves }] = scalingGroups({ records, data: {} });
  assert.deepEqual(
    curves.map(({ name }) => name),
    ['dma zero3 bf16', 'dma zero3 keep-gathered bf16', 'dma zero3 late-sums bf16'],
  );
}

/** Which curve is the best at the last place, and which cannot be told apart. */
function coincidencesAreTold() {
  const curve = (name, ...rates) => ({ name, points: rates.map((rate, x) => ({ x, rate })) });
  const what = { xOf: ({ x }) => x, rateOf: ({ rate }) => rate, lower: false, at: (x) => `At ${x}` };
  const curves = [curve('a', 10, 20), curve('b', 10.1, 20.3), curve('c', 9, 10), curve('d', 5, 20.2)];
  assert.deepEqual(conclusions(curves, what), [
    'At 1 b, d and a are equally fast; c takes 2.03 times as long.',
    'a and b coincide: nowhere more than 3.0% apart.',
  ]);
  assert.deepEqual(conclusions(curves.slice(0, 2), { ...what, lower: true }), [
    'At 1 all curves are within 1.5%.',
    'a and b coincide: nowhere more than 3.0% apart.',
  ]);
  assert.deepEqual(conclusions(curves.slice(2, 3), what), []);
}

/** A study's figures stand beside a journal's, under their own names. */
function studiesAreTables() {
  const journal = { name: 'a.jsonl', time: '', environments: [] };
  const place = { journal, device: 'sim', model: 'MI300X', count: 8, simulated: true };
  const row = {
    ...{ name: 'ConCCL_rp', policies: 'dma, and more', scenarios: 12, reported: 0.72, mean: 0.731 },
    ...{ reported_ranges: {}, ranges: { all_gather: [0.5, 0.8] } },
  };
  const ranged = { ...row, name: 'c3_base', reported_ranges: { all_gather: [0.24, 0.46] } };
  const study = { device: 'sim', name: 'ConCCL', source: 'paper', scenarios: 30, rows: [row, ranged] };
  Object.assign(journal, { studies: [study] });
  const [{ table, caption }] = studyPanels({ journals: [journal], places: [place] });
  assert.deepEqual(table.rows, [
    ['ConCCL_rp', 'dma, and more', '0.72', '0.73', '–', '–', '12'],
    ['c3_base', 'dma, and more', '0.72', '0.73', '0.24 to 0.46', '0.50 to 0.80', '12'],
  ]);
  assert.match(caption, /^Simulated\. .*Of fewer than its 30 scenarios/);
}

/** Rates that a logarithmic axis hides are told apart by their ratio. */
function ratiosAreToTheBest() {
  const at = (bytes, rate) => ({ bytes, rate });
  const curves = [{ points: [at(1, 391), at(2, 10)] }, { points: [at(1, 341)] }];
  const what = { xOf: ({ bytes: x }) => x, rateOf: ({ rate }) => rate, name: 'rate', unit: 'GB/s' };
  const [logarithmic, linear, , ratio] = scaleChoice(0).values.map((_, i) => scaleOf(i, curves, what));
  assert.equal(logarithmic.y(1, 100), 2);
  assert.equal(linear.y(1, 341), 341);
  assert.equal(ratio.text(ratio.y(1, 341)), '0.87 of the best');
  assert.equal(ratio.y(2, 10), 1);
  assert.ok(Number.isNaN(ratio.y(3, 10)) && ratio.level === null);
  const time = scaleOf(3, curves, { ...what, lower: true });
  assert.equal(time.text(time.y(1, 391)), '1.15 of the best');
}

export function plainChecks() {
  coincidencesAreTold();
  studiesAreTables();
  ratiosAreToTheBest();
  unitsAreTheConsoles();
  theFastestOfAllIsMarked();
  messagesHaveWords();
  groupsHaveWords();
  trainingHasWords();
  flopAreCounted();
  curvesAreTold();
  console.log('ok: numbers as texts, the fastest of all, cases in words, curves');
}
