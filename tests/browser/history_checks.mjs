// Checks of figures over time: which are drawn, by device and host, and that they are those of the runs.
import assert from 'node:assert/strict';
import { HISTORY } from './journals.mjs';
import { dataOfCard, drawnMarks, near } from './page_facts.mjs';

const card = (page) => page.locator('#history-copy');
const DRAWN = HISTORY.days.length + 1; // a mark for each run of both hosts

export const historyChecks = {
  async 'the figure that changed most is drawn at first, on each host'(page, [journal]) {
    assert.equal(await drawnMarks(card(page).locator('.chart'), 8.5), DRAWN);
    const names = await card(page).locator('.legend button').allInnerTexts();
    assert.deepEqual(names.map((name) => name.trim().split(/\s+/).at(0)), [...HISTORY.hosts].reverse());
    const [finding] = await card(page).locator('.findings li').allInnerTexts();
    assert.match(finding, /256 MiB.*GB\/s, sim:h200-4 on old: -20\.0% against the median of 2 earlier runs/);
    assert.match(await card(page).locator('select option').first().innerText(), /256 MiB/);
    const figures = journal.records.filter(({ rates }) => rates && Object.keys(rates).length);
    assert.equal(await card(page).locator('select option').count(), figures.filter(({ benchmark }) => benchmark === 'copy').length);
  },
  async 'every figure of every host is in the data, with its change'(page, [journal]) {
    const rows = await dataOfCard(card(page));
    const slow = rows.filter(({ Change: change }) => change === '-20.0%');
    assert.equal(slow.length, 1);
    assert.deepEqual([slow[0].Host, slow[0].Runs], ['old', '3']);
    near(slow[0].Last, HISTORY.share * Number(slow[0].First.replaceAll(',', '')), 'the last run');
    const others = rows.filter((row) => row.Host === 'old' && row !== slow[0]);
    assert.ok(others.length > 0 && others.every(({ Change: change }) => change === '0.0%'));
    assert.ok(rows.filter(({ Host: host }) => host === 'new').every((row) => row.Runs === '1' && row.Change === '–'));
    assert.ok(journal.records.length > 0);
  },
  async 'another figure can be chosen'(page) {
    const chart = card(page).locator('.chart');
    await drawnMarks(chart, 8.5);
    const before = await chart.innerHTML();
    await card(page).locator('select').selectOption({ index: 1 });
    assert.notEqual(await chart.innerHTML(), before);
    assert.equal(await drawnMarks(chart, 8.5), DRAWN);
  },
};
