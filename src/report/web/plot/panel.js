// What the panels of charts share: their form is described in charts/copy_curves.js.
import { commas, slug, spaces } from '../format.js';

/** Half of the page's width, with the height of most charts. */
const HALF = {
  findings: [],
  span: 'half',
  height: (width) => (width < 420 ? 270 : 320),
  legend: [],
};

/**
 * A panel. Its `title` and `caption` are lists of parts and of sentences, of which absent ones are left out;
 * its `id` may have any letters. What is not stated is as in HALF.
 */
export const panelOf = ({ id, title, caption = [], ...own }) => ({
  ...HALF,
  ...own,
  id: slug(id),
  title: commas(title),
  caption: spaces(caption),
});

/** A sentence if not all of the curves, bars ... are drawn. */
export const fewer = (shown, all, of = 'curves', which = 'fastest') =>
  shown < all && `The ${which} ${shown} of ${all} ${of}.`;
