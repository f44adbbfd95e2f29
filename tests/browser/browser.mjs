// A browser for the tests of pages: which one, how it is started, and what it must not do.
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @returns {string|undefined} the browser: $CHROMIUM, or the first one on PATH */
export function findBrowser() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(executable);
}

/** @param {string} nodeModules where playwright-core is */
export function launch(nodeModules, path) {
  const { chromium } = createRequire(join(resolve(nodeModules), 'noname.js'))('playwright-core');
  return chromium.launch({ executablePath: path, args: ARGUMENTS });
}

/**
 * Opens a report in a page of its own and waits until it is complete.
 * @param {Object} [options] of the browser's context: viewport, colour scheme
 * @param {Function} [first] runs in the page before anything of it does
 * @returns {Promise<{page: Object, complaints: string[]}>} complaints: what the console said, errors,
 *     and requests for anything but the file itself
 */
export async function openReport(browser, file, options = {}, first = null) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  if (first) await page.addInitScript(first);
  const complaints = [];
  const own = pathToFileURL(resolve(file)).href;
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(own) && !/^(data|blob):/.test(address))
      complaints.push(`request: ${address}`);
  });
  await page.goto(own);
  await page.waitForSelector('html[data-ready]', { timeout: 30000 });
  return { page, complaints };
}
