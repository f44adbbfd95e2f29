// What the tests of the report read from its page.
import { themes } from '../../src/report/web/palette.js';

const COLOURS = Object.values(themes).flatMap((theme) => [
  ...theme.series,
  ...theme.diverging,
  theme.muted,
]);

/** @returns {Promise<number>} marks of a chart that have a series' colour and a size */
export async function drawnMarks(chart) {
  await chart.scrollIntoViewIfNeeded();
  await chart.locator('svg').waitFor();
  return chart.evaluate(
    (box, colours) =>
      [...box.querySelectorAll('svg path')].filter((mark) => {
        const paint = [mark.getAttribute('fill'), mark.getAttribute('stroke')];
        const { width, height } = mark.getBoundingClientRect();
        return paint.some((colour) => colours.includes(colour)) && width + height > 2;
      }).length,
    COLOURS,
  );
}

/** @returns {boolean} whether texts are numbers in order, the empty ones last */
export function isSorted(texts, direction) {
  const numbers = texts.map((text) => (text === '' ? null : Number(text.replaceAll(',', ''))));
  const filled = numbers.filter((value) => value !== null);
  const sign = direction === 'ascending' ? 1 : -1;
  const emptyLast = numbers.slice(filled.length).every((value) => value === null);
  return emptyLast && filled.every((value, i) => i === 0 || sign * (value - filled[i - 1]) >= 0);
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

/** @returns {string[][]} the fields of CSV text, line by line */
export function csvLines(text) {
  const lines = [];
  for (const line of text.trimEnd().split('\n')) {
    const fields = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)];
    lines.push(fields.map(([, quoted, bare]) => (quoted ?? bare).replaceAll('""', '"')));
  }
  return lines;
}
