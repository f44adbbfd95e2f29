// Labels of the places that results come from. A label contains only facts in which the places of a
// chart differ. Simulated devices are always marked as simulated.
import { day } from './format.js';

/** A model without its maker: "AMD Instinct MI300X" -> "MI300X". */
export const shortModel = (model) =>
  model.replace(/^(NVIDIA|AMD|Intel)\s+(Instinct\s+)?(?=\S)/, '');

/** The facts in which places can differ, in the order in which they are tried. */
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
 * @returns {Map<import('./model.js').Place, string>} the labels; "" if there is only one place
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

/** @returns {Function[]} of some facts (functions of one of a list) those in which the list differs */
export const differing = (list, facts) =>
  facts.filter((fact) => new Set(list.map(fact)).size > 1);

/**
 * @param {Object[]} records or other objects with a `mode`
 * @returns {(record: Object) => string} the mode of a record if the records differ in it, else ""
 */
export function modeLabel(records) {
  const [mode = () => ''] = differing(records, [({ mode: own }) => own ?? '']);
  return mode;
}

/** @returns {string} a note for captions if all places are simulated, else "" */
export const simulatedNote = (places) =>
  [...places].every(({ simulated }) => simulated) ? 'Simulated.' : '';

/** @returns {string} "4 x NVIDIA H200 (simulated)" */
export const placeName = ({ count, model, simulated }) =>
  (count > 1 ? `${count} x ` : '') + model + (simulated ? ' (simulated)' : '');
