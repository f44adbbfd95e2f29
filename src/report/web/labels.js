// What to call the places that results come from, where several stand side by side in a chart:
// only by what differs between them. Figures of a simulated device are always called so.
import { day } from './format.js';

/** A model without its maker: "AMD Instinct MI300X" -> "MI300X". */
export const shortModel = (model) =>
  model.replace(/^(NVIDIA|AMD|Intel)\s+(Instinct\s+)?(?=\S)/, '');

/** What may differ, in the order in which it is tried. */
const FACTS = [
  (place) => shortModel(place.model),
  (place) => day(place.journal.time) || 'no date',
  (place) => place.journal.name.replace(/\.jsonl(?=$| \()/, ''),
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
  const mixed = new Set(list.map(({ simulated }) => simulated)).size > 1;
  return new Map(
    [...labels].map(([place, words]) => [
      place,
      words.join(', ') + (mixed && place.simulated ? ' (simulated)' : ''),
    ]),
  );
}

/**
 * @param {Object[]} records or anything with a `mode`
 * @returns {(record: Object) => string} how a record was sampled, where that differs; else ""
 */
export function modeLabel(records) {
  const several = new Set(records.map(({ mode }) => mode ?? '')).size > 1;
  return ({ mode }) => (several ? (mode ?? '') : '');
}

/** @returns {string} for the caption of a chart whose figures all come from models; else "" */
export const simulatedNote = (places) =>
  [...places].every(({ simulated }) => simulated) ? 'Simulated.' : '';

/** @returns {string} "4 x NVIDIA H200 (simulated)" */
export const placeName = ({ count, model, simulated }) =>
  (count > 1 ? `${count} x ` : '') + model + (simulated ? ' (simulated)' : '');
