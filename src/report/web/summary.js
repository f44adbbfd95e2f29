// The summary: how many figures are as they should be, in one sentence and in numbers, what is not,
// and the key figures.
import { h } from './dom.js';
import { count, plural } from './format.js';
import { faultList } from './faults.js';
import { ceilings, keyFigures } from './key_figures.js';
import { wordOf } from './model.js';

const WORDS = ['PASS', 'LOW', 'SUSPECT-HIGH', 'no expectation', 'wrong', 'failed', 'skipped'];
const BAD = ['wrong', 'failed', 'LOW', 'SUSPECT-HIGH'];

function tally(records) {
  const counts = Object.fromEntries(WORDS.map((word) => [word, 0]));
  for (const record of records) {
    const word = wordOf(record);
    if (word in counts) counts[word] += 1;
  }
  return counts;
}

const are = (n) => (n === 1 ? 'is' : 'are');

/** Models of the devices that nothing is expected of. */
function unknownDevices(model) {
  const judged = new Set(model.records.filter((r) => r.verdict?.expected > 0).map((r) => r.place.model));
  return [...new Set(model.places.map((place) => place.model))].filter((name) => !judged.has(name));
}

/**
 * The summary in one sentence. It says that all is well only of figures that were held against an
 * expectation.
 */
export function headline(model, counts) {
  const judged = counts.PASS + counts.LOW + counts['SUSPECT-HIGH'];
  const parts = [];
  if (counts.wrong) parts.push(`${plural(counts.wrong, 'case')} left wrong data`);
  if (counts.failed) parts.push(`${plural(counts.failed, 'case')} failed`);
  if (counts.LOW) parts.push(`${count(counts.LOW)} of ${plural(judged, 'figure')} ${are(counts.LOW)} lower than ${counts.LOW === 1 ? 'it' : 'they'} should be`);
  if (counts['SUSPECT-HIGH']) {
    const high = counts['SUSPECT-HIGH'];
    parts.push(`${count(high)}${counts.LOW ? '' : ` of ${plural(judged, 'figure')}`} ${are(high)} higher than the device can give`);
  }
  if (!judged && counts['no expectation']) {
    parts.push(`${parts.length ? 'nothing to hold the rest' : 'Nothing to hold it'} against: no expectation for ${unknownDevices(model).join(', ')}`);
  }
  if (!parts.length && !judged) return `Nothing was measured: ${plural(counts.skipped, 'case')} skipped.`;
  if (!parts.length) parts.push(judged === 1 ? 'The one figure that has an expectation meets it' : `All ${count(judged)} figures that have an expectation meet it`);
  return `${parts.join('; ')}.`;
}

function tiles(counts) {
  const tile = (word) => h('div', { class: counts[word] ? null : 'none' },
    h('dt', {}, h('span', { class: `word ${word.toLowerCase().replaceAll(' ', '-')}` }, word)), h('dd', {}, count(counts[word])));
  return h('dl', { class: 'tiles' }, WORDS.map(tile));
}

function remarks(model, counts) {
  const judged = counts.PASS + counts.LOW + counts['SUSPECT-HIGH'];
  const simulated = [...new Set(model.places.filter((place) => place.simulated).map((place) => place.device))];
  const warnings = model.journals.reduce((sum, journal) => sum + journal.warnings.length, 0);
  return [
    judged && counts['no expectation'] ? `${plural(counts['no expectation'], 'figure')} ${counts['no expectation'] === 1 ? 'has' : 'have'} no expectation and so no verdict.` : '',
    simulated.length ? `Simulated: the figures of ${simulated.join(', ')} come from a model in virtual time, not from hardware.` : '',
    warnings ? `${plural(warnings, 'warning')} about the journals: see Environment.` : '',
  ].filter(Boolean).map((text) => h('p', { class: 'remark' }, text));
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export function summary(model) {
  const counts = tally(model.records);
  const bad = model.records.filter((record) => BAD.includes(wordOf(record)));
  const state = bad.length ? 'bad' : counts.PASS ? 'good' : 'open';
  return [
    h('p', { class: `headline ${state}` }, headline(model, counts)),
    tiles(counts),
    ...remarks(model, counts),
    ...faultList(bad),
    ...keyFigures(model),
    ...ceilings(model),
  ];
}
