// The report in a real browser: what it shows, that it does what its controls say, and that it asks
// nothing of any network.
// Run as: node report_page.mjs DUET_BINARY NODE_MODULES_DIR; exits 77 where there is no browser.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findBrowser, launch, openReport } from './browser.mjs';
import { chartChecks } from './chart_checks.mjs';
import { doctoredChecks, manyChecks } from './doctored_checks.mjs';
import { makeJournals, makeReport, readJournal } from './journals.mjs';
import { overlapChecks } from './overlap_checks.mjs';
import { drawAll } from './page_facts.mjs';
import { textChecks } from './text_checks.mjs';

const [duet, nodeModules] = process.argv.slice(2);
if (!duet || !nodeModules) {
  console.error('usage: node report_page.mjs DUET_BINARY NODE_MODULES_DIR');
  process.exit(2);
}
const path = findBrowser();
if (!path) {
  console.log('skipped: no chromium on PATH, and $CHROMIUM is not set');
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), 'duet-report-'));
const browser = await launch(nodeModules, path);
const axe = readFileSync(
  createRequire(join(resolve(nodeModules), 'noname.js')).resolve('axe-core/axe.min.js'),
  'utf8',
);
const files = makeJournals(resolve(duet), folder);
const reports = Object.fromEntries(
  Object.entries(files).map(([name, journals]) => [
    name,
    {
      file: makeReport(resolve(duet), journals, join(folder, `${name}.html`)),
      journals: journals.map(readJournal),
    },
  ]),
);

/** Runs a check in a fresh page, which must have nothing to complain about. */
async function check(name, { file, journals }, body, options) {
  const { page, complaints } = await openReport(browser, file, options);
  try {
    await body(page, journals);
  } catch (error) {
    error.message = `${name}: ${error.message}`;
    throw error;
  }
  assert.deepEqual(complaints, [], name);
  await page.context().close();
  console.log(`ok: ${name}`);
}

async function accessible(page) {
  await drawAll(page);
  await page.evaluate(() =>
    document.querySelectorAll('details').forEach((details) => {
      details.open = true;
    }),
  );
  await page.addScriptTag({ content: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map(({ html }) => html)
        .join(' | ')}`,
  );
  assert.deepEqual(found, []);
}

async function fitsPhone(page) {
  await drawAll(page);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
}

try {
  for (const [name, checks] of [
    ['good', { ...chartChecks, ...textChecks }],
    ['bad', doctoredChecks],
    ['many', manyChecks],
    ['overlap', overlapChecks],
  ])
    for (const [what, body] of Object.entries(checks)) await check(what, reports[name], body);
  const viewport = { width: 360, height: 740 };
  for (const [name, report] of Object.entries(reports))
    await check(`a phone does not scroll sideways: ${name}`, report, fitsPhone, { viewport });
  for (const [name, colorScheme] of [
    ['many', 'light'],
    ['many', 'dark'],
    ['bad', 'dark'],
    ['overlap', 'dark'],
  ]) {
    const options = { colorScheme, bypassCSP: true };
    await check(`axe finds nothing: ${name}, ${colorScheme}`, reports[name], accessible, options);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
