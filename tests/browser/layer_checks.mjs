// Checks of the charts of layers: a report of a simulated machine's journal, with an engine that adds far
// more than the others, and of two H200's journals, of Duet and of PyTorch.
import assert from 'node:assert/strict';
import { chartChecks, everyFigureIsDrawn } from './chart_checks.mjs';
import { LAYER } from './journals.mjs';
import { dataOfCard, drawnText, near } from './page_facts.mjs';

const QKV = 'gather-gemm-llama70b-qkv-bf16';
const SIMULATED = `#layer-added-2-x-NVIDIA-H200-simulated-2-${QKV}`;
const H200 = `#layer-added-2-x-NVIDIA-H200-2-${QKV}`;
const TIMELINE = '#layer-timeline-layers-sim-jsonl-sim-h200-devices-2-2';

const layersOf = ({ records }, engine) =>
  records.filter(
    (one) => one.benchmark === 'layer' && one.engine === engine && one.case.part === 'llama70b qkv',
  );
const added = ({ metrics }) => metrics.added_percent;
const leastOf = (records, m) =>
  records.filter(({ case: c }) => c.m === m).reduce((a, b) => (added(b) < added(a) ? b : a));

export const layerChecks = {
  'every figure of layers is drawn': everyFigureIsDrawn,
  'layers are printed': chartChecks['paper is light and has every chart'],
  async 'the way that adds least is drawn, and the data has all'(page, [simulated]) {
    const rows = await dataOfCard(page.locator(SIMULATED));
    const pieces = layersOf(simulated, 'pieces');
    const of = rows.filter(({ Engine }) => Engine === 'pieces');
    assert.equal(of.length, pieces.length);
    const drawn = of.filter(({ Drawn }) => Drawn === 'yes');
    assert.equal(drawn.length, new Set(pieces.map(({ case: c }) => c.m)).size);
    for (const row of drawn) {
      const best = leastOf(pieces, Number(row.Rows.replace(',', '')));
      assert.equal(row.added, `+${added(best).toFixed(1)}%`);
      assert.ok(row.Way.includes(`${best.case.streams} stream`), row.Way);
      near(row['GEMM alone, us'], best.metrics.gemm_seconds * 1e6);
    }
  },
  async 'PyTorch is beside the engines on the same devices'(page, [, layers, torch]) {
    const legend = await page.locator(`${H200} .legend`).textContent();
    for (const [journal, engine] of [[layers, 'pieces'], [torch, 'torch-fused']]) {
      const records = layersOf(journal, engine).filter(({ case: c }) => !c.graph_launches);
      const figure = added(leastOf(records, 8192)).toFixed(1);
      assert.match(legend, new RegExp(`${engine} ?\\+?${figure}% at 8,192`));
    }
    assert.match(await drawnText(page.locator(`${H200}-captured`)), /the GEMM alone/);
  },
  async 'a point that leaves the axis has its figure'(page) {
    const text = await drawnText(page.locator(SIMULATED));
    assert.ok(text.includes(`+${LAYER.torch.added}.0%`), text);
    assert.ok(text.includes('100') && !text.includes('200'), text);
  },
  async 'each multiplication of a call has a bar on its rank'(page, [simulated]) {
    const card = page.locator(TIMELINE);
    for (const record of layersOf(simulated, 'pieces')) {
      const { m, streams } = record.case;
      const name = `gather-gemm, llama70b qkv, ${m.toLocaleString('en-US')} rows, bf16`;
      await card.getByLabel('Scenario').selectOption({ label: name });
      const engine = card.getByLabel('Engine');
      const way = `pieces, 1 range, sums by-compute, ${streams} stream${streams > 1 ? 's' : ''}`;
      await engine.selectOption({ label: way });
      const text = await drawnText(card);
      assert.ok(text.includes(`${name}: ${way}`) && text.includes('rank 1'), text);
      const bars = await card.locator('.chart svg path').evaluateAll(
        (list) =>
          list
            .map((bar) => bar.getBoundingClientRect())
            .filter(({ width, height }) => Math.abs(height - 12) < 2.5 && width > 2).length,
      );
      const ends = [0, 1].flatMap((rank) => record.curves[`gemms_of_rank_${rank}`]);
      assert.equal(bars, ends.length / 2);
    }
  },
  async 'a call without a timeline says so'(page) {
    const card = page.locator(TIMELINE);
    const rows = LAYER.untimed.m.toLocaleString('en-US');
    const name = `gather-gemm, llama70b qkv, ${rows} rows, bf16`;
    await card.getByLabel('Scenario').selectOption({ label: name });
    await card.getByLabel('Engine').selectOption({ label: LAYER.untimed.engine });
    assert.match(await drawnText(card), /The journal has no timeline of it/);
  },
  async 'phases of experts are those of the journal'(page, journals) {
    const records = journals.at(-1).records.filter(({ metrics }) => metrics?.experts_seconds > 0);
    const rows = await dataOfCard(page.locator('figure[id^="moe-phases"]'));
    assert.equal(rows.length, 2);
    for (const { seconds, metrics, case: c } of records) {
      const row = rows.find(({ Series }) => /halves/.test(Series) === (c.overlap === 'halves'));
      near(row['experts, us'], (metrics.experts_seconds + metrics.shared_seconds) * 1e6, 'experts');
      near(row['sums, us'], (metrics.reduce_seconds + metrics.sum_seconds) * 1e6, 'sums');
      near(row['whole layer, us'], seconds.median * 1e6, 'whole layer');
      if (c.overlap === 'none') near(row['dispatch, us'], metrics.dispatch_seconds * 1e6, 'dispatch');
      else assert.equal(row['dispatch, us'], '–');
    }
  },
};
