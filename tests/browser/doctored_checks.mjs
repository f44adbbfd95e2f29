// Checks of reports of doctored journals: faults, hostile words, figures too good to be true.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { everyFigureIsDrawn } from './chart_checks.mjs';
import { BAD, FORMULA, HIGH, HOSTILE, NO_FIT } from './journals.mjs';
import { cellsOf, csvLines, dataOf, drawnText, saved } from './page_facts.mjs';
import { rowIsRecord } from './text_checks.mjs';

export const doctoredChecks = {
  async 'what is wrong is said first'(page) {
    assert.match(
      await page.locator('.headline').textContent(),
      /: 1 case left wrong data; 1 case failed/,
    );
    const words = await page.locator('.faults .word').allTextContents();
    assert.deepEqual(words.slice(0, 2), ['wrong', 'failed']);
  },
  async 'a bad link is named'(page) {
    const alerts = await page.locator('#pairs .alert').allTextContents();
    assert.equal(alerts.length, 1);
    assert.match(
      alerts[0],
      new RegExp(`^${BAD.from} > ${BAD.to} moves [\\d.]+ GB/s, [34]\\d% under`),
    );
  },
  async 'curves without lines say why'(page) {
    const card = page.locator('#copy-fits');
    assert.equal(await card.locator('table').count(), 0);
    const reasons = await card.locator('.findings li').allTextContents();
    assert.ok(reasons.length > 0);
    for (const reason of reasons) {
      assert.ok(reason.startsWith('No line through ') && reason.endsWith(`: ${NO_FIT}.`), reason);
    }
  },
  async 'hostile words are words'(page) {
    assert.ok((await page.locator('h1').textContent()).includes(HOSTILE));
    assert.ok((await page.locator('.faults').first().textContent()).includes(HOSTILE));
    assert.equal(await page.locator('img').count(), 0);
    assert.match(await page.title(), /^Duet: /);
  },
  async 'formulas are quoted in CSV'(page) {
    await page.getByLabel('Contains').fill('local');
    const { bytes } = await saved(page, 'button:has-text("Save as CSV")', readFileSync);
    const lines = csvLines(bytes.toString());
    assert.equal(lines.length, Number((await page.locator('.status').textContent()).split(' ')[0]));
    const measured = lines.filter(({ outcome }) => outcome === 'measured');
    assert.ok(measured.every((line) => Number(line.gb_per_s) > 0 && line.kind === 'local'));
    assert.ok(lines.some(({ note_algorithm: algorithm }) => algorithm === `'${FORMULA}`));
    await page.getByRole('button', { name: 'Copy as CSV' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
  },
};

/** A report of two simulated GPUs, a CPU and a copy over several grids. */
export const manyChecks = {
  async 'who becomes the fastest of all is said and drawn'(page) {
    const card = page.locator('#collective-all_gather-fp32-out-of-place');
    const drawn = await drawnText(card);
    const said = 'The fastest, or as fast as any: host up to 16 KiB, second from 64 KiB on.';
    assert.ok((await card.textContent()).includes(said), await card.textContent());
    assert.match(drawn, /second fastest from 64 KiB/);
  },
  async 'each machine has its headline, and simulated figures are never added to measured ones'(page) {
    const { journals } = await dataOf(page);
    const machines = await page.locator('.headline strong').allTextContents();
    assert.ok(machines.length >= 3 && new Set(machines).size === machines.length, machines);
    const simulated = machines.map((name) => /simulated/.test(name));
    assert.deepEqual(simulated, [...simulated].sort(), 'simulated machines stand behind');
    const rows = await cellsOf(page.locator('.tallies tbody tr'));
    assert.deepEqual(
      rows.map(([name]) => `${name}: `),
      machines,
    );
    for (const [word, column] of [['PASS', 1], ['LOW', 2], ['SUSPECT-HIGH', 3]])
      for (const virtual of [false, true]) {
        const found = journals
          .flatMap(({ records }) => records)
          .filter(({ verdict }) => verdict?.word === word && Boolean(verdict.simulated) === virtual);
        const told = rows
          .filter(([name]) => /simulated/.test(name) === virtual)
          .reduce((sum, cells) => sum + Number(cells[column]), 0);
        assert.equal(told, found.length, `${word}, ${virtual ? 'simulated' : 'measured'}`);
      }
  },
  async 'machines stand side by side with their ratios'(page, [h200, mi300x]) {
    const row = page.locator('.beside-machines tbody tr', { hasText: 'GEMM, bf16' });
    const names = await page.locator('.beside-machines thead th').allTextContents();
    const cells = await row.locator('th, td').allTextContents();
    const bestOf = ({ records }) =>
      Math.max(...records.map(({ rates }) => rates.tflops).filter((x) => x < 0.99 * HIGH.tflops));
    const at = (model) => names.findIndex((name) => name.includes(`${model} (simulated)`));
    const [first, second] = [at('H200'), at('MI300X')];
    assert.ok(first > 0 && second > first, names);
    assert.equal(cells[first], `${bestOf(h200).toFixed(1)} TFLOP/s`);
    assert.equal(cells[second], `${bestOf(mi300x).toFixed(1)} TFLOP/s`);
    // Against the first machine that has the figure, in its own column or before it.
    const base = cells.slice(1).find((text) => / TFLOP/.test(text));
    const over = bestOf(mi300x) / parseFloat(base);
    assert.ok(Math.abs(parseFloat(cells[second + 1].slice(2)) / over - 1) < 5e-3, cells.join());
  },
  async 'collectives have key figures'(page, journals) {
    const best = journals
      .flatMap(({ records }) => records)
      .filter(({ case: c, outcome }) => c?.collective === 'all_gather' && outcome === 'measured')
      .reduce((a, b) => (b.rates.busbw_gb_per_s > a.rates.busbw_gb_per_s ? b : a));
    const row = page.locator('.key tbody tr', { hasText: 'all gather, fp32, 2 ranks' });
    const [rate, , by] = await row.locator('td').allTextContents();
    assert.match(rate, / GB\/s( \(unknown: busy\))?$/);
    assert.ok(Math.abs(parseFloat(rate) / best.rates.busbw_gb_per_s - 1) < 2e-3, rate);
    assert.ok(by.startsWith(`${best.engine}, `), by);
  },
  'every figure of every device is drawn': everyFigureIsDrawn,
  async 'a figure that cannot be is no best one'(page, [, other]) {
    const faults = await page.locator('.faults').textContent();
    assert.ok(faults.includes('SUSPECT-HIGH') && faults.includes(`${HIGH.tflops} TFLOP/s`), faults);
    const believed = other.records.filter(({ rates }) => rates.tflops < 0.99 * HIGH.tflops);
    const best = Math.max(...believed.map(({ rates }) => rates.tflops));
    const key = page.locator('.key', { hasText: 'MI300X' }).locator('tbody tr').first();
    assert.ok((await key.textContent()).includes(`${best.toFixed(1)} TFLOP/s`));
    const legend = page.locator('#gemm-bf16-nn-bf16- .legend');
    assert.match(await legend.textContent(), /higher than possible/);
  },
  async 'a row and its CSV are the record'(page, [, , cpu]) {
    const measured = cpu.records.filter(({ benchmark }) => benchmark === 'gemm');
    await rowIsRecord(page, cpu, measured.at(-1));
  },
  async 'devices are told apart by name and by symbol'(page) {
    const legend = page.locator('#gemm-bf16-nn-bf16- .legend li');
    const items = (await legend.allTextContents()).filter((text) => /model/.test(text));
    assert.equal(items.length, 2);
    assert.ok(items.some((text) => /H200/.test(text)) && items.some((text) => /MI300X/.test(text)));
    const shapes = await legend.evaluateAll((list) =>
      list.slice(0, 2).map((item) => {
        const mark = item.querySelector('svg').lastElementChild;
        return [mark.tagName, mark.getAttribute('d'), mark.getAttribute('fill')].join();
      }),
    );
    const [one, two] = shapes.map((text) => text.replace(/#\w+/, ''));
    assert.notEqual(one, two);
  },
};
