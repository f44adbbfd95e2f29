// The report in a real browser: what it shows, that it does what its controls say, and that it asks
// nothing of any network.
// Run as: node report_page.mjs DUET_BINARY NODE_MODULES_DIR; exits 77 where there is no browser.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findBrowser, launch, Windows } from './browser.mjs';
import { chartChecks } from './chart_checks.mjs';
import { doctoredChecks, manyChecks } from './doctored_checks.mjs';
import { fleetChecks } from './fleet_checks.mjs';
import { haloChecks } from './halo_checks.mjs';
import { historyChecks } from './history_checks.mjs';
import { importedChecks } from './imported_checks.mjs';
import { isolatedChecks } from './isolated_checks.mjs';
import { makeFleet, makeJournals, makeReport, makeStore, readJournal } from './journals.mjs';
import { layerChecks } from './layer_checks.mjs';
import { overlapChecks } from './overlap_checks.mjs';
import { drawAll, scrollTo } from './page_facts.mjs';
import { plainChecks } from './plain_checks.mjs';
import { textChecks } from './text_checks.mjs';
import { trainingChecks } from './training_checks.mjs';

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
const windows = new Windows(browser);
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

const [copies] = files.good;
reports.fleet = { file: makeFleet(resolve(duet), copies, folder), journals: [] };
const store = makeStore(resolve(duet), copies, folder);
if (store)
  reports.history = {
    file: makeReport(resolve(duet), [copies], join(folder, 'history.html'), ['--store', store]),
    journals: [readJournal(copies)],
  };
else console.log('no figures over time, which need SQLite');

/** Runs a check in a page that was loaded for it, which must have nothing to complain about. */
async function check(name, { file, journals }, body, options) {
  const window = await windows.open(file, options);
  try {
    await body(window.page, journals);
  } catch (error) {
    error.message = `${name}: ${error.message}`;
    throw error;
  }
  assert.deepEqual(window.complaints, [], name);
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
  // Of rules that nothing violates it would describe all elements as well.
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }));
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

/** What a record is and what came of it can be read without scrolling; what cannot says so. */
async function figuresInSight(page) {
  const width = page.viewportSize().width;
  await scrollTo(page.locator('#records'));
  for (const name of ['Case', 'Result', 'Figure']) {
    const heading = page.locator('.records thead th', { hasText: name }).first();
    const place = await heading.evaluate((cell) => cell.cellIndex);
    const cells = page.locator(`.records tbody td:nth-child(${place + 1})`);
    const edges = await cells.evaluateAll((list) =>
      list.map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const { left, right } = range.getBoundingClientRect();
        return [left, right];
      }),
    );
    assert.ok(edges.length > 0, name);
    for (const [left, right] of edges)
      assert.ok(left >= 0 && right <= width, `${name} from ${left} to ${right} of ${width}`);
  }
  await drawAll(page);
  const untold = await page.locator('.scroll, .chart-box').evaluateAll((boxes) =>
    boxes
      .filter((box) => {
        const hint = box.closest('.scrolls').querySelector(':scope > .scroll-hint');
        const shown = getComputedStyle(hint).display !== 'none';
        return box.checkVisibility() && shown !== box.scrollWidth - box.clientWidth > 1;
      })
      .map((box) => box.getAttribute('aria-label') ?? box.className),
  );
  assert.deepEqual(untold, []);
}

/** On a phone, in a page that was opened there, and on wider screens. */
async function fitsScreens(page) {
  await fitsPhone(page);
  for (const viewport of [
    { width: 1300, height: 900 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(viewport);
    // Charts and hints follow in the frames after it.
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    await figuresInSight(page);
  }
}

/** At the end of what scrolls the hint is gone. */
async function hintEnds(page) {
  const around = page.locator('#records .scrolls');
  await around.locator('.scroll').evaluate((box) => box.scrollTo({ left: box.scrollWidth }));
  await around.locator(':scope > .scroll-hint').waitFor({ state: 'hidden', timeout: 5000 });
}

try {
  plainChecks();
  for (const [name, checks] of [
    ['good', { ...chartChecks, ...textChecks }],
    ['bad', doctoredChecks],
    ['many', manyChecks],
    ['overlap', overlapChecks],
    ['isolated', isolatedChecks],
    ['layers', layerChecks],
    ['training', trainingChecks],
    ['halo', haloChecks],
    ['imported', importedChecks],
    ['fleet', fleetChecks],
    ...(store ? [['history', historyChecks]] : []),
  ])
    for (const [what, body] of Object.entries(checks)) await check(what, reports[name], body);
  const viewport = { width: 360, height: 740 };
  for (const [name, report] of Object.entries(reports))
    await check(
      `fits screens of every width: ${name}`,
      report,
      name === 'fleet' ? fitsPhone : fitsScreens, // it has no records
      { viewport },
    );
  await check('a hint ends with what it is about', reports.good, hintEnds, { viewport });
  for (const [name, colorScheme] of [
    ['many', 'light'],
    ['many', 'dark'],
    ['bad', 'dark'],
    ['overlap', 'dark'],
    ['halo', 'light'],
    ['layers', 'dark'],
    ['training', 'light'],
    ['training', 'dark'],
    ['fleet', 'light'],
    ...(store ? [['history', 'dark']] : []),
  ]) {
    const options = { colorScheme, bypassCSP: true };
    await check(`axe finds nothing: ${name}, ${colorScheme}`, reports[name], accessible, options);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
