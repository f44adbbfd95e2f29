// Checks of the page's words and numbers: headline, key figures, commands, the table of records, CSV.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { csvLines, dataOf, isSorted, near, saved, tabStops } from './page_facts.mjs';

const fastest = (records) => records.reduce((a, b) => (b.rates.tflops > a.rates.tflops ? b : a));
const shape = ({ m, n, k }) => `${m} x ${n} x ${k}`;

/** The cells of the only row that is left, by their column. */
async function onlyRow(page) {
  assert.equal(await page.locator('.records tbody tr').count(), 1);
  const names = await page.locator('.records thead th').allTextContents();
  const cells = await page.locator('.records tbody td').allTextContents();
  return Object.fromEntries(names.map((name, i) => [name, cells[i]]));
}

/** A row of the table, and the line that it is saved as. */
export async function rowIsRecord(page, journal, record) {
  const { dtype, layout } = record.case;
  const words = [journal.name, record.engine, dtype, layout, shape(record.case)];
  await page.getByLabel('Contains').fill(words.join(' '));
  const row = await onlyRow(page);
  near(row.Figure, record.rates.tflops);
  assert.match(row.Figure, / TFLOP\/s$/);
  near(row.Median, record.seconds.median * (row.Median.endsWith(' us') ? 1e6 : 1e3));
  const { name, bytes } = await saved(page, 'button:has-text("Save as CSV")', readFileSync);
  const [line, ...others] = csvLines(bytes.toString());
  assert.deepEqual([name, others], ['records.csv', []]);
  const { median, ci_low: low, ci_high: high, n } = record.seconds;
  for (const [column, value] of Object.entries({
    median_seconds: median,
    ci_low_seconds: low,
    ci_high_seconds: high,
    samples: n,
    tflops: record.rates.tflops,
    m: record.case.m,
  }))
    assert.equal(Number(line[column]), value, column);
  assert.equal(line.sampling, record.mode);
  assert.equal(line.journal, journal.name);
}

export const textChecks = {
  async 'the headline names the machine, what is wrong and what is best'(page) {
    const { journals } = await dataOf(page);
    const verdicts = journals.flatMap(({ records }) => records.map(({ verdict }) => verdict));
    const of = (word) => verdicts.filter((one) => one?.word === word).length;
    const [pass, low, high] = ['PASS', 'LOW', 'SUSPECT-HIGH'].map(of);
    const text = await page.locator('.headline').textContent();
    const said = low
      ? `${low} of ${pass + low + high} judged figures? (is|are) lower than expected \\(.* expected\\)`
      : `All ${pass} judged figures are as expected`;
    assert.match(text, new RegExp(`^4 x NVIDIA H200 \\(simulated\\): ${said}.*\\. Best: GEMM, bf16: `));
    const tiles = await page.locator('.tiles > div').allTextContents();
    const expected = [`PASS${pass}`, `LOW${low}`, `SUSPECT-HIGH${high}`];
    assert.deepEqual(tiles.slice(0, expected.length), expected);
    assert.equal(await page.locator('.beside-machines').count(), 0);
  },
  async 'what simulated figures rest on is said'(page, journals) {
    const fold = page.locator('.basis');
    await fold.locator('summary').click();
    const lines = await fold.locator('li').allTextContents();
    assert.ok(lines.some((text) => /, gemm: fitted to .*; compared with: .*TFLOP/.test(text)), lines.join());
    assert.ok(lines.some((text) => /copy.*no measurement of this kind was ever compared/.test(text)));
    for (const { records } of journals)
      for (const { outcome, notes } of records)
        assert.equal('fitted_to' in notes, outcome === 'measured', JSON.stringify(notes));
  },
  async 'key figures are the best of the journal'(page, [, gemm]) {
    const best = fastest(gemm.records);
    const row = page.locator('.key tbody tr', { hasText: 'GEMM, bf16' });
    const [rate, share, by] = await row.locator('td').allTextContents();
    near(rate, best.rates.tflops);
    assert.match(rate, / TFLOP\/s$/);
    assert.equal(share, `${Math.round((best.rates.tflops / 989.4) * 100)}% of dense peak 989.4`);
    assert.ok(by.startsWith(shape(best.case)), by);
  },
  async 'commands are those of the journals'(page, journals) {
    assert.deepEqual(
      await page.locator('.command code').allTextContents(),
      journals.map(({ environment }) => environment.run.command),
    );
  },
  async 'rates of any name are shown'(page, [copy]) {
    const { rates } = copy.records.find(({ benchmark }) => benchmark === 'copy_curve');
    await page.getByLabel('Benchmark').selectOption('copy_curve');
    const text = await page.locator('.records tbody tr').first().textContent();
    assert.match(text, /latency [\d.]+ us/);
    const { bytes } = await saved(page, 'button:has-text("Save as CSV")', readFileSync);
    const [line] = csvLines(bytes.toString());
    for (const [name, value] of Object.entries(rates))
      assert.equal(Number(line[name]), value, name);
  },
  async 'sorting sorts numbers, both ways'(page) {
    await page.getByRole('button', { name: 'Show all rows' }).click();
    const column = page.locator('.records thead th', { hasText: 'Figure' });
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
  async 'the keyboard reaches everything'(page) {
    const stops = await tabStops(page, 400);
    for (const stop of [
      'a:Skip to the results',
      'a:Summary',
      'a:Records',
      'select:theme',
      'button:Figure',
      'button:Copy as CSV',
    ]) {
      assert.ok(stops.includes(stop), `${stop} among ${stops.length} stops`);
    }
  },
};
