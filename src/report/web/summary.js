// The summary: a sentence and the numbers of figures by verdict, the faults, and the key figures.
import { h } from './dom.js';
import { count, plural, words } from './format.js';
import { faultList } from './faults.js';
import { ceilings, keyFigures } from './key_figures.js';
import { bestFigures } from './key_rows.js';
import { groupBy, wordOf } from './model.js';
import { wordMark } from './word.js';

const WORDS = ['PASS', 'LOW', 'SUSPECT-HIGH', 'no expectation', 'wrong', 'failed', 'skipped'];
const BAD = ['wrong', 'failed', 'LOW', 'SUSPECT-HIGH'];

/** The number of records for each word. `simulated`: how many PASS records are simulated. */
function tally(records) {
  const counts = { ...Object.fromEntries(WORDS.map((word) => [word, 0])), simulated: 0 };
  for (const record of records) {
    const word = wordOf(record);
    if (word in counts) counts[word] += 1;
    if (word === 'PASS' && record.verdict.simulated) counts.simulated += 1;
  }
  return counts;
}

const are = (n) => (n === 1 ? 'is' : 'are');

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

/** Why no record has a verdict: the unknown devices or, if all are known, the main reason. */
function whyNone(model) {
  const unknown = model.places.filter(({ ceiling }) => !ceiling.tflops && !ceiling.memory_gb_per_s);
  const names = [...new Set(unknown.map((place) => place.model))].join(', ');
  const all = reasons(model);
  const why = `${all.length > 1 ? 'mostly because ' : ''}${all[0][0]}`;
  return names ? `no expectation for ${names}` : why;
}

/** A sentence for records of which none has a verdict: their number, the best figures, and why. */
function withoutVerdicts(model) {
  const measured = unjudgedRecords(model);
  const kinds = [...new Set(measured.map(({ benchmark }) => words(benchmark)))];
  const what = plural(measured.length, kinds.length === 1 ? `${kinds[0]} case` : 'case');
  const best = bestFigures(measured);
  return `${what} measured${best && `. Best: ${best}`}. No verdicts: ${whyNone(model)}`;
}

/**
 * The summary in one sentence. Only figures that have an expectation count as meeting it.
 */
export function headline(model, counts) {
  const judged = counts.PASS + counts.LOW + counts['SUSPECT-HIGH'];
  const parts = [];
  if (counts.wrong) parts.push(`${plural(counts.wrong, 'case')} left wrong data`);
  if (counts.failed) parts.push(`${plural(counts.failed, 'case')} failed`);
  if (counts.LOW)
    parts.push(
      `${count(counts.LOW)} of ${plural(judged, 'figure')} ${are(counts.LOW)} lower than ${counts.LOW === 1 ? 'it' : 'they'} should be`,
    );
  if (counts['SUSPECT-HIGH']) {
    const high = counts['SUSPECT-HIGH'];
    parts.push(
      `${count(high)}${counts.LOW ? '' : ` of ${plural(judged, 'figure')}`} ${are(high)} higher than the ceiling`,
    );
  }
  if (!judged && counts['no expectation']) parts.push(withoutVerdicts(model));
  if (!parts.length && !judged)
    return counts.skipped
      ? `Nothing was measured: ${plural(counts.skipped, 'case')} skipped.`
      : 'Nothing was measured.';
  if (!parts.length) {
    const well =
      judged === 1
        ? 'The one figure that has an expectation meets it'
        : `All ${count(judged)} figures that have an expectation meet it`;
    const { simulated } = counts;
    const all = simulated === judged ? 'simulated, not measured' : `${count(simulated)} simulated`;
    parts.push(simulated ? `${well} (${all})` : well);
  }
  return `${parts.join('; ')}.`;
}

function tiles({ simulated, ...counts }) {
  const tile = (number, ...label) =>
    h('div', { class: number ? null : 'none' }, h('dt', {}, ...label), h('dd', {}, count(number)));
  const measured = { ...counts, PASS: counts.PASS - simulated };
  const list = WORDS.map((word) => tile(measured[word], wordMark(word)));
  if (simulated) list.splice(1, 0, tile(simulated, wordMark('PASS'), ' simulated'));
  return h('dl', { class: 'tiles' }, list);
}

function remarks(model) {
  const simulated = [
    ...new Set(model.places.filter((place) => place.simulated).map((place) => place.device)),
  ];
  const warnings = model.journals.reduce((sum, journal) => sum + journal.warnings.length, 0);
  return [
    simulated.length
      ? `Simulated: the figures of ${simulated.join(', ')} come from a model in virtual time, not from hardware.`
      : '',
    warnings ? `${plural(warnings, 'warning')} about the journals: see Environment.` : '',
  ]
    .filter(Boolean)
    .map((text) => h('p', { class: 'remark' }, text));
}

/** A folded list of the reasons why figures have no verdict, each with the number of figures. */
function unjudged(model) {
  const { length } = unjudgedRecords(model);
  if (!length) return [];
  return [
    h(
      'details',
      { class: 'remark' },
      h(
        'summary',
        {},
        `Why ${plural(length, 'figure')} ${length === 1 ? 'has' : 'have'} no verdict`,
      ),
      h(
        'ul',
        {},
        reasons(model).map(([text, some]) => h('li', {}, `${count(some.length)}: ${text}`)),
      ),
    ),
  ];
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export function summary(model) {
  const counts = tally(model.records);
  const bad = model.records.filter((record) => BAD.includes(wordOf(record)));
  const state = bad.length ? 'bad' : counts.PASS ? 'good' : 'open';
  return [
    h('p', { class: `headline ${state}` }, headline(model, counts)),
    tiles(counts),
    ...remarks(model),
    ...unjudged(model),
    ...faultList(bad),
    ...keyFigures(model),
    ...ceilings(model),
  ];
}
