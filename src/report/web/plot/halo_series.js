// Groups records of halo exchange into curves: over the number of ranks, and over the size of the grid.
import { modeLabel, placeLabels } from '../labels.js';
import { groupBy } from '../model.js';

/** The section of all charts of halo exchange. */
export const section = { id: 'halo', title: 'Halo exchange (Jacobi)', short: 'Halo' };

export const ranksOf = ({ case: c, ranks }) => ranks ?? c.ranks;

/** @returns {number} GB/s of one rank; of a record or of a study's row, which has 8 bytes a point too */
export const rateOf = (one) => {
  const rate = one.rates?.gb_per_s ?? (8e-6 * one.nx * one.ny) / one.milliseconds;
  return rate / ranksOf(one);
};

/** @returns {number} GB/s that the memory of a record's rank allows; 0: not known */
export const boundOf = (record) => {
  const { verdict } = record;
  return verdict?.rate === 'gb_per_s' && verdict.bound > 0 ? verdict.bound / ranksOf(record) : 0;
};

export const isMeasured = ({ benchmark, rates }) => benchmark === 'halo' && rates.gb_per_s > 0;

const makerKey = ({ place, device, mode, engine, case: c }) =>
  [place.journal.name, device, mode, engine, c.overlap, c.graph].join('/');

/**
 * Curves of some records, one for each place, engine, overlap and graph, with points in the order of
 * `xOf`, and the rate `bestOf` and the bound `boundOf` of their last one (0: none).
 */
export function curvesOf(records, xOf, bestOf, boundOf = () => 0) {
  const curves = [...groupBy(records, makerKey).values()].map((some) => {
    const points = [...some].sort((a, b) => xOf(a) - xOf(b));
    const last = points.at(-1);
    return { ...last, points, best: bestOf(last), bound: boundOf(last) };
  });
  const labels = placeLabels(curves.map(({ place }) => place));
  const mode = modeLabel(curves);
  for (const one of curves) {
    const { overlap, graph } = one.case;
    const facts = [one.engine, overlap ? 'overlap' : '', graph ? 'graph' : ''];
    one.name = [labels.get(one.place), facts.filter(Boolean).join(' '), mode(one)]
      .filter(Boolean)
      .join(', ');
  }
  return curves;
}

/** @returns {Object|undefined} the record `halo_scaling` of a measured one */
export function scalingOf(model, { place, engine, case: c }) {
  const axes = JSON.stringify(c);
  return model.records.find(
    (one) =>
      one.benchmark === 'halo_scaling' &&
      one.place === place &&
      one.engine === engine &&
      JSON.stringify(one.case) === axes,
  );
}
