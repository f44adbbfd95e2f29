// The outcome or verdict of a record as a coloured word: PASS, LOW, SUSPECT-HIGH, wrong, ...
import { h } from './dom.js';

/** @param {string} word of wordOf() in model.js @returns {HTMLElement} */
export const wordMark = (word) =>
  h(`span.word.${word.toLowerCase().replaceAll(/[: ]+/g, '-')}`, word);
