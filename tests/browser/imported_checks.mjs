// Checks of journals that duet import wrote: the page says which tool measured, and has all figures.
import assert from 'node:assert/strict';

export const importedChecks = {
  async 'the head names the tools that measured, and not Duet'(page, journals) {
    const head = await page.locator('header').first().innerText();
    for (const { environment } of journals) {
      const { tool, version } = environment.imported;
      assert.ok(head.includes([tool, version].filter(Boolean).join(' ')), `${tool} in ${head}`);
    }
    assert.doesNotMatch(head, /Measured with\s+Duet/);
  },

  async 'the environment says where a journal was read from'(page, journals) {
    const texts = await page.locator('.journal').allInnerTexts();
    assert.equal(texts.length, journals.length);
    journals.forEach(({ environment }, i) => {
      assert.ok(texts[i].includes(environment.imported.file), texts[i]);
      assert.ok(texts[i].includes(environment.imported.by), texts[i]);
      assert.doesNotMatch(texts[i], /reproducibly/);
    });
  },

  async 'every record is there'(page, journals) {
    const records = journals.flatMap(({ records: all }) =>
      all.filter(({ type }) => type === 'result'),
    );
    const text = await page.locator('#records').innerText();
    assert.match(text, new RegExp(`${records.length} of ${records.length} records`));
    assert.doesNotMatch(await page.locator('body').innerText(), /undefined|NaN|\[object/);
  },
};
