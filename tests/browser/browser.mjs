// A browser for the tests of pages: which one, how it is started, and what it must not do.
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// The first one has no windows, of which a busy machine may not draw some for minutes.
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
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

const VIEWPORT = { width: 1280, height: 900 };
const WAIT = 120000; // milliseconds for anything, on a machine that other tests keep busy

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

/** A page of a context of its own, and what it must not do: `complaints` are what the console said, errors,
 *  and requests for anything but the file `own` itself. */
async function watchedPage(browser, options, first) {
  const context = await browser.newContext({ viewport: VIEWPORT, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT);
  if (first) await page.addInitScript(first);
  const watched = { page, own: '', complaints: [] };
  page.on('console', (message) => watched.complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => watched.complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(watched.own) && !/^(data|blob):/.test(address))
      watched.complaints.push(`request: ${address}`);
  });
  return watched;
}

/** Loads a report and waits until it is complete. */
async function load(watched, file) {
  watched.own = pathToFileURL(resolve(file)).href;
  watched.complaints = [];
  await watched.page.goto(watched.own);
  await watched.page.waitForSelector('html[data-ready]');
  return watched;
}

/**
 * Opens a report in a page of its own.
 * @param {Object} [options] of the browser's context: viewport, colour scheme
 * @param {Function} [first] runs in the page before anything of it does
 * @returns {Promise<{page: Object, complaints: string[]}>}
 */
export async function openReport(browser, file, options = {}, first = null) {
  return load(await watchedPage(browser, options, first), file);
}

/**
 * Opens reports one after the other, in a window that is kept for each choice of options: a new one takes
 * three times as long as to load a report. Nothing is left of what was there before: its document goes,
 * and what the window kept of it (stored choices, media, size, the mouse's place) is set back.
 */
export class Windows {
  constructor(browser) {
    Object.assign(this, { browser, kept: new Map() });
  }

  /** @returns {Promise<{page: Object, complaints: string[]}>} */
  async open(file, options = {}) {
    const key = JSON.stringify(options);
    const watched = this.kept.get(key);
    if (watched) await this.setBack(watched.page, options.viewport ?? VIEWPORT);
    else this.kept.set(key, await watchedPage(this.browser, options, null));
    return load(this.kept.get(key), file);
  }

  async setBack(page, viewport) {
    // A document that stays, against expectation, is never ready again.
    await page.evaluate(() => {
      localStorage.clear();
      delete document.documentElement.dataset.ready;
    });
    await page.mouse.move(0, 0);
    await page.emulateMedia({ media: null });
    await page.setViewportSize(viewport);
  }
}
