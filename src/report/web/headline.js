// The headlines: for each machine what is wrong with it and what its best figures are. What was measured
// and what was simulated never stand in one number.
import { folded, h } from './dom.js';
import { byWeight } from './faults.js';
import { caseText, commas, count, percent, plural, rateText, semicolons } from './format.js';
import { bestFigures } from './key_rows.js';
import { shareOf, wordOf } from './model.js';

const MOST_OPEN = 6; // machines; the others are folded

/** "gemm 8192 x 8192 x 8192 has 62% of the 671 TFLOP/s expected": the worst of some judged records. */
function worst(records) {
  const [record] = [...records].sort(byWeight);
  const { rate, value, expected, bound } = record.verdict;
  const what = `${record.benchmark} ${caseText(record)}`;
  if (wordOf(record) === 'SUSPECT-HIGH') {
    const limit = bound > 0 ? `, and at most ${rateText(rate, bound)} is possible` : '';
    return `${what} has ${rateText(rate, value)}${limit}`;
  }
  return expected > 0
    ? `${what} has ${percent(shareOf(record))} of the ${rateText(rate, expected)} expected`
    : what;
}

/** What is not as it should be among a machine's figures; else how many are as expected. */
function judgement(counts, ofWord) {
  const judged = counts.PASS + counts.LOW + counts['SUSPECT-HIGH'];
  const doubt = (word, text) => {
    if (!counts[word]) return '';
    const all = judged === 1 ? 'the one judged figure' : `of ${plural(judged, 'judged figure')}`;
    const some = judged === 1 ? all : `${count(counts[word])} ${all}`;
    const one = counts[word] === 1;
    return `${some} ${one ? 'is' : 'are'} ${text} (${one ? '' : 'the worst: '}${worst(ofWord(word))})`;
  };
  const faults = semicolons(
    counts.wrong && `${plural(counts.wrong, 'case')} left wrong data`,
    counts.failed && `${plural(counts.failed, 'case')} failed`,
    doubt('LOW', 'lower than expected'),
    doubt('SUSPECT-HIGH', 'higher than possible'),
  );
  if (faults) return faults;
  if (judged === 1) return 'the one judged figure is as expected';
  return judged ? `all ${count(judged)} judged figures are as expected` : '';
}

/**
 * A machine's summary in words, without its name: what is wrong or right, and what is best.
 * @param {Object} machine of machines.js @param {Object<string, number>} counts its records by word
 * @returns {string[]} sentences
 */
export function sentencesOf({ records }, counts) {
  const measured = records.filter(({ outcome }) => outcome === 'measured');
  const best = bestFigures(measured);
  const sentences = [
    judgement(counts, (word) => records.filter((record) => wordOf(record) === word)),
    best && `Best: ${best}`,
  ].filter(Boolean);
  if (!sentences.length && measured.length)
    sentences.push(`${plural(measured.length, 'figure')} without a verdict`);
  const skipped = counts.skipped && `${plural(counts.skipped, 'case')} skipped`;
  if (!sentences.length) sentences.push(commas('nothing was measured', skipped));
  return sentences.map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`);
}

const state = (counts) => {
  if (counts.wrong || counts.failed || counts.LOW || counts['SUSPECT-HIGH']) return 'bad';
  return counts.PASS ? 'good' : 'open';
};

/** @param {{machine: Object, counts: Object<string, number>}[]} tallies @returns {Node[]} */
export function headlines(tallies) {
  if (!tallies.length) return [h('p.headline.open', 'Nothing was measured.')];
  const shown = tallies.map(({ machine, counts }) => {
    const sentences = sentencesOf(machine, counts).join(' ');
    return h(`p.headline.${state(counts)}`, h('strong', machine.name, ': '), sentences);
  });
  if (shown.length <= MOST_OPEN) return shown;
  // What is bad stands open.
  const order = [...tallies.keys()].sort(
    (a, b) => (state(tallies[b].counts) === 'bad') - (state(tallies[a].counts) === 'bad') || a - b,
  );
  const sorted = order.map((at) => shown[at]);
  const rest = sorted.slice(MOST_OPEN);
  return [...sorted.slice(0, MOST_OPEN), folded(plural(rest.length, 'more machine'), rest)];
}
