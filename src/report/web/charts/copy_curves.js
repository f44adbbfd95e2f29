// Copy bandwidth against size: a panel for each way of copying, a curve for each executor and issue.
//
// A chart module exports
//   order     its section's place among the charts (a number)
//   section   { id, title, short } of its section (short: its name in the bar); modules may share one
//   panels(model) -> [{
//     id, title, caption     texts; the id is unique on the page
//     findings               what the chart says in words: strings, or { text, alert: true }
//     span                   'half' (two beside each other where there is room) or 'full'
//     height                 (width) => pixels; minWidth: below it the chart scrolls in its own box
//     legend                 marks (plot/marks.js); their names are those of the series
//     places                 where its figures come from (model.js): named in a saved picture
//     choices                what may be drawn (choices.js): a field each; left out: nothing to choose
//     option({ width, theme, chosen }) -> the chart without its legend, `chosen` a place in the values
//                            of each choice; a panel without one is a table
//     table                  { columns: [{ name, numeric }], rows: [[text]] }: the same in numbers
//   }], as panelOf() of plot/panel.js makes them
// panels() returns [] if the journals have no records for the chart; its section then does not appear.
// A new chart needs only a file in this folder: the bundle includes all of them.
import { launch, number, spaces } from '../format.js';
import { differing, modeLabel, placeLabels } from '../labels.js';
import { groupBy } from '../model.js';
import { copyLooks, copyTitle, makerOf } from '../plot/copies.js';
import { copyCurves } from '../plot/copy_series.js';
import { curveChart, sizesOf } from '../plot/curves.js';
import { points, tellable } from '../plot/marks.js';

export const order = 10;
export const section = { id: 'copy', title: 'Copy bandwidth against size', short: 'Copies' };

const MOST_CURVES = 12; // more would not be readable; the data table has all

const rateOf = ({ rates }) => rates.gb_per_s;
const drawn = curveChart({
  rateOf,
  unit: 'GB/s',
  name: 'bandwidth',
  size: 'size of one copy',
  roof: 'roofline',
  roofsOfModels: true,
  columns: { 'GB/s': (record) => number(rateOf(record)) },
});

/** Names curves by the facts in which they differ: place, executor, issue, launch and mode. */
function named(curves) {
  const labels = placeLabels(curves.map((one) => one.place));
  const launches = differing(curves, [({ case: c }) => launch(c)]);
  const mode = modeLabel(curves);
  for (const one of curves) {
    one.variant = spaces(launches.map((of) => of(one)), mode(one));
    one.name = spaces(labels.get(one.place), one.case.executor, one.case.issue, one.variant);
  }
  return curves;
}

/** Chooses up to MOST_CURVES of the fastest curves, by tellable() of marks.js, in their own order. */
function choose(all) {
  const rate = (some) => Math.max(...some.map(({ best }) => best));
  const makers = [...groupBy(all, makerOf).values()];
  const some = tellable(makers, rate, ([{ place }]) => place).flat();
  const chosen = some.sort((a, b) => b.best - a.best).slice(0, MOST_CURVES);
  return all.filter((one) => chosen.includes(one));
}

function tell(all, noteOf) {
  const curves = choose(all);
  const looks = copyLooks(curves);
  curves.forEach((one, i) => {
    one.mark = { ...looks[i], name: one.name, note: noteOf(one), line: true };
  });
  return curves;
}

/** Marks on a fitted line: the sizes at which it reaches 50, 80 and 90% of its limit, and n1/2. */
function fitPoints({ fit, mark }, level, theme) {
  const limit = fit?.rates.asymptotic_gb_per_s;
  if (!limit || !level) return [];
  const at = (size, share) => (size > 0 ? [[Math.log2(size), level(limit * share)]] : []);
  const shares = [50, 80, 90].flatMap((share) =>
    at(fit.rates[`bytes_${share}_percent`], share / 100),
  );
  const half = points(
    { ...mark, symbol: 'diamond', hollow: true },
    at(fit.rates.n_half_bytes, 0.5),
    theme,
    9,
  );
  const ticks = {
    ...points({ ...mark, hollow: false }, shares, theme),
    symbol: 'rect',
    symbolSize: [2, 17],
  };
  return [ticks, half].map((series) => ({
    ...series,
    silent: true,
    tooltip: { show: false },
    z: 4,
  }));
}

/** Where the curves were measured, and what the marks on them are. */
function about(curves) {
  const paths = [...new Set(curves.map(({ path }) => path))].filter((path) => !path.startsWith('all'));
  const which = curves[0].case.kind === 'local' ? 'Device' : 'Path';
  return [
    paths.length && `${which} ${paths.join('; ')}.`,
    curves.some(({ fit }) => fit) &&
      'Diamond: n1/2; upright ticks: from here on 50, 80, 90% of the limit.',
  ];
}

export function panels(model) {
  const groups = copyCurves(model);
  // All panels share one axis of sizes, so that they can be compared. Rates differ too much for that.
  const xs = sizesOf(groups);
  return groups.map(([key, all]) =>
    drawn.panel({
      all: named(all),
      xs,
      tell,
      id: `copy-${key}`,
      title: [copyTitle(all[0].case)],
      about,
      extra: (curves, level, theme) => curves.flatMap((one) => fitPoints(one, level, theme)),
    }),
  );
}
