// The best figures of each device beside its ceilings, and where the ceilings come from.
import { h } from './dom.js';
import { caseText, number, percent, plain } from './format.js';
import { placeLabels, placeName } from './labels.js';
import { groupBy } from './model.js';
import { boundOf, copyTitle, fastest, wayOrder } from './plot/copies.js';
import { dataTable } from './table.js';

const best = (records) => records.reduce((a, b) => (b.rates.tflops > a.rates.tflops ? b : a));

function gemmRows(records) {
  const gemms = records.filter((r) => r.benchmark === 'gemm' && r.rates.tflops > 0);
  return [...groupBy(gemms, (record) => record.case.dtype)].map(([dtype, some]) => {
    const top = best(some);
    const peak = top.place.ceiling.tflops?.[dtype];
    const kind = top.place.ceiling.source === 'measured' ? 'measured peak' : 'dense peak';
    const of = peak > 0 ? `${percent(top.rates.tflops / peak)} of ${kind} ${plain(peak)}` : '–';
    return [
      `GEMM, ${dtype}`,
      `${number(top.rates.tflops)} TFLOP/s`,
      of,
      `${caseText(top)}, ${top.engine}`,
    ];
  });
}

function copyRows(records) {
  const copies = records.filter((r) => r.benchmark === 'copy' && r.rates.gb_per_s > 0);
  const groups = groupBy(copies, ({ case: c }) => `${copyTitle(c)}, by ${c.executor}`);
  const sorted = [...groups].sort(([, a], [, b]) => wayOrder(a[0].case) - wayOrder(b[0].case));
  return sorted.map(([name, some]) => {
    const top = fastest(some);
    const bound = boundOf(top);
    return [
      name,
      `${number(top.rates.gb_per_s)} GB/s`,
      bound ? `${percent(top.rates.gb_per_s / bound)} of ${plain(bound)}` : '–',
      caseText(top),
    ];
  });
}

/** A table a device model: a row for each figure, and for each of its places that has this figure. */
function modelTable(name, places, records) {
  const labels = placeLabels(places);
  const found = [gemmRows, copyRows].flatMap((rowsOf) =>
    places.flatMap((place) =>
      rowsOf(records.filter((record) => record.place === place)).map(([figure, ...rest]) => ({
        figure,
        place,
        rest,
      })),
    ),
  );
  const figures = [...new Set(found.map(({ figure }) => figure))];
  const several = found.length > figures.length;
  const rows = found
    .sort((a, b) => figures.indexOf(a.figure) - figures.indexOf(b.figure))
    .map(({ figure, place, rest }) => [figure, ...(several ? [labels.get(place)] : []), ...rest]);
  const columns = [
    { name: 'Figure' },
    ...(several ? [{ name: 'Where' }] : []),
    { name: 'Best', numeric: true },
    { name: 'of the ceiling' },
    { name: 'Reached by' },
  ];
  return rows.length ? dataTable({ columns, rows }, `Key figures: ${name}`) : null;
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export function keyFigures(model) {
  const measured = model.records.filter(({ outcome }) => outcome === 'measured');
  const models = groupBy(model.places, (place) => placeName({ ...place, count: 1 }));
  const blocks = [...models]
    .map(([name, places]) => {
      const table = modelTable(name, places, measured);
      return table && h('div', { class: 'key' }, models.size > 1 && h('h4', {}, name), table);
    })
    .filter(Boolean);
  return blocks.length ? [h('h3', {}, 'Key figures'), ...blocks] : [];
}

function ceilingRows(ceiling) {
  const rows = Object.entries(ceiling.tflops ?? {}).map(([dtype, peak]) => [
    `${dtype}, dense`,
    `${plain(peak)} TFLOP/s`,
  ]);
  if (ceiling.memory_gb_per_s > 0) rows.push(['memory', `${plain(ceiling.memory_gb_per_s)} GB/s`]);
  if (ceiling.link_gb_per_s > 0)
    rows.push(['link, one pair, one way', `${plain(ceiling.link_gb_per_s)} GB/s`]);
  if (ceiling.watts > 0) rows.push(['power', `${plain(ceiling.watts)} W`]);
  return rows;
}

const SOURCES = { promised: 'as its maker promises', measured: 'as measured on this machine' };

/** @param {import('./model.js').Model} model @returns {Node[]} what the figures are held against, folded */
export function ceilings(model) {
  const byModel = groupBy(
    model.places.filter((place) => ceilingRows(place.ceiling).length),
    ({ ceiling }) => JSON.stringify(ceiling),
  );
  const blocks = [...byModel.values()].map(([{ ceiling, model: name }]) =>
    h(
      'div',
      { class: 'key' },
      h(
        'h4',
        {},
        [ceiling.name || ceiling.model || name, SOURCES[ceiling.source]].filter(Boolean).join(', '),
      ),
      dataTable(
        {
          columns: [{ name: 'Ceiling' }, { name: 'Value', numeric: true }],
          rows: ceilingRows(ceiling),
        },
        `Ceilings: ${ceiling.name || name}`,
      ),
      ceiling.sources?.length
        ? h(
            'ul',
            { class: 'sources' },
            ceiling.sources.map((text) => h('li', {}, text)),
          )
        : null,
    ),
  );
  return blocks.length
    ? [
        h(
          'details',
          { class: 'ceilings' },
          h('summary', {}, 'What the figures are held against'),
          blocks,
        ),
      ]
    : [];
}
