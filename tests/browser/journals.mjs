// Journals for the tests of the report: runs of simulated machines, and one of them doctored, with a
// bad link, a wrong case, a failed one, and words that would do harm if they were taken for markup.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const HOSTILE = '</script><img src=x onerror="document.title=\'broken\'">{b|x}';
export const FORMULA = '=HYPERLINK("x")';
export const BAD = { from: '0', to: '3', share: 0.62 };

const COPY = ['copy', '--device', 'sim:h200-4', '--sizes', '64K,1M,16M,256M', '--pattern', 'pair'];
const GEMM = ['gemm', '--device', 'sim:h200-4', '--set', 'seed', '--dtype', 'bf16'];

function run(duet, words, file) {
  execFileSync(duet, [...words, '--quiet', '--json', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
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

function broken(record, outcome, reason) {
  const { type, schema, benchmark, device, engine, case: axes } = record;
  return {
    type,
    schema,
    benchmark,
    device,
    engine,
    case: axes,
    outcome,
    failed: { reason },
    notes: {},
    warnings: [],
  };
}

function doctor(text) {
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
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
  const { machines, run: one } = records[0];
  for (const device of machines[0].devices) device.model = HOSTILE;
  one.variables = { HOSTILE };
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** @returns {{good: string[], bad: string}} files in `folder` */
export function makeJournals(duet, folder) {
  const copy = run(duet, COPY, join(folder, 'copy.jsonl'));
  const gemm = run(duet, GEMM, join(folder, 'gemm.jsonl'));
  const bad = join(folder, 'doctored.jsonl');
  writeFileSync(bad, doctor(readFileSync(copy, 'utf8')));
  return { good: [copy, gemm], bad };
}

/** The report of journals, as `duet report` makes it. @returns {string} its file */
export function makeReport(duet, journals, file) {
  execFileSync(duet, ['report', ...journals, '--output', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}
