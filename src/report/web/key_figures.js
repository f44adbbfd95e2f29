// The best figures of each device beside its ceilings, and where the ceilings come from.
import { h } from './dom.js';
import { plain, ratio } from './format.js';
import { keyRows } from './key_rows.js';
import { modeLabel, placeLabels, placeName } from './labels.js';
import { groupBy } from './model.js';
import { dataTable } from './table.js';

/** The table of a device model: a row for each figure and each place that has the figure. */
function modelTable(name, places, records) {
  const labels = placeLabels(places);
  const own = records.filter(({ place }) => places.includes(place));
  const mode = {
    gemm: modeLabel(own.filter(({ benchmark }) => benchmark === 'gemm')),
    copy: modeLabel(own.filter(({ benchmark }) => benchmark === 'copy')),
  };
  const found = places.flatMap((place) =>
    keyRows(
      own.filter((record) => record.place === place),
      mode,
    ).map((row) => ({ ...row, place })),
  );
  const figures = [...new Set(found.map(({ figure }) => figure))];
  const several = found.length > figures.length;
  const rows = found
    .sort((a, b) => a.order - b.order || figures.indexOf(a.figure) - figures.indexOf(b.figure))
    .map(({ figure, place, text, of, by }) =>
      [figure, several && labels.get(place), text, of, by].filter((cell) => cell !== false),
    );
  const columns = [
    { name: 'Figure' },
    ...(several ? [{ name: 'Where' }] : []),
    { name: 'Best', numeric: true },
    { name: 'of the ceiling' },
    { name: 'Reached by' },
  ];
  return rows.length ? dataTable({ columns, rows }, `Key figures: ${name}`) : null;
}

const likeOf = ({ figure, like }) => (like === undefined ? figure : like);

/** A figure beside the first machine's that has it. */
function against(row, first) {
  if (!row || row === first) return '–';
  if (!row.share) return `x ${plain(Number((row.value / first.value).toPrecision(3)))}`;
  const more = row.value - first.value;
  return `${more < 0 ? '-' : '+'}${ratio(Math.abs(more))}`;
}

/** Of figures that several machines have: each machine's best, beside the first one's. */
function besideRows(machines) {
  const own = machines.map(({ records }) =>
    keyRows(records.filter(({ outcome }) => outcome === 'measured')).filter(
      (row) => likeOf(row) !== null,
    ),
  );
  const shared = [...groupBy(own.flat(), likeOf)].filter(([, some]) => some.length > 1);
  return shared
    .sort(([, [a]], [, [b]]) => a.order - b.order)
    .map(([like, [{ figure }]]) => {
      const rows = own.map((some) => some.find((row) => likeOf(row) === like));
      const first = rows.find(Boolean);
      const cells = rows.flatMap((row, i) => [row?.text ?? '–', ...(i ? [against(row, first)] : [])]);
      return [figure, ...cells];
    });
}

/** @param {Object[]} machines of machines.js @returns {Node[]} a table of what several of them have */
export function sideBySide(machines) {
  const measured = machines.filter(({ records }) => records.some(({ outcome }) => outcome === 'measured'));
  const rows = measured.length > 1 ? besideRows(measured) : [];
  if (!rows.length) return [];
  const columns = [
    { name: 'Best figure' },
    ...measured.flatMap(({ name }, i) => [
      { name, numeric: true },
      ...(i ? [{ name: 'against the first', numeric: true }] : []),
    ]),
  ];
  const title = 'Machines side by side';
  return [
    h('h3', {}, title),
    h('div', { class: 'beside-machines' }, dataTable({ columns, rows }, title)),
  ];
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
    ceiling.source === 'measured' ? dtype : `${dtype}, dense`,
    `${plain(peak)} TFLOP/s`,
  ]);
  if (ceiling.memory_gb_per_s > 0) rows.push(['memory', `${plain(ceiling.memory_gb_per_s)} GB/s`]);
  if (ceiling.link_gb_per_s > 0)
    rows.push(['link, one pair, one way', `${plain(ceiling.link_gb_per_s)} GB/s`]);
  if (ceiling.host_link_gb_per_s > 0)
    rows.push(['link to the host, one way', `${plain(ceiling.host_link_gb_per_s)} GB/s`]);
  if (ceiling.watts > 0) rows.push(['power', `${plain(ceiling.watts)} W`]);
  return rows;
}

const SOURCES = { promised: 'as its maker promises', measured: 'as measured on this machine' };

function ceilingBlock(places, labels) {
  const [{ ceiling, model }] = places;
  const name = ceiling.name || ceiling.model || model;
  const whose = [...new Set(places.map((place) => labels.get(place)))].filter(
    (label) => label && !name.endsWith(label),
  );
  const title = [name, SOURCES[ceiling.source], whose.join('; ')].filter(Boolean).join(', ');
  const columns = [{ name: 'Ceiling' }, { name: 'Value', numeric: true }];
  const sources = (ceiling.sources ?? []).map((text) => h('li', {}, text));
  return h(
    'div',
    { class: 'key' },
    h('p', { class: 'name' }, title),
    dataTable({ columns, rows: ceilingRows(ceiling) }, `Ceilings: ${title}`),
    sources.length > 0 && h('ul', { class: 'sources' }, sources),
  );
}

/** @param {import('./model.js').Model} model @returns {Node[]} the ceilings of the devices, folded */
export function ceilings(model) {
  const places = model.places.filter(({ ceiling }) => ceilingRows(ceiling).length);
  if (!places.length) return [];
  const labels = placeLabels(places);
  const byCeiling = groupBy(places, ({ ceiling }) => JSON.stringify(ceiling));
  return [
    h(
      'details',
      { class: 'ceilings' },
      h('summary', {}, 'What the figures are held against'),
      [...byCeiling.values()].map((some) => ceilingBlock(some, labels)),
    ),
  ];
}
