// Checks of the charts: what is drawn, in which colours, what is saved and what is printed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { themes } from '../../src/report/web/palette.js';
import { expectedCharts } from './expected.mjs';
import {
  csvLines,
  dataOf,
  drawAll,
  drawnMarks,
  drawnText,
  fills,
  pictureFacts,
  saved,
} from './page_facts.mjs';

const WHITE = 'rgb(255, 255, 255)';

/** Every chart that the journals call for is there, and has a mark for each figure. */
export async function everyFigureIsDrawn(page, journals) {
  const expected = expectedCharts(journals, await dataOf(page));
  const ids = await page
    .locator('.card:has(.chart)')
    .evaluateAll((list) => list.map(({ id }) => id));
  assert.deepEqual([...ids].sort(), [...expected.keys()].sort());
  for (const [id, { marks, largest }] of expected)
    assert.equal(await drawnMarks(page.locator(`#${id} .chart`), largest), marks, id);
}

/** Charts that every report with copies, pairs and GEMM must pass. */
export const chartChecks = {
  'every figure is drawn': everyFigureIsDrawn,
  async 'a legend hides a series and shows it again'(page) {
    const card = page.locator('#copy .card').first();
    const marks = () => drawnMarks(card.locator('.chart'), 8.5);
    const [button, before] = [card.locator('.legend button').first(), await marks()];
    const points = await card.locator('.data').evaluate((data) => {
      data.open = true;
      return new Promise((done) =>
        setTimeout(() => done(data.querySelectorAll('tbody tr').length)),
      );
    });
    await button.click();
    assert.equal(await button.getAttribute('aria-pressed'), 'false');
    assert.equal(await marks(), before - points);
    await button.click();
    assert.equal(await marks(), before);
  },
  async 'a scale is chosen'(page) {
    const card = page.locator('#copy .card').first();
    const marks = () => drawnMarks(card.locator('.chart'), 8.5);
    await drawnText(card);
    const before = await marks();
    for (const [scale, said] of [
      ['linear', 'bandwidth, GB/s'],
      ['ratio to the best', 'bandwidth, of the best'],
      ['logarithmic', 'bandwidth, GB/s'],
    ]) {
      await card.getByLabel('Scale').selectOption({ label: scale });
      const text = await drawnText(card);
      assert.ok(text.includes(said), `${scale}: ${text}`);
      assert.equal(/roofline/.test(text), !scale.startsWith('ratio'), text);
      assert.ok((await marks()) <= before && (await marks()) > 0, scale);
    }
  },
  async 'colours are those of the theme'(page) {
    await drawAll(page);
    for (const [name, other] of [
      ['dark', 'light'],
      ['light', 'dark'],
    ]) {
      await page.locator('#theme').selectOption(name);
      const colours = await fills(page.locator('.chart svg'));
      const [own, foreign] = [themes[name], themes[other]];
      for (const colour of [own.background, own.text, own.series[0], own.diverging[3]])
        assert.ok(colours.includes(colour), `${name}: ${colour}`);
      for (const colour of [...foreign.series, ...foreign.diverging])
        assert.ok(!colours.includes(colour) || Object.values(own).flat().includes(colour), colour);
    }
  },
  async 'charts are saved'(page) {
    await drawAll(page);
    const svg = await saved(page, '#copy .tools button:has-text("SVG")', readFileSync);
    assert.match(svg.name, /device-to-device.*h200.*\.svg$/);
    assert.match(svg.bytes.toString(), /^<svg[^]*Device to device[^]*H200[^]*<\/svg>\s*$/);
    const csv = await saved(page, '#copy .tools button:has-text("CSV")', readFileSync);
    assert.match(csv.name, /device-to-device.*h200.*\.csv$/);
    const data = page.locator('#copy figure:has(.tools)').first().locator('details.data');
    await data.locator('summary').click();
    const shown = (await data.locator('tr').allInnerTexts()).map((row) => row.split(/\s*\t\s*/));
    const lines = csvLines(csv.bytes.toString());
    assert.ok(lines.length > 1 && shown[0].length > 1);
    assert.deepEqual(lines.map(Object.values), shown.slice(1));
    const png = await saved(page, '#gemm .tools button:has-text("PNG")', readFileSync);
    assert.match(png.name, /bf16.*h200.*\.png$/);
    const { series, background } = themes.light;
    const marks = await pictureFacts(page, png.bytes, series[0]);
    assert.ok(marks.width === 1920 && marks.height > 400, `${marks.width} x ${marks.height}`);
    assert.ok(marks.share > 2e-4 && marks.share < 0.05, `marks: ${marks.share} of the picture`);
    const { share } = await pictureFacts(page, png.bytes, background);
    assert.ok(share > 0.5 && share < 0.99, `ground: ${share} of the picture`);
  },
  async 'paper is light and has every chart'(page, journals) {
    const charts = expectedCharts(journals, await dataOf(page)).size;
    await page.locator('#theme').selectOption('dark');
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.notEqual(await ground(), WHITE);
    await page.emulateMedia({ media: 'print' });
    const drawn = (count) => document.querySelectorAll('.paper > svg').length === count;
    await page.waitForFunction(drawn, charts);
    assert.equal(await ground(), WHITE);
    const colours = await fills(page.locator('.paper > svg'));
    const { light, dark } = themes;
    for (const colour of [light.background, light.text, light.series[0]])
      assert.ok(colours.includes(colour), colour);
    for (const colour of [dark.background, dark.series[0], dark.diverging[3]])
      assert.ok(!colours.includes(colour), colour);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} pixels too wide`);
    assert.equal((await page.pdf({ format: 'A4' })).subarray(0, 4).toString(), '%PDF');
  },
};
