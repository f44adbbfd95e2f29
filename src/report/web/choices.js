// The fields above a chart that choose what it shows, one for each choice.
import { h } from './dom.js';

/**
 * @typedef {Object} Choice
 * @property {string} name
 * @property {string[]} values
 * @property {number} start the index in `values` of the value that is chosen at first
 *
 * @param {Choice[]} choices
 * @param {number[]} chosen for each choice the index of its value; the fields change it
 * @param {string} id of the chart
 * @param {() => void} changed called when a field has changed `chosen`
 * @returns {HTMLElement|null} null if there are no choices
 */
export function choiceFields(choices, chosen, id, changed) {
  if (!choices.length) return null;
  const field = ({ name, values }, i) => {
    const option = (text, at) => h('option', { value: at, selected: at === chosen[i] }, text);
    const change = ({ target }) => {
      chosen[i] = Number(target.value);
      changed();
    };
    const attributes = { id: `${id}-choice-${i}`, on: { change } };
    return h('label', h('span', name), h('select', attributes, values.map(option)));
  };
  return h('div.choices', choices.map(field));
}

/** @returns {string[]} the chosen values */
export const chosenText = (choices, chosen) => choices.map(({ values }, i) => values[chosen[i]]);
