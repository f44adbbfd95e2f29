// Printing: every chart is drawn again, light and at the paper's width. Parts that are folded on the
// screen, except the charts' data, are open on paper.

/** Draws all charts of `cards` for paper before the page is printed and takes them away after. */
export function drawForPaper(cards) {
  let drawn = false;
  let opened = [];
  const set = (paper) => {
    if (paper === drawn) return;
    drawn = paper;
    if (paper) opened = [...document.querySelectorAll('details:not(.data):not([open])')];
    for (const details of opened) details.open = paper;
    for (const { draws } of cards) {
      if (paper) draws.forPaper();
      else draws.forScreen();
    }
  };
  const media = matchMedia('print');
  media.addEventListener('change', () => set(media.matches));
  addEventListener('beforeprint', () => set(true));
  addEventListener('afterprint', () => set(media.matches));
}
