// A picture of a part of a report, as the README shows them.
// Run as: node scripts/report_picture.mjs NODE_MODULES_DIR REPORT.html SELECTOR OUT.png [WIDTHxHEIGHT]
import { findBrowser, launch, openReport } from '../tests/browser/browser.mjs';

const ABOVE = 12; // pixels

const [modules, report, selector, out, size = '1280x1280'] = process.argv.slice(2);
if (!out) {
  console.error('expected NODE_MODULES_DIR REPORT.html SELECTOR OUT.png [WIDTHxHEIGHT]');
  process.exit(2);
}
const [width, height] = size.split('x').map(Number);
const browser = await launch(modules, findBrowser());
try {
  const { page } = await openReport(browser, report, { viewport: { width, height } });
  await page.addStyleTag({ content: '#bar { display: none }' });
  const part = await page.waitForSelector(selector, { timeout: 10000 });
  await part.evaluate((element, above) => {
    window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - above);
  }, ABOVE);
  await page.waitForFunction(() =>
    [...document.querySelectorAll('figure')].every((figure) => {
      const { top, bottom } = figure.getBoundingClientRect();
      return bottom < 0 || top > innerHeight || figure.querySelector('svg, table');
    }),
  );
  await page.screenshot({ path: out });
} finally {
  await browser.close();
}
