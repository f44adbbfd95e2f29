// What is unlike in a fleet of nodes: suspects, settings that go with slow nodes, missing and failed
// nodes.
import { commas, count, percentage, plural, semicolons, spaces } from '../format.js';
import { panelOf } from '../plot/panel.js';
import { tableOf } from '../table.js';

export const order = 1;
export const section = { id: 'fleet', title: 'Slower than their peers', short: 'Suspects' };

const MOST_OPEN = 20;
const SMALLEST =
  'The smallest places that explain the figures. Those that go with a setting stand behind the others.';

const loss = (value) => `-${percentage(100 * value)}`;

const evidenceText = (some) =>
  commas(...some.map(({ figures, slow, of }) => `${figures} ${count(slow)} of ${count(of)}`));

/** "gemm 6 of 6; follows: collective all_reduce 4 of 4". */
function figuresText({ evidence }) {
  const [own, following] = [false, true].map((follows) =>
    evidenceText(evidence.filter((one) => one.follows === follows)),
  );
  return semicolons(own, following && `follows: ${following}`);
}

const suspectsTable = (suspects) =>
  tableOf(
    suspects,
    { Place: ({ place }) => place },
    { Rate: ({ evidence: [first] }) => loss(first.loss) },
    {
      'How sure': ({ how_sure: sure }) => sure,
      'Slow in figures': figuresText,
      'Slowest figure': ({ evidence: [first] }) => first.slowest,
      'What to run next': ({ next }) => next,
    },
  );

const settingsTable = (settings) =>
  tableOf(
    settings,
    {
      Setting: ({ values }) =>
        semicolons(...Object.entries(values).map(([name, value]) => spaces(name, value))),
    },
    {
      'Slow with it': (one) => `${count(one.slow_with)} of ${count(one.with)}`,
      'Slow without': (one) => `${count(one.slow_without)} of ${count(one.without)}`,
    },
  );

/** What is wrong with a node, beside its figures. */
function faultText({ failed, incomplete, lacking, lacked }) {
  return semicolons(
    failed.length &&
      `${plural(failed.length, 'case')} failed or left wrong data: ${failed[0].case}: ${failed[0].reason}`,
    lacking && `lacks ${plural(lacking, 'figure')} that others have, such as ${lacked}`,
    incomplete.length && `a run did not reach its end: ${incomplete[0]}`,
  );
}

function faultRows({ missing, faults, unreadable }) {
  return [
    ...missing.map((node) => ({ node, text: 'no journal' })),
    ...faults.map((one) => ({ node: one.node, text: faultText(one) })),
    ...unreadable.map(({ journal, reason }) => ({ node: journal, text: reason })),
  ];
}

const faultsTable = (faults) =>
  tableOf(faults, { Node: ({ node }) => node, 'What is wrong': ({ text }) => text });

/** A panel with a table; of many items the first, and the others folded. */
function tablePanel(id, title, caption, items, table) {
  const more = items.slice(MOST_OPEN);
  return panelOf({
    ...{ id, title: [title], caption: [caption], span: 'full' },
    table: table(items.slice(0, MOST_OPEN)),
    folds: more.length ? [{ name: `${count(more.length)} more`, table: table(more) }] : [],
  });
}

export function panels({ data: { fleet } }) {
  if (!fleet) return [];
  const { suspects, settings } = fleet;
  const faults = faultRows(fleet);
  return [
    suspects.length &&
      tablePanel('fleet-suspects', 'Suspects', SMALLEST, suspects, suspectsTable),
    settings.length &&
      tablePanel('fleet-settings', 'Settings that go with slow nodes', '', settings, settingsTable),
    faults.length &&
      tablePanel('fleet-faults', 'Missing, failed or incomplete', '', faults, faultsTable),
  ].filter(Boolean);
}
