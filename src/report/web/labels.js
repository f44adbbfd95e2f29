// What to call the places that results come from, where several stand side by side in a chart:
// only by what differs between them.
import { day } from './format.js';

/** What may differ, in the order in which it is tried. */
const FACTS = [
  (place) => place.model + (place.simulated ? ' (simulated)' : ''),
  (place) => day(place.journal.time) || 'no date',
  (place) => place.journal.name.replace(/\.jsonl$/, ''),
  (place) => place.device,
];

function parts(group, fact, labels) {
  if (group.length === 1 || fact === FACTS.length) return;
  const byValue = new Map();
  for (const place of group) {
    const value = FACTS[fact](place);
    byValue.set(value, [...(byValue.get(value) ?? []), place]);
  }
  for (const [value, members] of byValue) {
    if (byValue.size > 1) for (const place of members) labels.get(place).push(value);
    parts(members, fact + 1, labels);
  }
}

/**
 * @param {Iterable<import('./model.js').Place>} places
 * @returns {Map<import('./model.js').Place, string>} "" where there is only one
 */
export function placeLabels(places) {
  const list = [...new Set(places)];
  const labels = new Map(list.map((place) => [place, []]));
  parts(list, 0, labels);
  return new Map([...labels].map(([place, words]) => [place, words.join(', ')]));
}

/** @returns {string} "4 x NVIDIA H200 (simulated)" */
export const placeName = (place) =>
  (place.count > 1 ? `${place.count} x ` : '') + FACTS[0](place);
