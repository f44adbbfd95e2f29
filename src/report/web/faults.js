// Lists wrong and failed cases, then figures that are LOW or SUSPECT-HIGH. A few are listed one by one;
// many are grouped by what they share, the worst first.
import { folded, h, list } from './dom.js';
import { caseText, commas, percent, plural, rateText } from './format.js';
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
  const { benchmark, place, device, engine } = record;
  return JSON.stringify([wordOf(record), benchmark, place.journal.name, device, engine, shared]);
}

function figures(record) {
  const { rate, value, expected, bound, word } = record.verdict ?? {};
  if (value === undefined) return null;
  const share = () => `${percent(shareOf(record))} of the ${rateText(rate, expected)} expected`;
  const lines = [
    expected > 0 && share(),
    word === 'SUSPECT-HIGH' && bound > 0 && `at most ${rateText(rate, bound)} is possible`,
  ];
  return h(
    'p.figures',
    h('strong', rateText(rate, value)),
    lines.map((text) => text && h('span', text)),
  );
}

function fault(record, labels, more) {
  const { benchmark, place, engine, verdict } = record;
  const where = commas(labels.get(place), engine !== 'duet' && engine);
  const whose = where && h('span.where', ` (${where})`);
  return h(
    'li.fault',
    wordMark(wordOf(record)),
    h(
      'div',
      h('p.case', `${benchmark} ${caseText(record)}`, whose),
      [reasonOf(record), verdict?.sentence].map((text) => text && h('p', text)),
      verdict?.advice && h('p.advice', `To try: ${verdict.advice}`),
      more,
    ),
    figures(record),
  );
}

/** The worst record of a group; the others are folded below it. */
function group(records, labels) {
  const [worst, ...others] = records;
  if (!others.length) return fault(worst, labels);
  const figure = (record) =>
    `${rateText(record.verdict.rate, record.verdict.value)}, ${percent(shareOf(record))} of expected`;
  const line = (record) => [
    `${caseText(record)}: `,
    record.verdict?.value === undefined ? reasonOf(record) : figure(record),
  ];
  const rest = others.length - MOST_LINES;
  const lines = others.slice(0, MOST_LINES).map(line);
  if (rest > 0) lines.push(`${rest} more, among the records`);
  const fold = folded(`and ${plural(others.length, 'other')} like it`, list('ul', lines));
  return fault(worst, labels, fold);
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
  const shown = (some) =>
    h(
      'ol.faults',
      some.map((records) => group(records, labels)),
    );
  const rest = groups.filter((one) => !first.has(one));
  return [
    h('h3', 'Not as it should be'),
    shown(groups.filter((one) => first.has(one))),
    ...(rest.length
      ? [folded(`${plural(rest.length, 'more group')} of figures`, shown(rest))]
      : []),
  ];
}
