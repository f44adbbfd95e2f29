// The charts' colours in both themes. Series colours have a contrast of 3:1 to the background and
// differ in lightness as well as hue. In no chart do series differ by colour alone: symbols or dashes
// differ too.

/**
 * @typedef {Object} Theme
 * @property {string} name "light" or "dark"
 * @property {string} background, text, muted, grid, roof, low, high
 * @property {string[]} series
 * @property {string[]} diverging seven steps, from far below the middle to far above
 */

/** @type {Object<string, Theme>} */
export const themes = {
  light: {
    name: 'light',
    background: '#ffffff',
    text: '#1b1e23',
    muted: '#565c66',
    grid: '#e3e6ea',
    roof: '#5f6570',
    low: '#b3261e',
    high: '#6d3aa8',
    series: [
      '#0b5fa5',
      '#b8500a',
      '#0f7a5f',
      '#8a3a8c',
      '#7b6200',
      '#1b2430',
      '#b01657',
      '#4c7d94',
    ],
    diverging: ['#a63a00', '#d9762e', '#f3c39a', '#f2f3f5', '#b5d3ea', '#5a9fd0', '#1668a8'],
  },
  dark: {
    name: 'dark',
    background: '#15181d',
    text: '#e6e8eb',
    muted: '#a3a9b3',
    grid: '#2d323a',
    roof: '#9aa1ac',
    low: '#ff8a80',
    high: '#c9a5f5',
    series: [
      '#6fb3ee',
      '#f2995a',
      '#55c9a4',
      '#d79adb',
      '#d3bd55',
      '#e6e8eb',
      '#ff8fb4',
      '#8ec3d9',
    ],
    diverging: ['#f08a45', '#b3602a', '#6b432b', '#2a2e35', '#274861', '#2f74a8', '#5aaeee'],
  },
};

/** @returns {string} the colour of the series with this index */
export const seriesColour = (theme, index) => theme.series[index % theme.series.length];

/** @returns {number[]} red, green, blue of "#rrggbb", 0 to 255 */
const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** @returns {string} the colour "#rrggbb" with 45% transparency */
export const tint = (colour) => `rgba(${parts(colour).join(',')},0.55)`;

/** @returns {string} what tint(colour) looks like on `ground`, as "#rrggbb" */
export const tinted = (colour, ground) =>
  `#${parts(colour)
    .map((part, i) => Math.round(0.55 * part + 0.45 * parts(ground)[i]))
    .map((part) => part.toString(16).padStart(2, '0'))
    .join('')}`;

/** @returns {number} relative luminance of "#rrggbb", as WCAG defines it */
function luminance(colour) {
  const [r, g, b] = parts(colour).map((part) => {
    const c = part / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @returns {string} black or white, whichever is easier to read on `colour` */
export const inkOn = (colour) => (luminance(colour) > 0.18 ? '#111418' : '#ffffff');

const STEPS = [-0.25, -0.1, -0.05, 0.05, 0.1, 0.25]; // borders between the seven colours

/** The texts of the borders between the steps of the diverging scale, for a key. */
export const divergingLabels = STEPS.map(
  (border) => `${border < 0 ? '-' : '+'}${Math.round(Math.abs(border) * 100)}%`,
);

/** @param {number} deviation from the middle, 0.1: 10% above @returns {string} */
export function diverging(theme, deviation) {
  const step = STEPS.findIndex((border) => deviation < border);
  return theme.diverging[step < 0 ? STEPS.length : step];
}
