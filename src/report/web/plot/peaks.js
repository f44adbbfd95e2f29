// Groups the ceilings of several places, so that nearly equal ones are shown as one.
import { plain } from '../format.js';

const NEAR = 0.03; // relative distance; closer lines have no room for a label each

/**
 * Groups of values that are near each other.
 * @param {{at: number}[]} ceilings
 * @returns {Object[][]} each from the lowest to the highest
 */
export function nearOnes(ceilings) {
  const groups = [];
  for (const one of [...ceilings].sort((a, b) => a.at - b.at)) {
    const group = groups.at(-1);
    if (group && one.at <= group[0].at * (1 + NEAR)) group.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** @returns {string} "989.4", or "1.055 to 1.072" */
export function span(group) {
  const [from, to] = [plain(group[0].at), plain(group.at(-1).at)];
  return from === to ? from : `${from} to ${to}`;
}

/** @returns {number[]} the values of a group, each once, the highest last */
export const valuesOf = (group) => [...new Set(group.map(({ at }) => at))];
