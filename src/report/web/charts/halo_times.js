// The time of an iteration against the size of the grid: a panel for each number of ranks, scaling and
// norm, a curve for each engine.
import { count, number, plural } from '../format.js';
import { simulatedNote } from '../labels.js';
import { groupBy } from '../model.js';
import { valueAxis } from '../plot/axes.js';
import { conclusions, curvesOf, isMeasured, section } from '../plot/halo_series.js';
import { MOST_LOOKS } from '../plot/marks.js';
import { sizeCurves } from '../plot/size_curves.js';

export const order = 22;
export { section };

const microseconds = ({ seconds }) => seconds.median * 1e6;
const columnsOf = ({ case: c }) => c.nx;

const columnsAxis = (theme, columns, text, name) =>
  valueAxis(
    theme,
    [...new Set(columns)].sort((a, b) => a - b),
    name,
    text,
  );

const drawn = sizeCurves({
  rateOf: microseconds,
  unit: 'us',
  name: 'an iteration',
  size: 'columns and rows of the grid',
  roof: '',
  lower: true,
  over: { of: columnsOf, text: count, axis: columnsAxis, column: 'Columns' },
});

const panelKey = ({ case: c }) => [c.ranks, c.scaling === 'weak' ? 'weak' : 'strong', c.norm].join('-');

function panel([key, records]) {
  const [{ case: c }] = records;
  const all = curvesOf(records, columnsOf, microseconds).sort((a, b) => a.best - b.best);
  const curves = drawn.tell(all.slice(0, MOST_LOOKS));
  const weak = c.scaling === 'weak' ? ', grid of each rank' : '';
  return {
    id: `halo-times-${key}`,
    title: `Time of an iteration, ${plural(c.ranks, 'rank')}, norm ${c.norm}${weak}`,
    caption: [
      simulatedNote(curves.map(({ place }) => place)),
      'Lower is better.',
      curves.length < all.length ? `The fastest ${curves.length} of ${all.length} curves.` : '',
    ]
      .filter(Boolean)
      .join(' '),
    findings: conclusions(all, {
      ...{ xOf: columnsOf, rateOf: microseconds, lower: true },
      at: (columns) => `On ${count(columns)} columns`,
    }),
    span: 'half',
    height: (width) => (width < 420 ? 270 : 320),
    legend: drawn.legend(curves),
    places: curves.map(({ place }) => place),
    choices: drawn.choices,
    option: (how) => drawn.option(curves, records.map(columnsOf), [], how),
    table: drawn.table(all, ['us', 'GLUP/s'], (record) => [
      number(microseconds(record)),
      number(record.rates.glup_per_s),
    ]),
  };
}

/** Grids of as many rows as columns, of which there are several sizes. */
export function panels(model) {
  const square = model.records.filter((one) => isMeasured(one) && one.case.nx === one.case.ny);
  return [...groupBy(square, panelKey)]
    .filter(([, records]) => new Set(records.map(columnsOf)).size > 1)
    .map(panel);
}
