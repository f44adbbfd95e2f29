// Checks of halo exchange: its charts against the journal, what a study reports, and the warning of a
// baseline without a verdict. And of collectives over the number of nodes.
import assert from 'node:assert/strict';
import { dataOfCard, drawnText, near } from './page_facts.mjs';

const found = ({ records }, benchmark, axes, engine = 'dma') =>
  records.find(
    (one) =>
      one.benchmark === benchmark &&
      one.engine === engine &&
      Object.entries(axes).every(([name, value]) => one.case[name] === value),
  );

const LARGE = { nx: 16384, scaling: 'strong', ranks: 4, overlap: true };

export const haloChecks = {
  async 'collectives over nodes have a chart at their largest size, with the study beside it'(page, [, journal]) {
    const card = page.locator('.card[id^="collective-nodes-"]');
    assert.equal(await card.count(), 1);
    assert.match(await card.getAttribute('id'), /all_gather/);
    const rows = await dataOfCard(card);
    for (const engine of ['dma', 'vendor-model']) {
      for (const nodes of [2, 4]) {
        const record = found(journal, 'collective', { nodes, bytes: 256 * 2 ** 20 }, engine);
        const row = rows.find((one) => one.Series === engine && one.Nodes === String(nodes));
        near(row['GB/s'], record.rates.busbw_gb_per_s, 'GB/s');
      }
    }
    const study = rows.filter((one) => /reported elsewhere/.test(one.Series));
    assert.deepEqual(study.map((one) => one.Nodes), ['2', '4', '8', '16', '32']);
  },
  async 'every grid has a chart of its scaling, and every number of ranks one of times'(page) {
    const ids = await page.locator('.card[id^="halo-"]').evaluateAll((list) => list.map(({ id }) => id));
    const grids = ['2048-2048', '16384-16384'];
    assert.deepEqual(
      ids.sort(),
      [
        ...grids.flatMap((grid) =>
          ['strong', 'weak'].map((scaling) => `halo-scaling-${grid}-${scaling}-none`),
        ),
        ...['delayed', 'host'].map((norm) => `halo-scaling-16384-16384-strong-${norm}`),
        ...[1, 2, 4].flatMap((ranks) =>
          ['strong', 'weak'].map((scaling) => `halo-times-${ranks}-${scaling}-none`),
        ),
      ].sort(),
    );
  },
  async 'times, rates and efficiencies are those of the journal'(page, [journal]) {
    const rows = await dataOfCard(page.locator('#halo-scaling-16384-16384-strong-none'));
    const row = rows.find((one) => one.Series === 'dma overlap' && one.Ranks === '4');
    const record = found(journal, 'halo', LARGE);
    near(row['ms an iteration'], record.seconds.median * 1e3, 'ms');
    near(row['GB/s a rank'], record.rates.gb_per_s / 4, 'GB/s');
    near(row.efficiency, 100 * found(journal, 'halo_scaling', LARGE).rates.efficiency, '%');
    assert.equal(row['Source, or a warning'], '');
    const times = await dataOfCard(page.locator('#halo-times-4-strong-none'));
    const time = times.find((one) => one.Columns === '16,384');
    near(time['dma overlap, us'], record.seconds.median * 1e6, 'us');
    near(time['dma overlap, GLUP/s'], record.rates.glup_per_s, 'GLUP/s');
  },
  async 'a study stands beside its grid and norm, and the page says why its efficiency is none'(page) {
    const reported = async (norm) => {
      const card = page.locator(`#halo-scaling-16384-16384-strong-${norm}`);
      assert.match(await card.locator('figcaption').textContent(), /is an artefact/);
      return (await dataOfCard(card)).filter((one) => /reported elsewhere/.test(one.Series));
    };
    const delayed = await reported('delayed');
    assert.equal(delayed.length, 4);
    assert.ok(delayed.every((one) => /delayed norm/.test(one.Series)));
    const best = delayed.find((one) => one.Ranks === '128');
    near(best['ms an iteration'], 3.75, 'ms');
    near(best['GB/s a rank'], (8e-6 * 16384 ** 2) / 3.75 / 128, 'GB/s');
    assert.equal((await reported('host')).length, 24);
    for (const other of ['strong-none', 'weak-none']) {
      const card = page.locator(`#halo-scaling-16384-16384-${other}`);
      assert.doesNotMatch(await card.locator('figcaption').textContent(), /artefact/);
      assert.ok((await dataOfCard(card)).every((one) => !/reported elsewhere/.test(one.Series)));
    }
  },
  async 'a chart of scaling has the memory of a rank as its bound, one of times none'(page) {
    const drawn = (id) => drawnText(page.locator(`#halo-${id}`));
    assert.match(await drawn('scaling-16384-16384-strong-none'), /memory 4[,.]?8\d\d GB\/s/);
    assert.doesNotMatch(await drawn('scaling-2048-2048-strong-none'), /memory/); // all in the cache
    assert.doesNotMatch(await drawn('times-4-strong-none'), /memory/);
  },
  async 'an efficiency over a baseline without a verdict has a warning'(page) {
    const rows = await dataOfCard(page.locator('#halo-scaling-2048-2048-strong-none'));
    const row = rows.find((one) => one.Series === 'dma' && one.Ranks === '2');
    assert.match(
      row['Source, or a warning'],
      /^its baseline is not PASS: no expectation: the fields of a rank fit in the cache$/,
    );
  },
};
