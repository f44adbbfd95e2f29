// The theme: light, dark or the system's. Has the switch, stores the choice and notifies listeners.
import { h } from './dom.js';
import { themes } from './palette.js';

const KEY = 'duet-report-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
let choice = stored();

// A browser may deny storage to a page opened from a file. The choice then lasts as long as the page.
function stored() {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

function remember() {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    return;
  }
}

/** @returns {import('./palette.js').Theme} the page's current theme */
export function currentTheme() {
  const dark = choice === 'dark' || (choice === 'auto' && system.matches);
  return themes[dark ? 'dark' : 'light'];
}

function apply() {
  document.documentElement.dataset.theme = currentTheme().name;
  for (const listener of listeners) listener();
}

/** Calls `listener` after each change of the theme. */
export function onThemeChange(listener) {
  listeners.add(listener);
}

/** @returns {HTMLElement} the control that chooses the theme */
export function themeSwitch() {
  const change = ({ target }) => {
    choice = target.value;
    remember();
    apply();
  };
  const options = ['auto', 'light', 'dark'].map((name) =>
    h('option', { value: name, selected: name === choice }, name),
  );
  const select = h('select', { id: 'theme', on: { change } }, options);
  return h('label.theme', h('span', 'Theme'), select);
}

/** Sets the theme and from then on follows changes of the system's theme. */
export function startTheme() {
  system.addEventListener('change', apply);
  apply();
}
