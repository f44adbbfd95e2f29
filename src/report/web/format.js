// Numbers as text: three to four digits, GB = 10^9 bytes, sizes in binary units. Also the names of
// cases. An absent value is shown as a dash.

export const DASH = '–';

/** Joins what is there: parts, and those of lists, that are false, null or "" are left out. */
const joined =
  (between) =>
  (...parts) =>
    parts.flat().filter(Boolean).join(between);
export const commas = joined(', ');
export const spaces = joined(' ');
export const semicolons = joined('; ');

/** @returns {string} what can stand in an element's id: "a/b.jsonl" -> "a-b-jsonl" */
export const slug = (...parts) => parts.join('/').replaceAll(/[^\w]+/g, '-');

/** @param {number} value @returns {string} three to four digits: 391.8, 35.95, 6.891, 4246 */
export function number(value) {
  if (!Number.isFinite(value)) return DASH;
  const size = Number(Math.abs(value).toPrecision(4)); // rounded first: 9.99996 is 10.00
  if (size === 0) return '0';
  if (size >= 100000) return Math.round(value).toLocaleString('en-US');
  if (size < 0.1) return String(Number(value.toPrecision(3)));
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

/** @returns {string} a ceiling or an axis value without trailing zeros: 450, 989.4, 200,000 */
export function plain(value) {
  const text = number(value);
  return text === DASH || text.includes(',') ? text : String(Number(text));
}

/** @returns {string} a whole number with separators: 5,000 */
export const count = (value) => Number(value).toLocaleString('en-US');

/** @param {number} n @returns {string} "1 case", "3 cases" */
export const plural = (n, word, words = `${word}s`) => `${count(n)} ${n === 1 ? word : words}`;

const SIZES = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];
const ROUNDED = 1e-8; // journals' rates have nine digits

/**
 * A size as on the console: in the largest unit of which it is a multiple.
 * @param {number} value bytes @returns {string} 4 KiB, 2004 MiB, 1000 B; 0 or less: a dash
 */
export function bytes(value) {
  if (!(value > 0)) return DASH;
  for (const [unit, size] of SIZES) {
    const times = Math.round(value / size);
    if (times > 0 && Math.abs(value / size - times) <= ROUNDED * times) return `${times} ${unit}`;
  }
  return `${Math.round(value)} B`;
}

/** @returns {string} a size that is the result of a fit, as on the console: 400.4 KiB */
export function fittedBytes(value) {
  const [unit, size] = SIZES.find(([, least]) => value >= least) ?? ['B', 1];
  return value > 0 && value % size ? `${number(value / size)} ${unit}` : bytes(value);
}

const TIMES = [
  ['s', 1, 3],
  ['ms', 1e-3, 3],
  ['us', 1e-6, 2],
  ['ns', 1e-9, 1],
];

/** @param {number} value seconds @returns {string} as on the console: 8.13 us, 3.272 ms */
export function seconds(value) {
  if (!Number.isFinite(value)) return DASH;
  const [unit, size, digits] = TIMES.find(([, least]) => Math.abs(value) >= least) ?? TIMES.at(-1);
  return `${(value / size).toFixed(digits)} ${unit}`;
}

/** @param {number} value seconds @returns {string} in ms, with four digits at most: 17.2 ms, 445.7 ms */
export const milliseconds = (value) => `${plain(value * 1e3)} ms`;

/** @param {number} ratio @returns {string} 0.873 -> 87%; below 10% with one more digit */
export function percent(ratio) {
  if (!Number.isFinite(ratio)) return DASH;
  const value = ratio * 100;
  return `${Math.abs(value) < 10 && value !== 0 ? value.toFixed(1) : value.toFixed(0)}%`;
}

/** @param {number} value in percent @returns {string} with one decimal: 76.7% */
export const percentage = (value) =>
  Number.isFinite(value) ? `${(Math.round(value * 10) / 10 || 0).toFixed(1)}%` : DASH;

/** @returns {string} a ratio with two decimals, as on the console: 0.97 */
export const ratio = (value) =>
  Number.isFinite(value) ? (Math.round(value * 100) / 100 || 0).toFixed(2) : DASH;

const UNITS = {
  tokens_per_s: 'tokens/s',
  samples_per_s: 'samples/s',
  tflops: 'TFLOP/s',
  gb_per_s: 'GB/s',
  gb_per_s_each: 'GB/s each',
  busbw_gb_per_s: 'GB/s',
  gbit_per_s: 'Gbit/s',
  glup_per_s: 'GLUP/s',
  percent_of_link: '% of link',
  percent_of_rails: '% of rails',
  latency_us: 'us',
};

/** @param {string} rate a rate's name @returns {string} its unit */
export const unitOf = (rate) => UNITS[rate] ?? rate.replaceAll('_', ' ');

/** @returns {string} "391.8 GB/s" */
export const rateText = (rate, value) => `${number(value)} ${unitOf(rate)}`;

/** Matches the unit in the names of rates that are numbers of bytes. */
const BYTES = /^bytes_|_bytes$/;

/**
 * The name and the value of any rate, for lists of several rates.
 * @returns {string} "latency 8.128 us", "n half 4 MiB", "90 percent 64 MiB", "12.30 GB/s each",
 *     "sums 35.276 ms"
 */
export function namedRate(name, value) {
  if (BYTES.test(name)) return `${words(name.replace(BYTES, ''))} ${fittedBytes(value)}`;
  if (name.endsWith('_us')) return `${words(name.slice(0, -3))} ${number(value)} us`;
  if (name.endsWith('_seconds')) return `${words(name.slice(0, -8))} ${seconds(value)}`;
  if (name.endsWith('_percent')) return `${words(name.slice(0, -8))} ${percentage(value)}`;
  if (name.endsWith('_gb_per_s')) return `${words(name.slice(0, -9))} ${number(value)} GB/s`;
  if (name in UNITS) return rateText(name, value);
  if (name.endsWith('_tflops')) return `${words(name.slice(0, -7))} ${number(value)} TFLOP/s`;
  return `${words(name)} ${number(value)}`;
}

/** @returns {string} the date of an ISO time: 2026-11-21 */
export const day = (time) => (time ?? '').slice(0, 10);

/** @returns {string} 2026-11-21 02:00 UTC */
export const minute = (time) => (time ? `${time.slice(0, 16).replace('T', ' ')} UTC` : '');

/** @returns {string} a device's number: "cuda:3" -> "3"; names such as "pinned" stay as they are */
export const place = (name) => String(name ?? '').replace(/^.*:(?=\d+$)/, '');

const DIRECTION = {
  peer: 'peer',
  local: 'local',
  host_to_device: 'host to device',
  device_to_host: 'device to host',
};

/** @returns {string} the text of an axis value: host_to_device -> host to device */
export const words = (text) => DIRECTION[text] ?? String(text ?? '').replaceAll('_', ' ');

/** @returns {string} "8 blocks of 256"; "" for the device's own choice */
export const launch = (c) => spaces(c.grid && plural(c.grid, 'block'), c.block && `of ${c.block}`);

/** @returns {string} "8192 x 8192 x 8192" */
export const shape = (c) => `${c.m} x ${c.n} x ${c.k}`;

/** @returns {string} "0 > 3", "0 <> 3" for both ways, "0" within a device */
export function pathText({ source, destination, bidirectional }) {
  const [from, to] = [place(source), place(destination)];
  if (source === destination) return from;
  return `${from} ${bidirectional ? '<>' : '>'} ${to}`;
}

function copyText(c) {
  const way = spaces(
    words(c.kind),
    words(c.pattern),
    c.source && c.source !== 'all' && pathText(c),
    c.bidirectional && 'both ways',
    c.executor,
    c.issue,
  );
  return commas(way, c.bytes && bytes(c.bytes), launch(c));
}

const typesText = (c) =>
  c.output && c.output !== c.dtype ? `${c.dtype} to ${c.output}` : c.dtype;

const gemmText = (c) =>
  spaces(c.m && shape(c), typesText(c), c.layout, c.accumulate && 'accumulated');

function groupedText(c) {
  const rows = `${c.groups} groups of ${c.rows_per_group} rows (${c.routing})`;
  return commas(
    spaces(c.model, words(c.part)),
    `${rows} x ${c.n} x ${c.k}`,
    spaces(typesText(c), c.layout),
  );
}

function collectiveText(c) {
  const call = [c.collective, c.type, c.op, c.layout, c.root > 0 && `root ${c.root}`];
  const cut = (packet) => packet && `packets of ${bytes(packet)}`;
  return commas(
    spaces(call.filter(Boolean).map(words)),
    c.bytes && bytes(c.bytes),
    cut(c.packet),
    c.in_place && 'in place',
    c.ranks && plural(c.ranks, 'rank'),
    c.against && `against ${c.against}`,
    cut(c.against_packet),
  );
}

/** @returns {string} the name of an overlap scenario; older journals have "in place" in the name */
export const scenarioName = (c) => spaces(c.scenario, c.in_place && 'in place');

const overlapText = (c) =>
  commas(
    scenarioName(c),
    spaces(c.compute, 'beside', words(c.collective), c.bytes && bytes(c.bytes)),
    c.pieces > 1 && plural(c.pieces, 'piece'),
    c.policy && `policy ${c.policy}`,
    c.ranks && plural(c.ranks, 'rank'),
  );

/** "8192x57344x8192 bf16 nn alone, on 124 compute units, 4 ranks" */
const isolatedText = (c) =>
  commas(
    `${commas(words(c.work), c.bytes > 0 && bytes(c.bytes))} alone`,
    c.units > 0 && `on ${plural(c.units, 'compute unit')}`,
    c.ranks && plural(c.ranks, 'rank'),
  );

const fabricText = (c) =>
  commas(
    c.operation && words(c.operation),
    c.bytes && bytes(c.bytes),
    c.bidirectional && c.operation !== 'all_to_all' && 'both ways',
    c.memory && spaces(c.memory, 'memory', c.memory_path),
    c.provider,
    c.nodes > 2 && `${c.nodes} nodes`,
    c.rails && plural(c.rails, 'rail'),
    c.mode && c.rails !== 1 && words(c.mode),
    c.window && `window ${c.window}`,
    c.chunk > 0 && c.chunk < c.bytes && `pieces of ${bytes(c.chunk)}`,
    c.issue && c.issue !== 'direct' && words(c.issue),
    c.producers > 0 && plural(c.producers, 'producer'),
    c.fifo && `fifo ${c.fifo}`,
  );

/** How a step of several devices communicates: "zero3 late-sums"; the case of a record. */
export const wayText = (c) =>
  spaces(
    c.parallel,
    c.tensor_ranks && `tensor groups of ${c.tensor_ranks}`,
    c.keep_gathered && 'keep-gathered',
    c.late_sums && 'late-sums',
    c.bucket !== undefined && `buckets of ${bytes(c.bucket)}`,
  );

/** "small amp, 32 x 512, 6 layers" and, of a run, its text, steps and seed. */
const trainingText = (c) =>
  commas(
    spaces(c.model, c.recipe),
    [c.batch, c.sequence].filter(Boolean).join(' x '),
    c.accumulate && `${c.accumulate} batches a step`,
    c.layers && plural(c.layers, 'layer'),
    c.recompute && `recompute ${c.recompute}`,
    c.optimizer,
    c.parallel && `${wayText(c)} on ${plural(c.ranks, 'device')}`,
    c.data && `on ${c.data}`,
    c.steps && plural(c.steps, 'step'),
    c.seed !== undefined && `seed ${c.seed}`,
  );

const TEXTS = [
  [/^copy/, copyText],
  [/^gemm_grouped$/, groupedText],
  [/^gemm/, gemmText],
  [/^collective/, collectiveText],
  [/^overlap$/, overlapText],
  [/^overlap_isolated$/, isolatedText],
  [/^fabric(_recommendation)?$/, fabricText],
  [/^train/, trainingText],
];
const axesText = (c) => commas(Object.entries(c).map((axis) => axis.map(words).join(' ')));

/**
 * The text of a case. Cases of benchmarks that this file does not know show their axes.
 * @param {{benchmark: string, case: Object}} record
 * @returns {string}
 */
export function caseText({ benchmark, case: c }) {
  const [, text] = TEXTS.find(([name]) => name.test(benchmark)) ?? [null, axesText];
  return text(c);
}
