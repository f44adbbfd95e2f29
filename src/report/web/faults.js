// Lists wrong and failed cases, then figures that are LOW or SUSPECT-HIGH. A few are listed one by one;
// many are grouped by what they share, the worst first.
import { h } from './dom.js';
import { caseText, percent, plural, rateText } from './format.js';
import { placeLabels } from './labels.js';
import { groupBy, reasonOf, shareOf, wordOf } from './model.js';
import { wordMark } from './word.js';

const ORDER = ['wrong', 'failed', 'LOW', 'SUSPECT-HIGH'];
const FEW = 8;
const MOST_LINES = 40; // of a group; the table of records has the others
const VARYING = ['bytes', 'm', 'n', 'k', 'source', 'destination', 'sets', 'grid', 'block'];

/** Compares faults by weight: by the word, then by the distance from the expected value. */
export function byWeight(a, b) {
  const far = (record) => Math.abs(Math.log(shareOf(record) ?? 1));
  return ORDER.indexOf(wordOf(a)) - ORDER.indexOf(wordOf(b)) || far(b) - far(a) || a.id - b.id;
}

function groupKey(record) {
  const shared = Object.entries(record.case).filter(([axis]) => !VARYING.includes(axis));
  return JSON.stringify([
    wordOf(record),
    record.benchmark,
    record.place.journal.name,
    record.device,
    record.engine,
    shared,
  ]);
}

function figures(record) {
  const { verdict } = record;
  if (verdict?.value === undefined) return null;
  const of =
    verdict.expected > 0 &&
    `${percent(shareOf(record))} of the ${rateText(verdict.rate, verdict.expected)} expected`;
  const bound =
    verdict.word === 'SUSPECT-HIGH' &&
    verdict.bound > 0 &&
    `at most ${rateText(verdict.rate, verdict.bound)} is possible`;
  const line = (text) => text && h('span', {}, text);
  return h(
    'p',
    { class: 'figures' },
    h('strong', {}, rateText(verdict.rate, verdict.value)),
    line(of),
    line(bound),
  );
}

function fault(record, labels, tag, more) {
  const where = [labels.get(record.place), record.engine === 'duet' ? '' : record.engine]
    .filter(Boolean)
    .join(', ');
  return h(
    tag,
    { class: 'fault' },
    wordMark(wordOf(record)),
    h(
      'div',
      {},
      h(
        'p',
        { class: 'case' },
        `${record.benchmark} ${caseText(record)}`,
        where && h('span', { class: 'where' }, ` (${where})`),
      ),
      [reasonOf(record), record.verdict?.sentence].filter(Boolean).map((text) => h('p', {}, text)),
      record.verdict?.advice && h('p', { class: 'advice' }, `To try: ${record.verdict.advice}`),
      more,
    ),
    figures(record),
  );
}

/** The worst record of a group; the others are folded below it. */
function group(records, labels) {
  const [worst, ...others] = records;
  if (!others.length) return fault(worst, labels, 'li');
  const line = (record) =>
    h(
      'li',
      {},
      `${caseText(record)}: `,
      record.verdict?.value === undefined
        ? reasonOf(record)
        : `${rateText(record.verdict.rate, record.verdict.value)}, ${percent(shareOf(record))} of expected`,
    );
  const rest = others.length - MOST_LINES;
  const fold = h(
    'details',
    {},
    h('summary', {}, `and ${plural(others.length, 'other')} like it`),
    h(
      'ul',
      {},
      others.slice(0, MOST_LINES).map(line),
      rest > 0 && h('li', {}, `${rest} more, among the records`),
    ),
  );
  return fault(worst, labels, 'li', fold);
}

/** The FEW groups that are shown open. The worst group of each word is always among them. */
function openGroups(groups) {
  const word = ([record]) => wordOf(record);
  const worst = [...groupBy(groups, word).values()].map(([group]) => group);
  return new Set([...worst, ...groups].slice(0, Math.max(FEW, worst.length)));
}

/** @param {Object[]} bad wrong, failed, LOW and SUSPECT-HIGH records @returns {Node[]} */
export function faultList(bad) {
  if (!bad.length) return [];
  const sorted = [...bad].sort(byWeight);
  const labels = placeLabels(bad.map(({ place }) => place));
  const groups =
    sorted.length > FEW
      ? [...groupBy(sorted, groupKey).values()]
      : sorted.map((record) => [record]);
  const first = openGroups(groups);
  const list = (some) =>
    h(
      'ol',
      { class: 'faults' },
      some.map((records) => group(records, labels)),
    );
  const rest = groups.filter((one) => !first.has(one));
  const fold =
    rest.length &&
    h(
      'details',
      {},
      h('summary', {}, `${plural(rest.length, 'more group')} of figures`),
      list(rest),
    );
  const open = list(groups.filter((one) => first.has(one)));
  return [h('h3', {}, 'Not as it should be'), open, fold].filter(Boolean);
}
