// The report's data as the page uses them. Each record refers to its place (journal and device).

/**
 * Data is what `duet report` inserts. docs/results.md describes records and environments.
 * @typedef {{duet: string, revision: string, made_utc: string, journals: Object[], reported: Object[],
 *     reported_steps: Object[], reported_parallel_steps: Object[], reported_halo: Object[],
 *     reported_collectives: Object[]}} Data
 *     `reported_halo`: iterations of halo exchange of studies; `reported_collectives`: collectives over
 *     nodes; `reported`: GEMM rates of
 *     studies; `reported_steps`: training steps; `reported_parallel_steps`: those of several devices
 * @property {Object[]} [history] figures over time, one for each device and host: `benchmark`, `engine`,
 *     `case`, `rate`, `device`, `model`, `host`, and by time `times`, `values`, `revisions`
 * @property {Object} [fleet] what duet fleet found, in place of journals (fleet/page_data.cc): as its
 *     JSON, and `line`, what it says; `heat`, of the slowest nodes the `changes` by figure;
 *     `distributions` by figure; `matrices` of pairs. Changes are thousandths of the peers' median
 *
 * @typedef {Object} Journal
 * @property {string} name unique: the file name, with folders if several files have that name
 * @property {string} time start of its first run, ISO; "" if it was written reproducibly
 * @property {Object[]} environments one for each run: `machines` and, if it was written, `run`
 * @property {string[]} warnings
 * @property {Object[]} studies what studies report of its overlaps, beside its own figures (data.cc)
 *
 * @typedef {Object} Place a device of a journal, from which results come
 * @property {Journal} journal
 * @property {string} device the name in records
 * @property {string} model of its devices
 * @property {number} count of devices
 * @property {number} [units] compute units of a device
 * @property {string} kind of the devices: "host", "cuda", "hip", "sim"
 * @property {boolean} simulated
 * @property {Object} ceiling the device's limits; {} if none are known
 *
 * @typedef {Object} Verdict
 * @property {string} word "PASS", "LOW", "SUSPECT-HIGH", "unknown: busy" or "no expectation"
 * @property {string} [rate] name of the rate that is judged
 * @property {number} [value] @property {number} [expected] @property {number} [bound]
 * @property {string} [sentence] @property {string} [advice]
 * @property {boolean} [simulated] the figure comes from a simulation
 *
 * @typedef {Object} Model
 * @property {Data} data
 * @property {Journal[]} journals
 * @property {Place[]} places in order of appearance
 * @property {Object[]} records results, each with `place`, `verdict` (may be absent) and `id`
 */

/** @returns {{devices: Object[], machine: Object}|null} the devices that a record's `device` names */
function devicesOf(environment, device) {
  for (const machine of environment?.machines ?? []) {
    if (machine.name === device) return { machine, devices: machine.devices ?? [] };
    const devices = (machine.devices ?? []).filter((one) => one.name === device);
    if (devices.length) return { machine, devices };
  }
  return null;
}

function makePlace(journal, record, ceilings) {
  const found = devicesOf(journal.environments[record.environment ?? 0], record.device);
  const ceiling = ceilings?.[record.device] ?? {};
  const models = [...new Set((found?.devices ?? []).map((device) => device.model))];
  return {
    journal,
    device: record.device,
    model: models.join(' + ') || ceiling.model || record.device,
    count: found?.devices.length ?? 1,
    units: found?.devices[0]?.compute_units,
    kind: found?.devices[0]?.kind ?? '',
    simulated: Boolean(found?.machine.virtual_time),
    ceiling,
  };
}

/** @param {Data} data @returns {Model} */
export function makeModel(data) {
  const model = { data, journals: [], places: [], records: [] };
  for (const source of data.journals ?? []) {
    const environments = source.environments ?? [];
    const time = environments.map(({ run }) => run?.time_utc).find(Boolean) ?? '';
    const journal = {
      name: source.name,
      time,
      environments,
      warnings: source.warnings ?? [],
      studies: source.studies ?? [],
    };
    model.journals.push(journal);
    const places = new Map();
    for (const record of source.records ?? []) {
      if (!places.has(record.device)) {
        places.set(record.device, makePlace(journal, record, source.ceilings));
        model.places.push(places.get(record.device));
      }
      model.records.push({
        ...record,
        case: record.case ?? {},
        rates: record.rates ?? {},
        metrics: record.metrics ?? {},
        place: places.get(record.device),
        id: model.records.length,
      });
    }
  }
  return model;
}

/** @returns {string} the outcome if it is wrong, failed, skipped or derived, else the verdict's word */
export function wordOf(record) {
  if (['wrong', 'failed', 'skipped', 'derived'].includes(record.outcome)) return record.outcome;
  return record.verdict?.word ?? 'no expectation';
}

const TYPES_OF_RECIPES = { amp: 'bf16', fp8: 'fp8_e4m3' };

/**
 * @returns {string|undefined} the type of the elements that are multiplied: recipe amp multiplies
 * bf16, and fp8 both that and fp8
 */
export const typeOf = ({ case: c }) =>
  c.dtype ?? TYPES_OF_RECIPES[c.recipe] ?? c.recipe ?? typeOfWork(c.work);

/** @returns {string|undefined} "bf16" of the GEMM "8192x57344x8192 bf16 nn" */
const typeOfWork = (work) => /^\d+x\d+x\d+ (\w+)/.exec(work ?? '')?.[1];

const OF_ALL_RANKS = ['layer', 'overlap_isolated'];

/** @returns {number} how many devices' rates are added in a record's */
export const addedOf = ({ benchmark, case: c }) =>
  OF_ALL_RANKS.includes(benchmark) ? c.ranks : 1;

/** @returns {string} why a record has no figures; "" if it has */
export const reasonOf = (record) => (record.failed ?? record.skipped)?.reason ?? '';

/** @returns {number|undefined} the judged figure over the expected one */
export const shareOf = ({ verdict }) =>
  verdict?.expected > 0 ? verdict.value / verdict.expected : undefined;

/**
 * The record with the highest rate. SUSPECT-HIGH records count only if there are no others.
 * @param {Object[]} records not empty
 */
export function fastest(records, rate) {
  const believed = records.filter((record) => wordOf(record) !== 'SUSPECT-HIGH');
  const list = believed.length ? believed : records;
  return list.reduce((a, b) => (b.rates[rate] > a.rates[rate] ? b : a));
}

/** Groups records by a key, in order of appearance. @returns {Map<string, Object[]>} */
export function groupBy(records, key) {
  const groups = new Map();
  for (const record of records) {
    const name = key(record);
    if (groups.has(name)) groups.get(name).push(record);
    else groups.set(name, [record]);
  }
  return groups;
}

/** @returns {Object|undefined} the record of another benchmark that has a record's place, engine and case */
export function ofSameCase({ records }, { place, engine, case: c }, benchmark) {
  const axes = JSON.stringify(c);
  return records.find(
    (one) =>
      one.benchmark === benchmark &&
      one.place === place &&
      one.engine === engine &&
      JSON.stringify(one.case) === axes,
  );
}

/** @returns {number} the median of a non-empty list; of two middle values, the higher */
export function upperMedian(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
