// A table of the lines fitted through the curves of copies: latency, limit, and the size from which a
// copy comes near the limit.
import { fittedBytes, launch, number, percent, spaces } from '../format.js';
import { modeLabel, placeLabels } from '../labels.js';
import { copyTitle } from '../plot/copies.js';
import { copyCurves } from '../plot/copy_series.js';
import { panelOf } from '../plot/panel.js';
import { tableOf } from '../table.js';
import { section } from './copy_curves.js';

export const order = 11;
export { section };

const above = ({ fit, bound }) => bound > 0 && fit.rates.asymptotic_gb_per_s > bound;

const byOf = (one, mode) => spaces(one.case.executor, one.case.issue, launch(one.case), mode(one));

const CAPTION =
  'seconds = latency + bytes / limit, fitted to each curve and within 10% of all its points (worst ' +
  'miss), with a limit at most 50% over the best that was measured; n1/2 is the size that reaches half of ' +
  'the limit, and from the other sizes on the measured curve stays above that share of it.';

/** A column of the sizes that a rate of the fit is. */
const sizeIn = (rate) => ({ fit }) => fittedBytes(fit.rates[rate]);

export function panels(model) {
  const curves = copyCurves(model).flatMap(([, some]) => some);
  const all = curves.filter((one) => one.fit);
  const lacking = curves.filter((one) => one.noFit);
  if (!all.length && !lacking.length) return [];
  const labels = placeLabels(all.map((one) => one.place));
  const mode = modeLabel(all);
  const table = tableOf(
    all,
    {
      ...(labels.size > 1 ? { Where: ({ place }) => labels.get(place) } : {}),
      Copy: (one) => copyTitle(one.case),
      By: (one) => byOf(one, mode),
    },
    {
      'Latency, us': ({ fit }) => number(fit.rates.latency_us),
      'Limit, GB/s': (one) => number(one.fit.rates.asymptotic_gb_per_s) + (above(one) ? ' *' : ''),
      'Worst miss': ({ miss }) => percent(miss),
      'n1/2': sizeIn('n_half_bytes'),
      '50% from': sizeIn('bytes_50_percent'),
      '80% from': sizeIn('bytes_80_percent'),
      '90% from': sizeIn('bytes_90_percent'),
      'Best, GB/s': ({ best }) => number(best),
      'of roofline': ({ best, bound }) => (bound ? percent(best / bound) : '–'),
    },
  );
  return [
    panelOf({
      id: 'copy-fits',
      title: ['Fitted lines'],
      caption: [
        CAPTION,
        all.some(above) && '* Above the roofline: the line does not fit the largest copies.',
      ],
      findings: lacking.map(
        (one) => `No line through ${copyTitle(one.case)} by ${byOf(one, mode)}: ${one.noFit}.`,
      ),
      span: 'full',
      table: all.length ? table : undefined, // with none, findings alone
    }),
  ];
}
