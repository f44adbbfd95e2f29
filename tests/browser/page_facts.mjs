// What the tests of the report read from its page.
import assert from 'node:assert/strict';
import { themes } from '../../src/report/web/palette.js';

/** @returns {Promise<Object>} what `duet report` gave the page */
export const dataOf = (page) =>
  page.evaluate(() => JSON.parse(document.getElementById('data').textContent));

/** Scrolls to an element, since a chart is drawn once it is in sight. Playwright's scrollIntoViewIfNeeded also
 *  waits until the element has not moved for two frames, and a busy browser may draw no frame for minutes. */
export const scrollTo = (element) =>
  element.evaluate((box) => box.scrollIntoView({ block: 'center' }));

/** @returns {Promise<string[][]>} the texts of the cells of some rows */
export const cellsOf = (rows) =>
  rows.evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));

/** Opens what is folded below a card. @returns {Object} the locator of its table */
export async function unfolded(card) {
  await scrollTo(card);
  const data = card.locator('.data');
  if (!(await data.evaluate((one) => one.open))) await data.locator('summary').click();
  await data.locator('table').waitFor();
  return data.locator('table');
}

/** The lines of a chart's data, each with its cells by their column. */
export async function dataOfCard(card) {
  const table = await unfolded(card);
  const names = await table.locator('thead th').allTextContents();
  const rows = await cellsOf(table.locator('tbody tr'));
  return rows.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i]])));
}

/** The text of a drawn chart. */
export async function drawnText(card) {
  await scrollTo(card);
  await card.locator('.chart svg').waitFor();
  return card.locator('.chart svg').textContent();
}

/** Fails unless the text begins with the value, rounded to the digits that it has: three or more. */
export function near(text, value, what = 'figure') {
  const [figure, , decimals = ''] = text.replaceAll(',', '').match(/^-?\d+(\.(\d+))?/) ?? ['NaN'];
  const off = Math.abs(Number(figure) - value), digit = 10 ** -decimals.length;
  assert.ok(off <= (0.5 + 1e-6) * digit && off <= 5e-3 * Math.abs(value), `${what}: ${text}, not ${value}`);
}

/** Scrolls by every chart, so that all are drawn. */
export async function drawAll(page) {
  const missing = await page.evaluate(async () => {
    const moment = () => new Promise((done) => setTimeout(done, 10)); // not a frame, which may never come
    const deadline = performance.now() + 30000;
    for (const chart of document.querySelectorAll('.chart')) {
      chart.scrollIntoView({ block: 'nearest' });
      while (!chart.querySelector('svg')?.checkVisibility()) {
        if (performance.now() > deadline) return chart.getAttribute('aria-label');
        await moment();
      }
    }
    return null;
  });
  assert.equal(missing, null, 'a chart that is not drawn');
}

/**
 * Marks of measured figures: small shapes in a colour of the series, or cells of a matrix. Lines,
 * grey marks and the key of the colours are none.
 * @param {Object} chart the element's locator
 * @param {number} [largest] pixels; without it cells are counted
 * @param {string} [theme] whose colours
 */
export async function drawnMarks(chart, largest, theme = 'light') {
  const { series, diverging } = themes[theme];
  await scrollTo(chart);
  await chart.locator('svg').waitFor();
  return chart.evaluate(
    (box, { colours, smallest, most }) =>
      [...box.querySelectorAll('svg path')].filter((mark) => {
        const paint = [mark.getAttribute('fill'), mark.getAttribute('stroke')];
        const { width, height } = mark.getBoundingClientRect();
        const fits = (size) => size >= smallest && size <= most;
        return paint.some((colour) => colours.includes(colour)) && fits(width) && fits(height);
      }).length,
    largest
      ? { colours: series, smallest: 5, most: largest }
      : { colours: diverging, smallest: 20, most: 1000 },
  );
}

/** @returns {Promise<string[]>} the colours that areas of SVG elements are filled with */
export const fills = (elements) =>
  elements.evaluateAll((list) => [
    ...new Set(
      list.flatMap((one) =>
        [...one.querySelectorAll('path, rect, text')].map((part) => part.getAttribute('fill')),
      ),
    ),
  ]);

/** @returns {Promise<{width: number, height: number, share: number}>} of a picture: `share` of the
 *     pixels that have the colour "#rrggbb" */
export const pictureFacts = (page, bytes, colour) =>
  page.evaluate(
    async ({ data, wanted }) => {
      const picture = await createImageBitmap(new Blob([new Uint8Array(data)]));
      const { width, height } = picture;
      const context = new OffscreenCanvas(width, height).getContext('2d');
      context.drawImage(picture, 0, 0);
      const pixels = context.getImageData(0, 0, width, height).data;
      let found = 0;
      for (let i = 0; i < pixels.length; i += 4) {
        if (wanted.every((value, at) => pixels[i + at] === value)) found += 1;
      }
      return { width, height, share: found / (width * height) };
    },
    { data: [...bytes], wanted: [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) },
  );

/**
 * @param {string[]} texts "391.8 GB/s", or ""
 * @returns {boolean} whether figures of a unit stand together and in order, the empty ones last
 */
export function isSorted(texts, direction) {
  const filled = texts.filter((text) => text !== '');
  const emptyLast = texts.slice(filled.length).every((text) => text === '');
  const unitOf = (text) => text.replace(/^[-\d.,]+ /, '');
  const runs = filled.filter((text, i) => i === 0 || unitOf(text) !== unitOf(filled[i - 1]));
  const together = runs.length === new Set(runs.map(unitOf)).size;
  const value = (text) => parseFloat(text.replaceAll(',', ''));
  const sign = direction === 'ascending' ? 1 : -1;
  const inOrder = filled.every(
    (text, i) =>
      i === 0 ||
      unitOf(text) !== unitOf(filled[i - 1]) ||
      sign * (value(text) - value(filled[i - 1])) >= 0,
  );
  return emptyLast && together && inOrder;
}

/** What the Tab key stops at, as "tag:text"; fields by their id. */
export async function tabStops(page, most) {
  const stops = [];
  for (let i = 0; i < most; i += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const { tagName, id, textContent } = document.activeElement;
      const tag = tagName.toLowerCase();
      return `${tag}:${tag === 'select' || tag === 'input' ? id : textContent}`;
    });
    if (stop.startsWith('body:')) break;
    stops.push(stop);
  }
  return stops;
}

/** Clicks what saves a file. @returns {Promise<{name: string, bytes: Buffer}>} */
export async function saved(page, button, read) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator(button).first().click(),
  ]);
  return { name: download.suggestedFilename(), bytes: read(await download.path()) };
}

/** @returns {Object[]} the lines of CSV text, each with its fields by their column */
export function csvLines(text) {
  const [head, ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) =>
        (quoted ?? bare).replaceAll('""', '"'),
      ),
    );
  assert.equal(new Set(head).size, head.length, `columns of one name: ${head}`);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i]])));
}
