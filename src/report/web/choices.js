// The fields above a chart that choose what it shows, one for each choice.
import { h } from './dom.js';

/**
 * @typedef {Object} Choice
 * @property {string} name
 * @property {string[]} values
 * @property {number} start the place in `values` of what is chosen first
 *
 * @param {Choice[]} choices
 * @param {number[]} chosen a place in the values of each; changed by the fields
 * @param {string} id of the chart
 * @param {() => void} changed
 * @returns {HTMLElement|null} null where there is nothing to choose
 */
export function choiceFields(choices, chosen, id, changed) {
  if (!choices.length) return null;
  const field = ({ name, values }, i) => {
    const option = (text, at) => h('option', { value: at, selected: at === chosen[i] }, text);
    const select = h('select', { id: `${id}-choice-${i}` }, values.map(option));
    select.addEventListener('change', () => {
      chosen[i] = Number(select.value);
      changed();
    });
    return h('label', {}, h('span', {}, name), select);
  };
  return h('div', { class: 'choices' }, choices.map(field));
}

/** @returns {string[]} what is chosen, in words */
export const chosenText = (choices, chosen) => choices.map(({ values }, i) => values[chosen[i]]);
