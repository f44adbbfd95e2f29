// Checks of the charts of overlap: a report of a doctored journal of a simulated machine, with a sweep and
// without some figures, and of one of four H200.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chartChecks, everyFigureIsDrawn } from './chart_checks.mjs';
import { OVERLAPS } from './journals.mjs';
import { cellsOf, csvLines, drawnMarks, drawnText, saved, unfolded } from './page_facts.mjs';

const MANY = '#overlap-paper-jsonl-cuda-4-all_gather';
const TIMELINE = '#overlap-timeline-paper-jsonl-cuda-4';
const MODEL = '#overlap-timeline-overlap-jsonl-sim-mi300x-8-8';

const overlapsOf = ({ records }) => records.filter(({ benchmark }) => benchmark === 'overlap');

/** Chooses by the words of a field and of its value. */
const choose = (card, field, value) => card.getByLabel(field).selectOption(value);

const scenariosOf = (journal) => [...new Set(overlapsOf(journal).map(({ case: c }) => c.scenario))];
/** The case of the first record of a scenario, by its place. */
const caseOf = (journal, place) =>
  overlapsOf(journal).find(({ case: c }) => c.scenario === scenariosOf(journal)[place]).case;

/** Rows of the summary, or of what is folded below it, whose cells begin so. */
const beginning = async (rows, begin) =>
  (await cellsOf(rows)).filter((row) => begin.every((text, i) => row[i].includes(text)));
const summaryRows = (page, ...begin) =>
  beginning(page.locator('#overlap-policies > .scrolls tbody tr'), begin);
const detailRows = async (page, ...begin) =>
  beginning((await unfolded(page.locator('#overlap-policies'))).locator('tbody tr'), begin);

/** In how many scenarios each policy is the fastest; a point of a sweep is no policy. */
function firstsOf(journal) {
  const firsts = {};
  const fastest = new Map();
  for (const { case: c, seconds } of overlapsOf(journal)) {
    const point = c.policy.includes(':');
    firsts[c.policy] = point ? '–' : 0;
    const best = fastest.get(c.scenario);
    if (!point && (!best || seconds.median < best.median))
      fastest.set(c.scenario, { policy: c.policy, median: seconds.median });
  }
  for (const { policy } of fastest.values()) firsts[policy] += 1;
  for (const policy of Object.keys(firsts)) firsts[policy] = String(firsts[policy]);
  return firsts;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

export const overlapChecks = {
  async 'without verdicts headlines tell what is best, of each machine'(page) {
    const texts = await page.locator('.headline').allTextContents();
    assert.equal(texts.length, 2);
    const best =
      /: Best: GEMM beside .*: [\d.]+ of ideal \(bound [\d.]+; policy [\w-]+, \d+ scenarios?\)/;
    for (const [i, name] of [[0, '4 x NVIDIA H200'], [1, '8 x AMD Instinct MI300X (simulated)']]) {
      assert.ok(texts[i].startsWith(name), texts[i]);
      assert.match(texts[i], best);
      assert.doesNotMatch(texts[i], /promised/);
    }
  },
  async 'fractions of ideal of two machines are compared by their difference'(page) {
    const row = page.locator('.beside-machines tbody tr', { hasText: 'GEMM beside all gather' });
    const [first, second, against] = await row.locator('td').allTextContents();
    const more = parseFloat(second) - parseFloat(first);
    assert.ok(Math.abs(parseFloat(against) - more) < 0.015 && /^[-+]/.test(against), against);
  },
  'every figure of overlap is drawn': everyFigureIsDrawn,
  'overlap is printed': chartChecks['paper is light and has every chart'],
  async 'policies in numbers are those of the journal'(page, [, h200]) {
    const of = (policy) => overlapsOf(h200).filter(({ case: c }) => c.policy === policy);
    for (const policy of ['serial', 'priority', 'dma']) {
      const rows = await summaryRows(page, 'H200', policy);
      const [[, , count, fraction, least, bound, lowest]] = rows.filter(([, one]) => one === policy);
      const values = (name) => of(policy).map(({ metrics }) => metrics[name]);
      const fractions = values('fraction_of_ideal');
      assert.equal(count, '30');
      assert.equal(fraction, mean(fractions).toFixed(2));
      assert.equal(least, Math.min(...fractions).toFixed(2));
      assert.equal(bound, mean(values('bound')).toFixed(2));
      assert.equal(lowest, Math.min(...values('bound')).toFixed(2));
    }
    const firsts = await summaryRows(page, 'H200');
    assert.deepEqual(Object.fromEntries(firsts.map((row) => [row[1], row.at(-1)])), firstsOf(h200));
    const all = (await detailRows(page, 'H200')).filter(([, name]) => name === 'all');
    assert.deepEqual(
      all.map(([, , ...cells]) => cells),
      firsts.map(([, ...cells]) => cells),
    );
  },
  async 'a sweep has one bar and a row for each point'(page, [model]) {
    const { points, swept } = OVERLAPS;
    const c = caseOf(model, swept);
    const card = page.locator(`#overlap-overlap-jsonl-sim-mi300x-8-8-${c.collective}`);
    const legend = await card.locator('.legend').textContent();
    assert.ok(legend.includes('partition') && !legend.includes('partition:'), legend);
    for (const units of points)
      assert.ok((await detailRows(page, '', '', `partition:${units}`)).length > 0, `${units}`);
    const means = await summaryRows(page, '', '');
    assert.ok(means.every(([, policy]) => !policy.includes(':')));
    const collective = c.collective.replace('_', ' ');
    const [[, , , count]] = await detailRows(page, 'MI300X', collective, 'partition');
    assert.equal(count, '1');
  },
  async 'what is missing is said and not drawn'(page, [model]) {
    const said = await page.locator('#overlap .findings').allTextContents();
    assert.ok(
      said.some((text) =>
        /zero-cta: no bar in \d of \d scenarios \(skipped: .*no collectives by zero-cta/.test(text),
      ),
    );
    assert.ok(
      said.some((text) => /dma: no fraction of ideal in 1 of \d scenarios/.test(text)),
      said,
    );
    const scenarios = scenariosOf(model);
    const card = page.locator(MODEL);
    await choose(card, 'Scenario', { label: scenarios[OVERLAPS.withoutTimeline] });
    await choose(card, 'Policy', { label: 'dma' });
    assert.match(await drawnText(card), /The journal has no timeline of it/);
    await choose(card, 'Scenario', { label: scenarios[OVERLAPS.withoutFraction] });
    assert.match(await drawnText(card), /dma: both .*, no fraction of ideal, bound 0\.\d\d/);
    await choose(card, 'Policy', { label: 'zero-cta' });
    const text = await drawnText(card);
    assert.match(text, /skipped: .*no collectives by zero-cta/);
    assert.ok(!text.includes('rank 0'), text);
  },
  async 'a bar that leaves the axis has its figure at its end'(page, [model]) {
    const { place, fraction } = OVERLAPS.far;
    const { collective } = caseOf(model, place);
    const text = await drawnText(page.locator(`#overlap-overlap-jsonl-sim-mi300x-8-8-${collective}`));
    assert.ok(text.includes(fraction.toFixed(2)) && !text.includes('-40.00'), text);
  },
  async 'no line strikes through the times in a timeline'(page) {
    const card = page.locator(TIMELINE);
    await drawnText(card);
    const order = await card.locator('.chart svg').evaluate((svg) => {
      const all = [...svg.querySelectorAll('path, text, rect')];
      const dashed = all.filter((one) => one.getAttribute('stroke-dasharray'));
      const times = all.filter((one) => /, x [\d.]+$/.test(one.textContent));
      return { lines: dashed.map((one) => all.indexOf(one)), times: times.map((one) => all.indexOf(one)) };
    });
    assert.ok(order.lines.length > 0 && order.times.length > 0);
    assert.ok(Math.min(...order.times) > Math.max(...order.lines), JSON.stringify(order));
  },
  async 'a metric is chosen'(page, [, h200]) {
    const card = page.locator(MANY);
    const bars = overlapsOf(h200).filter(
      ({ case: c }) => c.collective === 'all_gather' && !c.policy.includes(':'),
    ).length;
    assert.match(await drawnText(card), /fraction of ideal/);
    for (const [name, line] of [
      ['speedup', 'one after the other'],
      ['bound', 'as fast as the longer side'],
    ]) {
      await choose(card, 'Metric', { label: name });
      const text = await drawnText(card);
      assert.ok(text.includes(name) && text.includes(line), text);
      assert.equal(await drawnMarks(card.locator('.chart'), 9.5), bars, name);
    }
    const { name } = await saved(page, `${MANY} .tools button:has-text("SVG")`, readFileSync);
    assert.match(name, /^overlap-gemm-beside-all-gather.*-bound-.*h200.*\.svg$/);
  },
  async 'both sides stand on each rank, beside what they take alone'(page, [, h200]) {
    const card = page.locator(TIMELINE);
    const record = overlapsOf(h200).find(
      ({ case: c }) => c.scenario === 'mb1_4G all_to_all' && c.policy === 'priority',
    );
    await choose(card, 'Scenario', { label: record.case.scenario });
    await choose(card, 'Policy', { label: 'priority' });
    const text = await drawnText(card);
    const { metrics, notes } = record;
    const ranks = notes.timeline_us.split(', ').length;
    assert.ok(text.includes(`rank ${ranks - 1}`) && !text.includes(`rank ${ranks}`), text);
    for (const side of ['compute', 'communication']) {
      const alone = metrics[side === 'compute' ? 'compute_seconds' : 'engine_seconds'] * 1e3;
      const [, said, slowed] = new RegExp(
        `${side}.*?: ([\\d.]+) ms alone.*?slowdown ([\\d.]+)`,
      ).exec(text);
      assert.ok(Math.abs(said - alone) < 1e-3 * alone, `${said}, not ${alone}`);
      const slowdown = metrics[`${side}_slowdown`];
      assert.ok(Math.abs(slowed - slowdown) < 1e-3 * slowdown, `${slowed}, not ${slowdown}`);
    }
    const bars = await card.locator('.chart svg path').evaluateAll((list) =>
      list
        .map((bar) => bar.getBoundingClientRect())
        .filter(({ height }) => Math.abs(height - 12) < 2.5)
        .map(({ left, right }) => [left, right]),
    );
    assert.equal(bars.length, 2 * (1 + ranks));
  },
  async 'metrics are in the table and its CSV'(page, [, h200]) {
    await page.getByLabel('Contains').fill('mb1_896M all_gather zero-cta');
    assert.equal(await page.locator('.records tbody tr').count(), 1);
    const { bytes } = await saved(page, 'button:has-text("Save as CSV")', readFileSync);
    const [line] = csvLines(bytes.toString());
    const [{ metrics }] = overlapsOf(h200).filter(
      ({ case: c }) => c.scenario === 'mb1_896M all_gather' && c.policy === 'zero-cta',
    );
    assert.ok(
      (await page.locator('.records tbody tr').textContent()).includes(
        `fraction of ideal ${Number(metrics.fraction_of_ideal.toPrecision(3))}`,
      ),
    );
    for (const [name, value] of Object.entries(metrics))
      assert.equal(Number(line[name]), value, name);
  },
};
