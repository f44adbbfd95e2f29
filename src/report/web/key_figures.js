// The best figures of each device beside its ceilings, and where the ceilings come from.
import { folded, h, list } from './dom.js';
import { commas, DASH, plain, ratio } from './format.js';
import { keyRows } from './key_rows.js';
import { modeLabel, placeLabels, placeName } from './labels.js';
import { groupBy } from './model.js';
import { dataTable, headings, tableOf } from './table.js';

/** The table of a device model: a row for each figure and each place that has the figure. */
function modelTable(name, places, records) {
  const labels = placeLabels(places);
  const own = records.filter(({ place }) => places.includes(place));
  const modeOf = (name) => modeLabel(own.filter(({ benchmark }) => benchmark === name));
  const mode = { gemm: modeOf('gemm'), copy: modeOf('copy') };
  const found = places.flatMap((place) => {
    const some = own.filter((record) => record.place === place);
    return keyRows(some, mode).map((row) => ({ ...row, place }));
  });
  if (!found.length) return null;
  const figures = [...new Set(found.map(({ figure }) => figure))];
  const several = found.length > figures.length;
  const table = tableOf(
    found.sort(
      (a, b) => a.order - b.order || figures.indexOf(a.figure) - figures.indexOf(b.figure),
    ),
    {
      Figure: ({ figure }) => figure,
      ...(several ? { Where: ({ place }) => labels.get(place) } : {}),
    },
    { Best: ({ text }) => text },
    { 'of the ceiling': ({ of }) => of, 'Reached by': ({ by }) => by },
  );
  return dataTable(table, `Key figures: ${name}`);
}

const likeOf = ({ figure, like }) => (like === undefined ? figure : like);

/** A figure beside the first machine's that has it. */
function against(row, first) {
  if (!row || row === first) return DASH;
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
      const cells = rows.flatMap((row, i) => [row?.text ?? DASH, ...(i ? [against(row, first)] : [])]);
      return [figure, ...cells];
    });
}

/** @param {Object[]} machines of machines.js @returns {Node[]} a table of what several of them have */
export function sideBySide(machines) {
  const measured = machines.filter(({ records }) => records.some(({ outcome }) => outcome === 'measured'));
  const rows = measured.length > 1 ? besideRows(measured) : [];
  if (!rows.length) return [];
  const names = measured.flatMap(({ name }, i) => [name, ...(i ? ['against the first'] : [])]);
  const title = 'Machines side by side';
  const table = dataTable({ columns: headings(['Best figure'], names), rows }, title);
  return [h('h3', title), h('div.beside-machines', table)];
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export function keyFigures(model) {
  const measured = model.records.filter(({ outcome }) => outcome === 'measured');
  const models = groupBy(model.places, (place) => placeName({ ...place, count: 1 }));
  const blocks = [...models].flatMap(([name, places]) => {
    const table = modelTable(name, places, measured);
    return table ? [h('div.key', models.size > 1 && h('h4', name), table)] : [];
  });
  return blocks.length ? [h('h3', 'Key figures'), ...blocks] : [];
}

function ceilingRows(ceiling) {
  const dense = ceiling.source === 'measured' ? '' : ', dense';
  const peaks = Object.entries(ceiling.tflops ?? {});
  const others = [
    ['memory', ceiling.memory_gb_per_s, 'GB/s'],
    ['link, one pair, one way', ceiling.link_gb_per_s, 'GB/s'],
    ['link to the host, one way', ceiling.host_link_gb_per_s, 'GB/s'],
    ['power', ceiling.watts, 'W'],
  ].filter(([, value]) => value > 0);
  return [...peaks.map(([dtype, peak]) => [`${dtype}${dense}`, peak, 'TFLOP/s']), ...others];
}

const SOURCES = { promised: 'as its maker promises', measured: 'as measured on this machine' };

function ceilingBlock(places, labels) {
  const [{ ceiling, model }] = places;
  const name = ceiling.name || ceiling.model || model;
  const whose = [...new Set(places.map((place) => labels.get(place)))].filter(
    (label) => label && !name.endsWith(label),
  );
  const title = commas(name, SOURCES[ceiling.source], whose.join('; '));
  const table = tableOf(
    ceilingRows(ceiling),
    { Ceiling: ([of]) => of },
    { Value: ([, value, unit]) => `${plain(value)} ${unit}` },
  );
  const sources = ceiling.sources ?? [];
  return h(
    'div.key',
    h('p.name', title),
    dataTable(table, `Ceilings: ${title}`),
    sources.length > 0 && list('ul.sources', sources),
  );
}

/** @param {import('./model.js').Model} model @returns {Node[]} the ceilings of the devices, folded */
export function ceilings(model) {
  const places = model.places.filter(({ ceiling }) => ceilingRows(ceiling).length);
  if (!places.length) return [];
  const labels = placeLabels(places);
  const byCeiling = groupBy(places, ({ ceiling }) => JSON.stringify(ceiling));
  const blocks = [...byCeiling.values()].map((some) => ceilingBlock(some, labels));
  return [folded('What the figures are held against', blocks, '.ceilings')];
}
