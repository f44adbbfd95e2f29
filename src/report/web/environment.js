// The environment of every journal and run: the exact command, host, devices, links, libraries,
// variables, clocks and power at the start, warnings.
import { folded, h } from './dom.js';
import { commas, fittedBytes, minute, number, plural, semicolons, spaces } from './format.js';
import { groupBy } from './model.js';
import { copyButton } from './save.js';
import { dataTable, tableOf } from './table.js';

/** Values by name; those that are absent are left out. */
const pairs = (facts) =>
  h(
    'dl.pairs',
    Object.entries(facts)
      .filter(([, value]) => value)
      .map(([name, value]) => h('div', h('dt', name), h('dd', value))),
  );

const command = (text) =>
  h(
    'div.command',
    h('pre', { tabindex: '0', 'aria-label': 'Command' }, h('code', text)),
    copyButton('Copy', () => text),
  );

const alike = (device) => JSON.stringify({ ...device, name: null, bus: null, numa_node: null });

/** A row for each group of devices that differ only in name, bus address and NUMA node. */
const deviceGroups = (machine) =>
  [...groupBy(machine.devices ?? [], alike).values()].map((some) => {
    const [one] = some;
    const simulated = machine.virtual_time ? ' (simulated, virtual time)' : '';
    const names = some.map(({ name, bus, numa_node: node }) =>
      spaces(name, bus && `(${bus}${node >= 0 ? `, NUMA node ${node}` : ''})`),
    );
    return pairs({
      [plural(some.length, 'device')]: `${one.model}${simulated}: ${commas(names)}`,
      each: semicolons(
        one.compute_units && plural(one.compute_units, 'compute unit'),
        one.memory_bytes && `${fittedBytes(one.memory_bytes)} memory`,
        one.cache_bytes && `${fittedBytes(one.cache_bytes)} last-level cache`,
        one.copy_engines && plural(one.copy_engines, 'copy engine'),
        joined(one.details),
      ),
    });
  });

/** Each kind of link, and how many pairs of devices have it. */
function links(machine) {
  const key = ({ kind, count, gb_per_s: rate, peer_access: peer }) =>
    JSON.stringify([kind, count, rate, peer]);
  const kinds = [...groupBy(machine.links ?? [], key).values()].map((some) => {
    const [{ kind, count, gb_per_s: rate, peer_access: peer }] = some;
    const several = count > 1 ? `${count} x ` : '';
    return commas(
      `${plural(some.length, 'ordered pair')} by ${several}${kind}`,
      rate > 0 ? `${number(rate)} GB/s each way as promised` : 'rate unknown',
      peer ? 'peer access' : 'no peer access',
    );
  });
  return semicolons(kinds);
}

const host = (one = {}) =>
  semicolons(
    ...[one.name, one.system, one.kernel, one.cpu],
    one.sockets && plural(one.sockets, 'socket'),
    one.cores && plural(one.cores, 'core'),
    one.threads && plural(one.threads, 'thread'),
    one.memory_bytes && `${fittedBytes(one.memory_bytes)} memory`,
    one.numa?.length && plural(one.numa.length, 'NUMA node'),
  );

/** The names and values of an object as a text. */
const joined = (object, between = ' ', join = semicolons) =>
  join(Object.entries(object ?? {}).map((entry) => entry.join(between)));

function telemetry(devices) {
  const entries = Object.entries(devices ?? {});
  if (!entries.length) return null;
  const mean = (name) => ([, told]) => number(told[name]?.mean);
  const table = tableOf(
    entries,
    { Device: ([name]) => name },
    {
      W: mean('watts'),
      'limit, W': ([, told]) => number(told.watts_limit),
      'compute MHz': mean('compute_mhz'),
      'memory MHz': mean('memory_mhz'),
      '°C': mean('celsius'),
    },
  );
  const title = 'Clocks, power and temperature at the start';
  return folded(title, dataTable(table, 'Telemetry at the start'));
}

const machines = (environment) =>
  (environment.machines ?? []).flatMap((machine) => [
    ...deviceGroups(machine),
    pairs({ links: links(machine) }),
  ]);

/** Which tool's output a journal was read from. */
const origin = ({ tool, version, form, file, by }) =>
  pairs({
    'measured with': spaces(tool, version),
    'read from': spaces(file, form && `(${form})`),
    'imported by': by,
  });

/** A run. Machines that are equal to those of the run before are not repeated. */
function run(environment, before, place) {
  const { run: one, imported } = environment;
  const same = before && JSON.stringify(before.machines) === JSON.stringify(environment.machines);
  const none = 'Written reproducibly: without time, host, command line and versions.';
  const versions = one && spaces(one.duet, one.revision);
  const facts = one && { started: minute(one.time_utc), Duet: versions, host: host(one.host) };
  const variables = joined(one?.variables, '=', spaces);
  return h(
    'div.run',
    place > 0 && h('h4', `Run ${place}`),
    one?.command && command(one.command),
    imported && origin(imported),
    !one && !imported && h('p', none),
    one && pairs(facts),
    same ? pairs({ devices: 'as in the run before' }) : machines(environment),
    one && pairs({ libraries: joined(one.libraries), variables }),
    one && telemetry(one.telemetry),
  );
}

function journal({ name, environments, warnings }) {
  const several = environments.length > 1;
  return h(
    'section.journal',
    h('h3', name),
    warnings.length > 0 &&
      h(
        'ul.findings',
        warnings.map((text) => h('li.alert', text)),
      ),
    environments.map((one, i) => run(one, environments[i - 1], several ? i + 1 : 0)),
  );
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export const environment = (model) => model.journals.map(journal);
