// Checks of the charts of training: simulated steps with their parts, some beside what a study reports,
// over several batches, of an engine without parts; steps of several devices; and two runs on a text.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { themes } from '../../src/report/web/palette.js';
import { chartChecks, everyFigureIsDrawn } from './chart_checks.mjs';
import { OTHER, RUN, TORCH } from './journals.mjs';
import { csvLines, dataOfCard, drawnText, near, saved } from './page_facts.mjs';

const stepOf = ({ records }, model, recipe, engine = 'duet') =>
  records.find(
    ({ case: c, engine: by }) => c?.model === model && c.recipe === recipe && by === engine,
  );

const sum = (values) => values.reduce((all, value) => all + value, 0);

/** The widths of a chart's bars of this height, in pixels. */
const barWidths = (card, height) =>
  card.locator('.chart svg path').evaluateAll(
    (list, wanted) =>
      list
        .filter((bar) => /^rgba?\(/.test(bar.getAttribute('fill') ?? ''))
        .map((bar) => bar.getBBox())
        .filter((box) => Math.abs(box.height - wanted) < 1.5)
        .map(({ width }) => width),
    height,
  );

/** The number of a chart's hollow grey marks. */
const greyMarks = (card) =>
  card.locator('.chart svg path').evaluateAll(
    (list, grey) =>
      list
        .filter((mark) => mark.getAttribute('stroke') === grey)
        .map((mark) => mark.getBoundingClientRect())
        .filter(({ width, height }) => width > 8 && Math.abs(width - height) < 1).length,
    themes.light.muted,
  );

const scaling = (page, model) => page.locator(`figure[id^="training-scaling-${model}-"]`);

const parallelStep = ({ records }, model, engine, ranks, benchmark = 'train') =>
  records.find(
    (one) =>
      one.benchmark === benchmark &&
      one.engine === engine &&
      one.case.model === model &&
      one.case.ranks === ranks,
  );

export const trainingChecks = {
  'every figure of training is drawn': everyFigureIsDrawn,
  'training is printed': chartChecks['paper is light and has every chart'],
  async 'rates and times stand behind the bars, also of the study'(page, [steps]) {
    const card = page.locator('#training-throughput');
    const text = await drawnText(card);
    assert.ok(text.includes('950,586 tokens/s, 17.2 ms'), text);
    assert.ok(text.includes('124,517 samples/s, 2.06 ms'), text);
    const { rates } = stepOf(steps, 'small', 'amp');
    assert.ok(text.includes(`${Math.round(rates.tokens_per_s).toLocaleString('en-US')} tokens/s`));
    assert.match(await card.locator('.legend').textContent(), /MI350X, reported elsewhere/);
  },
  async 'bars are as long as rates, and FLOP are counted as chosen'(page, [steps]) {
    const card = page.locator('#training-throughput');
    for (const [count, rate] of [
      ['6N', 'six_n_tflops'],
      ['as executed', 'hardware_tflops'],
    ]) {
      await card.getByLabel('FLOP of a step').selectOption({ label: count });
      assert.ok((await drawnText(card)).includes(`TFLOP/s, ${count}`));
      const widths = await barWidths(card, 9);
      const own = ['small', 'medium', '1.5b'].map(
        (model) => stepOf(steps, model, 'amp').rates[rate],
      );
      const [small, medium] = own;
      assert.ok(
        widths.some((one) => widths.some((other) => Math.abs(other / one - medium / small) < 2e-3)),
        `${count}: ${widths}`,
      );
    }
  },
  async 'the data of throughput are those of the journal and of the study'(page, [steps, batches]) {
    const rows = await dataOfCard(page.locator('#training-throughput'));
    const record = stepOf(steps, 'medium', 'bf16');
    const row = rows.find((one) => one.Model === 'medium' && /duet bf16/.test(one.Series));
    near(row.Rate, record.rates.tokens_per_s, 'rate');
    near(row['ms a step'], record.seconds.median * 1e3, 'ms');
    near(row['TFLOP/s, 6N'], record.rates.six_n_tflops, '6N');
    near(row['TFLOP/s, causal attention'], record.rates.tflops, 'model');
    near(row.memory, record.metrics.memory_bytes / 1e9, 'memory');
    const study = rows.find((one) => one.Model === 'medium' && /elsewhere/.test(one.Series));
    assert.deepEqual(
      [study.Rate, study['ms a step'], study['TFLOP/s, 6N'], study.memory],
      ['298,957 tokens/s', '27.4', '222.4', '9.8 GB'],
    );
    assert.match(study['Source, or why there is no figure'], /^AMD MI350X Training Benchmark/);
    const sizes = rows.filter(({ Model, Series }) => Model === 'small' && /duet/.test(Series));
    assert.equal(sizes.length, 2 + batches.records.filter(({ type }) => type === 'result').length);
  },
  async 'parts are those of the journal, in ms and as shares'(page, [steps, , mlp]) {
    const card = page.locator('#training-parts');
    const measured = [...steps.records, ...mlp.records].filter(
      ({ metrics }) => metrics?.gemm_seconds > 0,
    );
    const partsOf = ({ metrics }) =>
      Object.entries(metrics)
        .filter(([name, value]) => name.endsWith('_seconds') && value > 0)
        .map(([, value]) => value);
    await card.getByLabel('Bars').selectOption({ label: 'share of the parts' });
    assert.match(await drawnText(card), /% of the parts/);
    const widths = await barWidths(card, 15);
    assert.equal(widths.length, sum(measured.map((one) => partsOf(one).length)));
    await card.getByLabel('Bars').selectOption({ label: 'ms' });
    await drawnText(card);
    assert.equal((await barWidths(card, 15)).length, widths.length);
    const rows = await dataOfCard(card);
    assert.equal(rows.length, measured.length);
    const record = stepOf(steps, '1.5b', 'amp');
    const row = rows.find((one) => one.Model.startsWith('1.5b') && /amp/.test(one.Series));
    near(row['GEMM, ms'], record.metrics.gemm_seconds * 1e3, 'GEMM');
    near(row['all parts, ms'], sum(partsOf(record)) * 1e3, 'all parts');
    near(row['whole step, ms'], record.seconds.median * 1e3, 'whole step');
  },
  async 'memory is told by kind, or as a whole'(page, [steps]) {
    const card = page.locator('#training-memory');
    assert.ok((await drawnText(card)).includes('20.7 GB')); // the study's 1.5b
    const rows = await dataOfCard(card);
    const record = stepOf(steps, '1.5b', 'bf16');
    const of = (engine) =>
      rows.find((one) => one.Model.startsWith('1.5b') && one.Series.includes(`${engine} bf16`));
    const row = of('duet');
    near(row['activations, GB'], record.metrics.activations_bytes / 1e9, 'activations');
    near(row['all parts, GB'], record.metrics.memory_bytes / 1e9, 'all parts');
    const other = of(OTHER.engine);
    assert.deepEqual([other['all parts, GB'], other['whole step, GB']], ['–', '5']);
  },
  async 'tokens over batches'(page, [, batches]) {
    const card = page.locator('#training-batches-small-6-512');
    assert.match(await drawnText(card), /200,000.*batch, sequences|batch, sequences.*200,000/);
    const rows = await dataOfCard(card);
    assert.deepEqual(
      rows.map(({ Batch }) => Batch),
      ['1', '2', '8'],
    );
    const [record] = batches.records.filter(({ case: c }) => c?.batch === 8 && c.recipe === 'bf16');
    const column = Object.keys(rows[2]).find((name) => /bf16, tokens\/s$/.test(name));
    near(rows[2][column], record.rates.tokens_per_s, column);
  },
  async 'rates of a device over devices, compared with one device'(page, journals) {
    const [, , , one, parallel] = journals;
    const card = scaling(page, '7b');
    assert.match(await drawnText(card), /rate of a device, tokens\/s/);
    const rows = await dataOfCard(card);
    const base = stepOf(one, '7b', 'bf16');
    const own = (devices, name) =>
      rows.find((row) => row.Devices === devices && row.Series.startsWith(name));
    assert.deepEqual([own('1', 'duet').efficiency, own('1', 'duet').hidden], ['100.0%', '–']);
    for (const engine of ['none', 'dma']) {
      const { rates, seconds } = parallelStep(parallel, '7b', engine, 8);
      const row = own('8', engine);
      const share = rates.tokens_per_s / 8 / base.rates.tokens_per_s;
      near(row['tokens/s, all'], rates.tokens_per_s, 'all');
      near(row['tokens/s a device'], rates.tokens_per_s / 8, 'a device');
      near(row.efficiency, 100 * share, 'efficiency');
      near(row['ms a step'], seconds.median * 1e3, 'ms');
      const legend = await card.locator('.legend').textContent();
      assert.ok(legend.includes(`${engine} ddp bf16 ${(100 * share).toFixed(1)}% on 8`), legend);
    }
    const { rates } = parallelStep(parallel, '7b', 'dma', 8, 'train_communication');
    near(own('8', 'dma')['ms exposed'], rates.exposed_seconds * 1e3, 'exposed');
    near(own('8', 'dma').hidden, rates.hidden_percent, 'hidden');
    assert.equal(own('8', 'none')['ms exposed'], '–');
  },
  async 'a bar for each part of one step, and the sums of its parts'(page, journals) {
    const [, , , , , sharded, late] = journals;
    const card = page.locator('#training-timeline');
    const rows = await dataOfCard(card);
    for (const [journal, way, reduced] of [
      [sharded, 'zero3', 'reduce_scatter'],
      [late, 'zero3 late-sums', 'all_to_all'],
    ]) {
      const step = `7b, 8 x 1024, ${way} by dma, bf16, 2 devices`;
      const row = rows.find(({ Step }) => Step.startsWith(step));
      assert.ok(row, `${step}: ${rows.map(({ Step }) => Step)}`);
      await card.getByRole('combobox').selectOption({ label: row.Step });
      assert.match(await drawnText(card), new RegExp(`gemm.*wait.*all_gather.*${reduced}`));
      const record = parallelStep(journal, '7b', 'dma', 2);
      const spansOf = (name) => {
        const ends = record.curves[`timeline_${name}`];
        return ends.filter((_, i) => i % 2).map((end, i) => end - ends[2 * i]);
      };
      const names = Object.keys(record.curves).map((name) => name.replace('timeline_', ''));
      const bars = await barWidths(card, 14);
      assert.equal(bars.length, sum(names.map((name) => spansOf(name).length)));
      for (const name of names) near(row[`${name}, ms`], 1e3 * sum(spansOf(name)), name);
    }
  },
  async 'steps of PyTorch over devices, compared with its own step of one'(page, journals) {
    const [, , , one, parallel] = journals;
    const rows = await dataOfCard(scaling(page, '7b'));
    const row = ({ engine }) => rows.find(({ Series }) => Series.startsWith(engine));
    const base = stepOf(one, '7b', 'bf16', TORCH.one.engine);
    const { rates } = parallelStep(parallel, '7b', TORCH.several.engine, 8);
    assert.equal(row(TORCH.one).Devices, '1');
    near(row(TORCH.one)['tokens/s, all'], base.rates.tokens_per_s, 'one');
    const share = rates.tokens_per_s / 8 / base.rates.tokens_per_s;
    near(row(TORCH.several).efficiency, 100 * share, 'efficiency');
  },
  async 'a roofline has the types of steps, and no steps of several devices'(page) {
    const card = page.locator('#roofline figure');
    await drawnText(card);
    const legend = await card.locator('.legend').textContent();
    assert.ok(/duet bf16/.test(legend) && !/undefined|dma/.test(legend), legend);
    assert.match(legend, /peak, [^:]*bf16[^:]*: 989\.4 TFLOP\/s/);
  },
  async 'what a study reports of several devices, also where it disagrees'(page) {
    const studyOf = async (model) => {
      const rows = await dataOfCard(scaling(page, model));
      return rows
        .filter(({ Series }) => Series === 'AMD Instinct MI350X, reported elsewhere')
        .map((row) => [row.Devices, row['tokens/s, all'], row.efficiency]);
    };
    assert.deepEqual(await studyOf('7b'), [
      ['1', '18,324', '100.0%'],
      ['2', '28,451', '77.6%'],
      ['4', '62,813', '85.7%'],
      ['8', '70,763', '48.3%'],
      ['8', '101,124', '69.0%'],
    ]);
    assert.equal(await greyMarks(scaling(page, '7b')), 5);
    const caption = await scaling(page, '7b').locator('figcaption').textContent();
    assert.match(caption, /8 devices disagree: 70,763 and 101,124 tokens\/s\./);
    assert.deepEqual(await studyOf('13b'), [['8', '50,595', '–']]);
    assert.equal(await greyMarks(scaling(page, '13b')), 1);
    assert.doesNotMatch(await scaling(page, '13b').locator('figcaption').textContent(), /disagree/);
  },
  async 'steps without one of one device have no efficiency'(page) {
    const rows = await dataOfCard(scaling(page, '13b'));
    assert.deepEqual(
      rows.map(({ Devices, efficiency }) => `${Devices} ${efficiency}`),
      ['2 –', '8 –', '2 –', '8 –', '8 –'],
    );
  },
  async 'a point over devices tells what its step costs'(page, [, , , , parallel]) {
    const card = scaling(page, '7b');
    await drawnText(card);
    const colour = themes.light.series[1]; // of the second curve, dma
    const mark = card.locator(`.chart svg path[fill="${colour}"]`).last();
    await mark.hover();
    const tip = card.locator('.tip');
    await tip.waitFor();
    const text = await tip.textContent();
    const { rates } = parallelStep(parallel, '7b', 'dma', 8, 'train_communication');
    assert.match(text, /^dma ddp bf16, 8 devices/);
    assert.ok(text.includes(`hidden${rates.hidden_percent.toFixed(1)}%`), text);
  },
  async 'runs are told apart by what differs, and evaluated'(page, journals) {
    const runs = journals.slice(-RUN.seeds.length);
    const card = page.locator(`#training-losses-${RUN.data}`);
    const names = RUN.seeds.map((seed) => `seed ${seed}`);
    assert.deepEqual(await card.locator('.legend li').allTextContents(), names);
    const rows = await dataOfCard(card);
    assert.equal(rows.length, RUN.steps);
    for (const [i, run] of runs.entries()) {
      const { curves } = run.records.find(({ benchmark }) => benchmark === 'train_run');
      const last = rows.at(-1);
      near(last[`${names[i]}, loss`], curves.loss.at(-1), names[i]);
      near(last[`${names[i]}, evaluated`], curves.evaluation_loss.at(-1), names[i]);
      assert.equal(rows[0][`${names[i]}, evaluated`], '–');
    }
    for (const [name, axis] of [
      ['norm of the gradients', /norm of the gradients/],
      ['learning rate', /learning rate/],
    ]) {
      await card.getByLabel('Curve').selectOption({ label: name });
      assert.match(await drawnText(card), axis);
    }
    await card.getByLabel('Curve').selectOption({ label: 'loss' });
    await card.getByLabel('Steps').selectOption({ label: 'the last half' });
    assert.match(await drawnText(card), /loss/);
  },
  async 'training has key figures, words and metrics in its CSV'(page, [steps]) {
    const small = steps.records.filter(({ case: c }) => c?.model === 'small');
    const best = small.reduce((a, b) => (b.rates.tflops > a.rates.tflops ? b : a));
    const key = page
      .locator('.key tbody tr', { hasText: 'training, small' })
      .filter({ hasText: 'steps' });
    const [, rate, , by] = await key.locator('td').allTextContents();
    near(rate, best.rates.tokens_per_s, 'key figure');
    assert.match(rate, / tokens\/s$/);
    assert.equal(by, `duet, ${best.case.recipe}, ${best.case.batch} x 512`);
    await page.getByLabel('Contains').fill('1.5b amp');
    assert.equal(await page.locator('.records tbody tr').count(), 1);
    const text = await page.locator('.records tbody tr').textContent();
    assert.match(text, /1\.5b amp, 4 x 512, 48 layers/);
    assert.match(text, /tokens\/s/);
    const { bytes } = await saved(page, 'button:has-text("Save as CSV")', readFileSync);
    const [line] = csvLines(bytes.toString());
    const { metrics, rates } = stepOf(steps, '1.5b', 'amp');
    for (const [name, value] of Object.entries({ ...metrics, ...rates }))
      assert.equal(Number(line[name]), value, name);
  },
};
