// The summary: for each machine a headline and the numbers of its figures by verdict; the faults, the
// machines side by side, and the key figures.
import { folded, h, list } from './dom.js';
import { commas, count, plural, words } from './format.js';
import { faultList } from './faults.js';
import { headlines } from './headline.js';
import { ceilings, keyFigures, sideBySide } from './key_figures.js';
import { machinesOf } from './machines.js';
import { groupBy, wordOf } from './model.js';
import { dataTable, tableOf } from './table.js';
import { wordMark } from './word.js';

const WORDS = ['PASS', 'LOW', 'SUSPECT-HIGH', 'unknown: busy', 'no expectation', 'wrong', 'failed', 'skipped'];
const BAD = ['wrong', 'failed', 'LOW', 'SUSPECT-HIGH'];

/** The number of records for each word. */
function tally(records) {
  const counts = Object.fromEntries(WORDS.map((word) => [word, 0]));
  for (const record of records) {
    const word = wordOf(record);
    if (word in counts) counts[word] += 1;
  }
  return counts;
}

const unjudgedRecords = (model) =>
  model.records.filter((record) => wordOf(record) === 'no expectation');

/** Records without a verdict, grouped by the reason, the most frequent first. */
function reasons(model) {
  const reason = ({ verdict }) =>
    verdict?.sentence
      ?.replace(/^no expectation: /, '')
      .replace(/^(no verdict on the machine, [^:]*): .*$/, '$1') || 'no reason given';
  return [...groupBy(unjudgedRecords(model), reason)].sort(([, a], [, b]) => b.length - a.length);
}

/** The numbers of one machine's figures by verdict. */
function tiles({ machine, counts }) {
  const tile = (word) =>
    h(`div${counts[word] ? '' : '.none'}`, h('dt', wordMark(word)), h('dd', count(counts[word])));
  const name = `Figures by verdict${machine.simulated ? ', simulated' : ''}`;
  return h('dl.tiles', { 'aria-label': name }, WORDS.map(tile));
}

/** The numbers of figures by verdict: tiles or, of several machines, a table with a row for each. */
function verdicts(tallies) {
  if (tallies.length < 2) return tallies.map(tiles);
  const name = 'Figures by verdict';
  const number = (word) => [word, ({ counts }) => count(counts[word])];
  const numbers = Object.fromEntries(WORDS.map(number));
  const table = tableOf(tallies, { [name]: ({ machine }) => machine.name }, numbers);
  return [h('div.tallies', dataTable(table, name))];
}

function remarks(model) {
  const places = model.places.filter((place) => place.simulated);
  const simulated = [...new Set(places.map((place) => place.device))].join(', ');
  const warnings = model.journals.reduce((sum, journal) => sum + journal.warnings.length, 0);
  return [
    simulated &&
      `Simulated: the figures of ${simulated} come from a model in virtual time, not from hardware.`,
    warnings && `${plural(warnings, 'warning')} about the journals: see Environment.`,
  ]
    .filter(Boolean)
    .map((text) => h('p.remark', text));
}

/** "12 measured, 3 simulated" */
function numbers(records) {
  const simulated = records.filter(({ place }) => place.simulated).length;
  const measured = records.length - simulated;
  return commas(
    measured && `${count(measured)} measured`,
    simulated && `${count(simulated)} simulated`,
  );
}

/** A folded list of the reasons why figures have no verdict, each with the numbers of figures. */
function unjudged(model) {
  const all = unjudgedRecords(model);
  if (!all.length) return [];
  const lines = reasons(model).map(([text, some]) => `${numbers(some)}: ${text}`);
  const title = `Figures without a verdict: ${numbers(all)}`;
  return [folded(title, list('ul', lines), '.remark')];
}

/** What simulated figures are fitted to and were compared with: a line for each device and kind of work. */
function basis(model) {
  const simulated = model.records.filter(({ notes }) => notes?.fitted_to);
  if (!simulated.length) return [];
  const key = ({ place, notes }) => [place.model, notes.fitted_to, notes.compared_with].join('/');
  const line = (records) => {
    const [{ place, notes }] = records;
    const works = [...new Set(records.map(({ benchmark }) => words(benchmark)))].join(', ');
    return `${place.model}, ${works}: fitted to ${notes.fitted_to}; compared with: ${notes.compared_with}.`;
  };
  const scenarios = [...new Set(simulated.map(({ notes }) => notes.fitted_scenario).filter(Boolean))];
  const lines = [
    ...[...groupBy(simulated, key).values()].map(line),
    ...scenarios.map((text) => `Of single scenarios: ${text}.`),
  ];
  const title = 'What the simulated figures are fitted to';
  return [folded(title, list('ul', lines), '.remark.basis')];
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export function summary(model) {
  const machines = machinesOf(model);
  const tallies = machines.map((machine) => ({ machine, counts: tally(machine.records) }));
  const bad = model.records.filter((record) => BAD.includes(wordOf(record)));
  return [
    ...headlines(tallies),
    ...verdicts(tallies),
    ...remarks(model),
    ...basis(model),
    ...unjudged(model),
    ...faultList(bad),
    ...sideBySide(machines),
    ...keyFigures(model),
    ...ceilings(model),
  ];
}
