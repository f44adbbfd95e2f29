// A table of the lines fitted through the curves of copies: latency, limit, and the size from which a
// copy comes near the limit.
import { fittedBytes, launch, number, percent } from '../format.js';
import { modeLabel, placeLabels } from '../labels.js';
import { copyTitle } from '../plot/copies.js';
import { copyCurves } from '../plot/copy_series.js';
import { section } from './copy_curves.js';

export const order = 11;
export { section };

const above = ({ fit, bound }) => bound > 0 && fit.rates.asymptotic_gb_per_s > bound;

const byOf = (one, mode) =>
  [one.case.executor, one.case.issue, launch(one.case), mode(one)].filter(Boolean).join(' ');

export function panels(model) {
  const curves = copyCurves(model).flatMap(([, some]) => some);
  const all = curves.filter((one) => one.fit);
  if (!curves.some(({ fit, noFit }) => fit || noFit)) return [];
  const labels = placeLabels(all.map((one) => one.place));
  const several = labels.size > 1;
  const mode = modeLabel(all);
  const names = [
    'Latency, us',
    'Limit, GB/s',
    'Worst miss',
    'n1/2',
    '50% from',
    '80% from',
    '90% from',
    'Best, GB/s',
    'of roofline',
  ];
  const columns = [...(several ? ['Where'] : []), 'Copy', 'By', ...names].map((name) => ({
    name,
    numeric: names.includes(name),
  }));
  const rows = all.map((one) => {
    const { latency_us: latency, asymptotic_gb_per_s: limit, ...sizes } = one.fit.rates;
    const from = [50, 80, 90].map((share) => fittedBytes(sizes[`bytes_${share}_percent`]));
    return [
      ...(several ? [labels.get(one.place)] : []),
      copyTitle(one.case),
      byOf(one, mode),
      number(latency),
      number(limit) + (above(one) ? ' *' : ''),
      percent(one.miss),
      fittedBytes(sizes.n_half_bytes),
      ...from,
      number(one.best),
      one.bound ? percent(one.best / one.bound) : '–',
    ];
  });
  const caption =
    'seconds = latency + bytes / limit, fitted to each curve and within 10% of all its points (worst ' +
    'miss), with a limit at most 50% over the best that was measured; n1/2 is the size that reaches half of ' +
    'the limit, and from the other sizes on the measured curve stays above that share of it.' +
    (all.some(above) ? ' * Above the roofline: the line does not fit the largest copies.' : '');
  return [
    {
      id: 'copy-fits',
      title: 'Fitted lines',
      caption,
      findings: curves
        .filter((one) => one.noFit)
        .map((one) => `No line through ${copyTitle(one.case)} by ${byOf(one, mode)}: ${one.noFit}.`),
      span: 'full',
      table: rows.length ? { columns, rows } : undefined, // with none, findings alone
    },
  ];
}
