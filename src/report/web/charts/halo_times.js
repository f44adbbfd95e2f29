// The time of an iteration against the size of the grid: a panel for each number of ranks, scaling and
// norm, a curve for each engine.
import { count, number, plural } from '../format.js';
import { differing } from '../labels.js';
import { groupBy } from '../model.js';
import { counted, curveChart } from '../plot/curves.js';
import { conclusions, isMeasured, makerKey, named, section } from '../plot/halo_series.js';
import { MOST_LOOKS } from '../plot/marks.js';

export const order = 22;
export { section };

const microseconds = ({ seconds }) => seconds.median * 1e6;
const columnsOf = ({ case: c }) => c.nx;

const drawn = curveChart({
  rateOf: microseconds,
  bestOf: (points) => microseconds(points.at(-1)),
  unit: 'us',
  name: 'an iteration',
  size: 'columns and rows of the grid',
  lower: true,
  over: counted(columnsOf, 'Columns'),
  columns: {
    us: (record) => number(microseconds(record)),
    'GLUP/s': ({ rates }) => number(rates.glup_per_s),
  },
});

const panelKey = ({ case: c }) => [c.ranks, c.scaling === 'weak' ? 'weak' : 'strong', c.norm].join('-');

function panel([key, records]) {
  const [{ case: c }] = records;
  const all = named(drawn.curves(records, makerKey, 1)).sort((a, b) => a.best - b.best);
  return drawn.panel({
    all,
    from: all.slice(0, MOST_LOOKS),
    id: `halo-times-${key}`,
    title: [
      'Time of an iteration',
      plural(c.ranks, 'rank'),
      `norm ${c.norm}`,
      c.scaling === 'weak' && 'grid of each rank',
    ],
    about: () => 'Lower is better.',
    findings: conclusions(all, {
      ...{ xOf: columnsOf, rateOf: microseconds, lower: true },
      at: (columns) => `On ${count(columns)} columns`,
    }),
    xs: records.map(columnsOf),
  });
}

/** Grids of as many rows as columns, of which there are several sizes. */
export function panels(model) {
  const square = model.records.filter((one) => isMeasured(one) && one.case.nx === one.case.ny);
  return [...groupBy(square, panelKey)]
    .filter(([, records]) => differing(records, [columnsOf]).length)
    .map(panel);
}
