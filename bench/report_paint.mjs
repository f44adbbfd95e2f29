// How soon a report can be read and used: first contentful paint, the time until all of it is there,
// the longest task and the time that a filter takes, with 5,000 records in a headless browser.
// Run as: node report_paint.mjs DUET_BINARY NODE_MODULES_DIR
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findBrowser, launch, openReport } from '../tests/browser/browser.mjs';
import { makeReport } from '../tests/browser/journals.mjs';

const RECORDS = 5000;
const ROUNDS = 5;

/** A journal of RECORDS results: those of a simulated machine, again and again at other sizes. */
function bigJournal(duet, folder) {
  const small = join(folder, 'small.jsonl');
  const words = ['copy', '--device', 'sim:h200-8', '--sizes', '16M', '--quiet', '--json', small];
  execFileSync(duet, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [environment, ...results] = readFileSync(small, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const measured = results.filter(
    ({ benchmark, outcome }) => benchmark === 'copy' && outcome === 'measured',
  );
  const lines = [environment];
  for (let i = 0; i < RECORDS; i += 1) {
    const record = measured[i % measured.length];
    lines.push({
      ...record,
      case: { ...record.case, bytes: 4096 * 2 ** Math.floor(i / measured.length) },
    });
  }
  const big = join(folder, 'big.jsonl');
  writeFileSync(big, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return big;
}

/** In the page: milliseconds since navigation began. */
function watch() {
  globalThis.told = { longest: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      globalThis.told.longest = Math.max(globalThis.told.longest, duration);
  }).observe({ entryTypes: ['longtask'] });
  new MutationObserver(() => {
    if (document.documentElement?.dataset.ready) globalThis.told.ready ??= performance.now();
  }).observe(document, { subtree: true, attributes: true });
}

async function filterTime(page) {
  return page.evaluate(() => {
    const field = document.querySelector('input[type=search]');
    const start = performance.now();
    field.value = 'pull';
    field.dispatchEvent(new Event('input'));
    document.body.getBoundingClientRect();
    return performance.now() - start;
  });
}

const [duet, nodeModules] = process.argv.slice(2);
const path = findBrowser();
if (!duet || !nodeModules || !path) {
  console.error('usage: node report_paint.mjs DUET_BINARY NODE_MODULES_DIR, with chromium on PATH');
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'duet-paint-'));
const file = makeReport(
  resolve(duet),
  [bigJournal(resolve(duet), folder)],
  join(folder, 'big.html'),
);
console.log(`${RECORDS} records, ${(statSync(file).size / 1e6).toFixed(1)} MB; milliseconds:`);
console.log('first paint  all there  longest task  filter');
for (let round = 0; round < ROUNDS; round += 1) {
  const browser = await launch(nodeModules, path);
  const { page } = await openReport(browser, file, {}, watch);
  const paint = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
  );
  const { ready, longest } = await page.evaluate(() => globalThis.told);
  const times = [paint, ready, longest, await filterTime(page)];
  console.log(times.map((time, i) => time.toFixed(0).padStart([11, 11, 14, 8][i])).join(''));
  await browser.close();
}
rmSync(folder, { recursive: true });
