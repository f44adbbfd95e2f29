// The environment of every journal and run: the exact command, host, devices, links, libraries,
// variables, clocks and power at the start, warnings.
import { h } from './dom.js';
import { fittedBytes, minute, number, plural } from './format.js';
import { groupBy } from './model.js';
import { copyButton } from './save.js';
import { dataTable } from './table.js';

const list = (pairs) =>
  h(
    'dl',
    { class: 'pairs' },
    pairs
      .filter(([, value]) => value)
      .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );

function command(text) {
  return h(
    'div',
    { class: 'command' },
    h('pre', { tabindex: '0', 'aria-label': 'Command' }, h('code', {}, text)),
    copyButton('Copy', () => text),
  );
}

const alike = (device) => JSON.stringify({ ...device, name: null, bus: null, numa_node: null });

/** A row for each group of devices that differ only in name, bus address and NUMA node. */
function deviceGroups(machine) {
  return [...groupBy(machine.devices ?? [], alike).values()].map((some) => {
    const [one] = some;
    const names = some.map(({ name, bus, numa_node: node }) =>
      [name, bus && `(${bus}${node >= 0 ? `, NUMA node ${node}` : ''})`].filter(Boolean).join(' '),
    );
    return list([
      [
        plural(some.length, 'device'),
        `${one.model}${machine.virtual_time ? ' (simulated, virtual time)' : ''}: ${names.join(', ')}`,
      ],
      [
        'each',
        [
          one.compute_units && plural(one.compute_units, 'compute unit'),
          one.memory_bytes && `${fittedBytes(one.memory_bytes)} memory`,
          one.cache_bytes && `${fittedBytes(one.cache_bytes)} last-level cache`,
          one.copy_engines && plural(one.copy_engines, 'copy engine'),
          ...Object.entries(one.details ?? {}).map(([name, text]) => `${name} ${text}`),
        ]
          .filter(Boolean)
          .join('; '),
      ],
    ]);
  });
}

/** Each kind of link, and how many pairs of devices have it. */
function links(machine) {
  const key = ({ kind, count, gb_per_s: rate, peer_access: peer }) =>
    JSON.stringify([kind, count, rate, peer]);
  return [...groupBy(machine.links ?? [], key).values()]
    .map((some) => {
      const [{ kind, count, gb_per_s: rate, peer_access: peer }] = some;
      const promised = rate > 0 ? `${number(rate)} GB/s each way as promised` : 'rate unknown';
      return `${plural(some.length, 'ordered pair')} by ${count > 1 ? `${count} x ` : ''}${kind}, ${promised}, ${peer ? 'peer access' : 'no peer access'}`;
    })
    .join('; ');
}

function host(one) {
  if (!one) return '';
  const cores = [
    one.sockets && plural(one.sockets, 'socket'),
    one.cores && plural(one.cores, 'core'),
    one.threads && plural(one.threads, 'thread'),
  ];
  return [
    one.name,
    one.system,
    one.kernel,
    one.cpu,
    ...cores,
    one.memory_bytes && `${fittedBytes(one.memory_bytes)} memory`,
    one.numa?.length && plural(one.numa.length, 'NUMA node'),
  ]
    .filter(Boolean)
    .join('; ');
}

const joined = (object) =>
  Object.entries(object ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
const variables = (object) =>
  Object.entries(object ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

function telemetry(devices) {
  const entries = Object.entries(devices ?? {});
  if (!entries.length) return null;
  const mean = (reading) => number(reading?.mean);
  const columns = ['Device', 'W', 'limit, W', 'compute MHz', 'memory MHz', '°C'].map((name, i) => ({
    name,
    numeric: i > 0,
  }));
  const rows = entries.map(([name, told]) => [
    name,
    mean(told.watts),
    number(told.watts_limit),
    mean(told.compute_mhz),
    mean(told.memory_mhz),
    mean(told.celsius),
  ]);
  return h(
    'details',
    {},
    h('summary', {}, 'Clocks, power and temperature at the start'),
    dataTable({ columns, rows }, 'Telemetry at the start'),
  );
}

function machines(environment) {
  return (environment.machines ?? []).flatMap((machine) => [
    ...deviceGroups(machine),
    list([['links', links(machine)]]),
  ]);
}

/** Which tool's output a journal was read from. */
function origin({ tool, version, form, file, by }) {
  return list([
    ['measured with', [tool, version].filter(Boolean).join(' ')],
    ['read from', [file, form && `(${form})`].filter(Boolean).join(' ')],
    ['imported by', by],
  ]);
}

/** A run. Machines that are equal to those of the run before are not repeated. */
function run(environment, before, place) {
  const { run: one, imported } = environment;
  const same = before && JSON.stringify(before.machines) === JSON.stringify(environment.machines);
  return h(
    'div',
    { class: 'run' },
    place > 0 && h('h4', {}, `Run ${place}`),
    one?.command && command(one.command),
    imported && origin(imported),
    !one &&
      !imported &&
      h('p', {}, 'Written reproducibly: without time, host, command line and versions.'),
    one &&
      list([
        ['started', minute(one.time_utc)],
        ['Duet', [one.duet, one.revision].filter(Boolean).join(' ')],
        ['host', host(one.host)],
      ]),
    same ? list([['devices', 'as in the run before']]) : machines(environment),
    one &&
      list([
        ['libraries', joined(one.libraries)],
        ['variables', variables(one.variables)],
      ]),
    one && telemetry(one.telemetry),
  );
}

function journal({ name, environments, warnings }) {
  const several = environments.length > 1;
  return h(
    'section',
    { class: 'journal' },
    h('h3', {}, name),
    warnings.length
      ? h(
          'ul',
          { class: 'findings' },
          warnings.map((text) => h('li', { class: 'alert' }, text)),
        )
      : null,
    environments.map((one, i) => run(one, environments[i - 1], several ? i + 1 : 0)),
  );
}

/** @param {import('./model.js').Model} model @returns {Node[]} the section's content */
export const environment = (model) => model.journals.map(journal);
