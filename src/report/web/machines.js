// The machines of a report: devices of one model, simulated or real, on one host. Their figures are
// never counted together.
import { placeName } from './labels.js';
import { groupBy } from './model.js';

const hostOf = ({ journal }) =>
  journal.environments.map(({ run }) => run?.host?.name).find(Boolean) ?? '';

/** Of one model; the largest number of devices in any journal. */
function machine(places, host, records) {
  const largest = places.reduce((a, b) => (b.count > a.count ? b : a));
  const { simulated } = largest;
  const name = [placeName(largest), host].filter(Boolean).join(', ');
  return { name, simulated, places, records: records.filter(({ place }) => places.includes(place)) };
}

/**
 * @param {import('./model.js').Model} model
 * @returns {{name: string, simulated: boolean, places: Object[], records: Object[]}[]} in order of
 *     appearance, simulated ones last. Hosts are named where a model stands in several.
 */
export function machinesOf(model) {
  const models = groupBy(model.places, (place) => placeName({ ...place, count: 1 }));
  const all = [...models.values()].flatMap((places) => {
    const hosts = groupBy(places, hostOf);
    return [...hosts].map(([host, some]) =>
      machine(some, hosts.size > 1 ? host || 'unknown host' : '', model.records),
    );
  });
  return [...all.filter(({ simulated }) => !simulated), ...all.filter(({ simulated }) => simulated)];
}
