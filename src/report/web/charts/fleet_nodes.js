// The slowest nodes of a fleet by case, and the pairs of suspects, each beside its peers.
import { plural } from '../format.js';
import { groupBy } from '../model.js';
import { changeText, matrixOption } from '../plot/change_matrix.js';
import { fewer, panelOf } from '../plot/panel.js';
import { tableOf } from '../table.js';

export const order = 2;
export const section = { id: 'fleet-nodes', title: 'Nodes beside their peers', short: 'Nodes' };

const ALL = 'the slowest of each kind';
const NAMES = 150; // pixels of the nodes' names

/** The columns of a choice: of all kinds the figure that is slowest on a node, or a kind's figures. */
function columnsOf(figures, kind) {
  const places = figures.map((figure, i) => ({ ...figure, i }));
  const groups = groupBy(places, (figure) => figure.kind);
  if (kind === ALL) return [...groups].map(([name, some]) => ({ name, of: some }));
  return groups.get(kind).map((one) => ({ name: one.case, of: [one] }));
}

function cellsOf(heat, columns) {
  return heat.flatMap(({ node, changes }, y) =>
    columns.flatMap(({ of }, x) => {
      const known = of.filter(({ i }) => changes[i] !== null);
      if (!known.length) return [];
      const worst = known.reduce((a, b) => (changes[b.i] < changes[a.i] ? b : a));
      const change = changes[worst.i];
      return [{ x, y, change, title: node, rows: { [worst.case]: changeText(change) } }];
    }),
  );
}

function nodesPanel({ heat, figures, nodes }) {
  const judged = figures.map((figure) => (figure.judged ? figure : null));
  const known = judged.flatMap((figure, i) => (figure ? [{ ...figure, i }] : []));
  if (!heat.length || !known.length) return [];
  const kinds = [ALL, ...new Set(known.map(({ kind }) => kind))];
  const height = () => 130 + heat.length * 17;
  const rows = heat.map(({ node }) => node);
  const columnsAt = (which) =>
    columnsOf(known, kinds[which]).map(({ name, of }) => ({
      name,
      of: of.map((one) => known[one.i]),
    }));
  return [
    panelOf({
      id: 'fleet-nodes-heat',
      title: ['Slowest nodes by case'],
      caption: [
        'The slowest device, link or NIC of a node against its peers.',
        fewer(heat.length, nodes.length, 'nodes', 'slowest'),
      ],
      span: 'full',
      height,
      minWidth: NAMES + 300,
      choices: [{ name: 'Figures', values: kinds, start: 0 }],
      option({ width, theme, chosen: [which] }) {
        const columns = columnsAt(which);
        const names = columns.map(({ name }) => name);
        const wide = (width - NAMES) / columns.length > 26;
        return matrixOption(theme, {
          ...{ rows, columns: names, cells: cellsOf(heat, columns) },
          ...{ left: NAMES, top: 120, shownColumns: wide && kinds[which] === ALL },
        });
      },
      table: tableOf(
        cellsOf(heat, columnsAt(0)),
        { Node: ({ title }) => title, Figure: ({ rows: told }) => Object.keys(told)[0] },
        { 'Against its peers': ({ change }) => changeText(change) },
      ),
    }),
  ];
}

function pairsPanel(matrix, number) {
  const { names, cells, node } = matrix;
  const all = cells.map(([from, to, change]) => ({
    ...{ x: to, y: from, change },
    title: `${names[from]} > ${names[to]}`,
    rows: { 'against its peers': changeText(change) },
  }));
  const slow = all.filter(({ change }) => change < -50).length;
  return panelOf({
    id: `fleet-pairs-${number}`,
    title: [node || 'Between nodes', matrix.case],
    caption: ['Rows: source; columns: destination; against the same pair elsewhere.'],
    findings: slow ? [{ text: `${plural(slow, 'pair')} more than 5% slower.`, alert: true }] : [],
    span: names.length > 10 ? 'full' : 'half',
    height: () => 110 + names.length * 26,
    minWidth: 120 + names.length * 30,
    option: ({ theme }) =>
      matrixOption(theme, { rows: names, columns: names, cells: all, left: 110, top: 96 }),
    table: tableOf(
      all,
      { Pair: ({ title }) => title },
      { 'Against its peers': ({ change }) => changeText(change) },
    ),
  });
}

export const panels = ({ data: { fleet } }) =>
  fleet ? [...nodesPanel(fleet), ...fleet.matrices.map(pairsPanel)] : [];
