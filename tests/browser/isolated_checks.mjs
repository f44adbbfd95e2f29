// Checks of a report of sides of overlaps alone, of four H200, and of all policies with sweeps: rates of all
// ranks are told from those of one, the section says what each side needs, and wide charts fit.
import assert from 'node:assert/strict';
import { dataOfCard, drawnText, near, unfolded } from './page_facts.mjs';

const KEY = '#isolated-isolated-jsonl-cuda-4';
const PEAK = 989.4; // TFLOP/s of one H200 in bf16

const isolatedOf = ({ records }) =>
  records.filter(({ benchmark }) => benchmark === 'overlap_isolated');

export const isolatedChecks = {
  async 'rates of all ranks are under the roof of one device'(page, [journal]) {
    const card = page.locator('#roofline-NVIDIA-H200');
    const legend = await card.locator('.legend').textContent();
    assert.ok(legend.includes('cublas') && !legend.includes('undefined'), legend);
    assert.match(await card.textContent(), /per device/);
    assert.ok(legend.includes(`peak, bf16: ${PEAK} TFLOP/s`) && legend.includes('memory: 4800 GB/s'));
    // Beside the lines, names of roofs would cover points.
    assert.doesNotMatch(await drawnText(card), /4800|bf16/);
    const rows = await dataOfCard(card);
    const gemms = isolatedOf(journal).filter(({ rates }) => rates.tflops > 0);
    assert.equal(rows.length, gemms.length);
    for (const row of rows) assert.ok(Number(row['TFLOP/s']) < PEAK, row.Case);
    near(rows[0]['TFLOP/s'], gemms[0].rates.tflops / gemms[0].case.ranks);
  },
  async 'the table of records tells rates of one device'(page, [journal]) {
    const [{ rates, case: c }] = isolatedOf(journal).filter(({ rates: r }) => r.tflops > 0);
    assert.ok(rates.tflops > PEAK);
    await page.getByLabel('Contains').fill(`${c.work} alone, 4 ranks`);
    const figure = await page.locator('.records tbody tr').first().textContent();
    assert.ok(figure.includes(`${(rates.tflops / 4).toFixed(1)} TFLOP/s each`), figure);
  },
  async 'the section tells what fewer units cost and what overlap could gain'(page, [journal]) {
    const gemms = page.locator(`${KEY}-gemm`);
    assert.match(await drawnText(gemms), /compute units that it may use/);
    const [first] = await dataOfCard(gemms);
    const own = isolatedOf(journal).filter(({ case: c }) => c.side === 'compute');
    const [{ case: c }] = own;
    const least = own
      .filter((one) => one.case.work === c.work && one.case.units > 0)
      .reduce((a, b) => (b.case.units < a.case.units ? b : a));
    assert.equal(first['Compute units'], String(least.case.units));
    near(first[`${c.work}, times`], least.metrics.slowdown);
    const pairs = await unfolded(page.locator(`${KEY}-pairs`));
    const told = journal.records.filter(({ benchmark }) => benchmark === 'overlap_isolated_pair');
    assert.equal(await pairs.locator('tbody tr').count(), told.length);
  },
  async 'all policies of fifteen scenarios fit a window of 1,300 pixels'(page) {
    await page.setViewportSize({ width: 1300, height: 900 });
    const card = page.locator('#overlap-sweep-jsonl-cuda-4-all_gather');
    await drawnText(card);
    assert.equal((await card.locator('.legend li').count()) > 7, true);
    const beyond = await card
      .locator('.chart-box')
      .evaluate((box) => box.scrollWidth - box.clientWidth);
    assert.ok(beyond <= 1, `${beyond} pixels`);
  },
  async 'before the first chart of overlap stand means only'(page) {
    const rows = await page.locator('#overlap-policies > .scrolls tbody tr').count();
    assert.ok(rows > 0 && rows <= 8, `${rows} rows`);
    const points = await unfolded(page.locator('#overlap-policies'));
    assert.match(await points.textContent(), /dma\+partition:8/);
  },
};
