// Checks of the page of a fleet: who is named, and what is drawn of the nodes and of their pairs.
import assert from 'node:assert/strict';
import { FLEET } from './journals.mjs';
import { dataOfCard, drawnText } from './page_facts.mjs';

export const fleetChecks = {
  async 'the suspect is named first, with what to run next'(page) {
    assert.match(await page.locator('.headline.bad').innerText(), /^6 nodes: 1 suspect\.$/);
    const row = page.locator('#fleet-suspects tbody tr');
    assert.equal(await row.count(), 1);
    const text = await row.innerText();
    assert.ok(text.includes(`${FLEET.slow} ${FLEET.from} - ${FLEET.to}`), text);
    assert.match(text, /-20\.0%.*duet copy --device sim:h200-4:1,3 --kind peer/s);
  },
  async 'the slowest node has the first row'(page) {
    const card = page.locator('#fleet-nodes-heat');
    const drawn = await drawnText(card);
    assert.ok(drawn.includes('node0') && drawn.includes('-20.0%'), drawn);
    const [first] = await dataOfCard(card);
    assert.equal(first.Node, FLEET.slow);
    const before = await card.locator('.chart').innerHTML();
    await card.locator('select').selectOption({ index: 1 });
    assert.notEqual(await card.locator('.chart').innerHTML(), before);
  },
  async 'the slow pair is in the matrix of its node'(page) {
    const card = page.locator('#fleet-pairs-0');
    assert.match(await card.locator('h3').innerText(), new RegExp(`^${FLEET.slow}, copy`));
    assert.equal(await card.locator('.findings .alert').innerText(), '2 pairs more than 5% slower.');
    assert.match(await drawnText(card), /-20\.0%/);
  },
  async 'each case has a distribution'(page) {
    const card = page.locator('#fleet-distribution');
    await drawnText(card);
    const rows = await dataOfCard(card);
    assert.equal(await card.locator('select option').count(), rows.length);
    assert.equal(rows[0]['Far below'], '2');
  },
};
