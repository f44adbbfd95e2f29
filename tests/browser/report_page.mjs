// The report in a real browser: what it shows, that it does what its controls say, and that it asks
// nothing of any network.
// Run as: node report_page.mjs DUET_BINARY NODE_MODULES_DIR; exits 77 where there is no browser.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findBrowser, launch, openReport } from './browser.mjs';
import { BAD, FORMULA, HOSTILE, makeJournals, makeReport } from './journals.mjs';
import { csvLines, drawnMarks, isSorted, tabStops } from './page_facts.mjs';

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
const journals = makeJournals(resolve(duet), folder);
const good = makeReport(resolve(duet), journals.good, join(folder, 'good.html'));
const bad = makeReport(resolve(duet), [journals.bad], join(folder, 'bad.html'));

/** Runs a check in a fresh page, which must have nothing to complain about. */
async function check(name, file, body, options) {
  const { page, complaints } = await openReport(browser, file, options);
  await body(page);
  assert.deepEqual(complaints, [], name);
  await page.context().close();
  console.log(`ok: ${name}`);
}

async function saved(page, button) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator(button).first().click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

async function accessible(page) {
  for (const chart of await page.locator('.chart').all()) await chart.scrollIntoViewIfNeeded();
  await page.evaluate(() =>
    document.querySelectorAll('details').forEach((details) => {
      details.open = true;
    }),
  );
  await page.addScriptTag({ content: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map(({ html }) => html)
        .join(' | ')}`,
  );
}

const checks = {
  async 'every chart is drawn'(page) {
    const charts = await page.locator('.chart').all();
    assert.ok(charts.length >= 6, `${charts.length} charts`);
    for (const chart of charts)
      assert.ok((await drawnMarks(chart)) >= 5, await chart.getAttribute('aria-label'));
  },
  async 'a legend hides a series'(page) {
    const card = page.locator('#copy .card').first();
    const before = await drawnMarks(card.locator('.chart'));
    await card.locator('.legend button').first().click();
    assert.equal(
      await card.locator('.legend button').first().getAttribute('aria-pressed'),
      'false',
    );
    assert.ok((await drawnMarks(card.locator('.chart'))) < before);
  },
  async 'sorting sorts numbers, both ways'(page) {
    await page.getByRole('button', { name: 'Show all rows' }).click();
    const column = page.locator('.records thead th', { hasText: 'GB/s' });
    for (const direction of ['ascending', 'descending']) {
      await column.getByRole('button').click();
      await page.getByRole('button', { name: 'Show all rows' }).click();
      assert.equal(await column.getAttribute('aria-sort'), direction);
      const place = await column.evaluate((cell) => cell.cellIndex);
      const texts = await page
        .locator(`.records tbody td:nth-child(${place + 1})`)
        .allTextContents();
      assert.ok(texts.length > 50 && isSorted(texts, direction), direction);
    }
  },
  async 'filters leave what they name'(page) {
    await page.getByLabel('Contains').fill('pull 256 mib');
    await page.getByLabel('Benchmark').selectOption('copy');
    const rows = await page.locator('.records tbody tr').allTextContents();
    assert.ok(rows.length > 3);
    for (const row of rows) assert.match(row, /pull.*256 MiB/);
    assert.match(await page.locator('.status').textContent(), new RegExp(`^${rows.length} of `));
    await page.getByLabel('Contains').fill('no such words');
    assert.equal(await page.locator('.records tbody tr').count(), 0);
  },
  async 'charts are saved'(page) {
    const svg = await saved(page, '#copy .tools button:has-text("SVG")');
    assert.match(svg.name, /^device-to-device.*\.svg$/);
    assert.match(svg.bytes.toString(), /^<svg[^]*Device to device[^]*<\/svg>\s*$/);
    const png = await saved(page, '#gemm .tools button:has-text("PNG")');
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
  },
  async 'the keyboard reaches everything'(page) {
    const stops = await tabStops(page, 400);
    for (const stop of [
      'a:Skip to the results',
      'a:Summary',
      'a:Records',
      'select:theme',
      'button:GB/s',
      'button:Copy as CSV',
    ]) {
      assert.ok(stops.includes(stop), `${stop} among ${stops.length} stops`);
    }
  },
  async 'paper is light and has every chart'(page) {
    await page.locator('#theme').selectOption('dark');
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.notEqual(await ground(), 'rgb(255, 255, 255)');
    await page.emulateMedia({ media: 'print' });
    assert.equal(await ground(), 'rgb(255, 255, 255)');
    assert.equal(await page.locator('.paper > svg').count(), await page.locator('.chart').count());
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} pixels too wide`);
    assert.equal((await page.pdf({ format: 'A4' })).subarray(0, 4).toString(), '%PDF');
  },
};

const doctored = {
  async 'what is wrong is said first'(page) {
    assert.match(
      await page.locator('.headline').textContent(),
      /^1 case left wrong data; 1 case failed/,
    );
    const words = await page.locator('.faults .word').allTextContents();
    assert.deepEqual(words.slice(0, 2), ['wrong', 'failed']);
  },
  async 'a bad link is named'(page) {
    const alerts = await page.locator('#pairs .alert').allTextContents();
    assert.equal(alerts.length, 1);
    assert.match(
      alerts[0],
      new RegExp(`^${BAD.from} > ${BAD.to} moves [\\d.]+ GB/s, 38% under the median`),
    );
  },
  async 'hostile words are words'(page) {
    assert.ok((await page.locator('h1').textContent()).includes(HOSTILE));
    assert.ok((await page.locator('.faults').first().textContent()).includes(HOSTILE));
    assert.equal(await page.locator('img').count(), 0);
    assert.match(await page.title(), /^Duet: /);
  },
  async 'the table is saved as CSV'(page) {
    await page.getByLabel('Contains').fill('local');
    const { name, bytes } = await saved(page, 'button:has-text("Save as CSV")');
    const [head, ...lines] = csvLines(bytes.toString());
    assert.equal(name, 'records.csv');
    assert.equal(lines.length, Number((await page.locator('.status').textContent()).split(' ')[0]));
    const at = (column) => head.indexOf(column);
    for (const line of lines) assert.equal(line.length, head.length);
    const measured = lines.filter((line) => line[at('outcome')] === 'measured');
    assert.ok(
      measured.every((line) => Number(line[at('gb_per_s')]) > 0 && line[at('kind')] === 'local'),
    );
    assert.ok(
      lines.some((line) => line[at('algorithm')] === `'${FORMULA}`),
      'formulas are quoted',
    );
    await page.getByRole('button', { name: 'Copy as CSV' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
  },
};

for (const [name, body] of Object.entries(checks)) await check(name, good, body);
for (const [name, body] of Object.entries(doctored)) await check(name, bad, body);
for (const file of [good, bad]) {
  const viewport = { width: 360, height: 740 };
  await check(
    'a phone does not scroll sideways',
    file,
    async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    },
    { viewport },
  );
  for (const colorScheme of ['light', 'dark']) {
    const body = async (page) => assert.deepEqual(await accessible(page), []);
    await check(`axe finds nothing, ${colorScheme}`, file, body, { colorScheme, bypassCSP: true });
  }
}
await browser.close();
rmSync(folder, { recursive: true });
