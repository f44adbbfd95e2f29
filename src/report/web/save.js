// Saves charts as SVG, PNG and CSV and texts as files, and copies texts to the clipboard.
import { tableCsv } from './csv.js';
import { button, h } from './dom.js';
import { spaces } from './format.js';
import { placeName } from './labels.js';
import { common, hiding, svgText } from './plot/draw.js';
import { markColour, points, pointStyle } from './plot/marks.js';

const WIDTHS = { half: 720, full: 960 }; // of a saved chart, in CSS pixels
const SCALE = 2; // pixels of a PNG for each CSS pixel
const CHARACTER = 6.6; // approximate width of a letter in CSS pixels
const LINE = 17; // height of a line under the title in CSS pixels

const LONGEST = 120; // letters of a file's name

/** A title as a file name: "bf16, layout nn" -> "bf16-layout-nn". */
const fileName = (title) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^-|-$/g, '');

function download(name, blob) {
  const link = h('a', { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Offers a text as a file. */
export const saveText = (name, type, text) => download(name, new Blob([text], { type }));

/** The number of rows that a legend of this width needs. */
function legendRows(marks, room) {
  let rows = 1;
  let used = 0;
  for (const { name, note = '' } of marks) {
    const width = 44 + (name.length + note.length) * CHARACTER;
    if (used + width > room - 40) [rows, used] = [rows + 1, 0];
    used += width;
  }
  return rows;
}

const LINE_ICON = 'path://M0 4h10v1.5h-10z';

function savedLegend(marks, hidden, theme, top) {
  const notes = new Map(marks.map(({ name, note }) => [name, note]));
  const formatter = (name) => spaces(name, notes.get(name));
  const data = marks.map((mark) => ({
    name: mark.name,
    icon: mark.symbol ?? LINE_ICON,
    itemStyle: { ...pointStyle(mark, theme), borderColor: markColour(mark, theme), borderWidth: 1.5 },
    lineStyle: { color: markColour(mark, theme), type: mark.dash ?? 'solid' },
  }));
  return {
    ...hiding(hidden),
    ...{ show: true, data, formatter, left: 20, top },
    ...{ itemWidth: 10, itemHeight: 10, itemGap: 16 },
    textStyle: { color: theme.text },
  };
}

const unique = (list) => [...new Set(list)];
const devices = ({ places }) => unique(places.map(placeName)).join('; ');

/** The title of a saved chart: "Matrix multiplication rates: bf16, layout nn". */
const fullTitle = ({ section, title }) => `${section.title}: ${title}`;

/** The file name of a saved chart, from its title and the models of its devices. */
const pictureName = (panel) =>
  fileName(
    [panel.section.id, panel.title, ...unique(panel.places.map(({ model }) => model))].join(' '),
  );

/** A panel as a picture for a file, which contains title, devices, caption and legend. */
function picture(panel, hidden, theme) {
  const width = Math.max(WIDTHS[panel.span], panel.minWidth ?? 0);
  const option = panel.option({ width, theme });
  const lines = [devices(panel), panel.caption.replace(/^Simulated\. ?/, '')].filter(Boolean);
  const rows = lines.map((text) => Math.ceil((text.length * CHARACTER) / (width - 40)));
  const under = { fontSize: 12, color: theme.muted, lineHeight: LINE };
  const top = 44 + LINE * rows.reduce((sum, n) => sum + n, 0);
  const above = top + 8 + (panel.legend.length ? 24 * legendRows(panel.legend, width) : 0);
  const height = panel.height(width) + above;
  const title = {
    text: fullTitle(panel),
    subtext: lines.join('\n'),
    left: 14,
    top: 10,
    textStyle: { fontSize: 16, color: theme.text, width: width - 40, overflow: 'truncate' },
    subtextStyle: { ...under, width: width - 40, overflow: 'break' },
  };
  const elements = (option.graphic?.elements ?? []).map((element) => moved(element, above));
  // The library's legend leaves out names without a series, so marks of several series get an empty
  // one.
  const fixed = panel.legend.filter((mark) => mark.fixed).map((mark) => points(mark, [], theme));
  const whole = {
    ...option,
    ...common(theme),
    title,
    graphic: { elements },
    grid: { ...option.grid, top: option.grid.top + above },
    legend: savedLegend(panel.legend, hidden, theme, top),
    series: [...option.series, ...fixed],
  };
  return { text: svgText(whole, width, height), width, height };
}

/** A graphic element of a chart, moved down. */
function moved(element, down) {
  if (element.shape) return { ...element, shape: { ...element.shape, y: element.shape.y + down } };
  return { ...element, style: { ...element.style, y: element.style.y + down } };
}

export function saveSvg(panel, hidden, theme) {
  saveText(`${pictureName(panel)}.svg`, 'image/svg+xml', picture(panel, hidden, theme).text);
}

/** The numbers of a chart: its data table. */
export function saveCsv(panel) {
  saveText(`${pictureName(panel)}.csv`, 'text/csv;charset=utf-8', tableCsv(panel.table));
}

export async function savePng(panel, hidden, theme) {
  const { text, width, height } = picture(panel, hidden, theme);
  const address = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = h('canvas', { width: width * SCALE, height: height * SCALE });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'));
    download(`${pictureName(panel)}.png`, blob);
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Copies by two methods, because some browsers deny the first one to pages opened from a file. */
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h('textarea.off-screen', { 'aria-hidden': 'true' });
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    return copied;
  }
}

/** A button that copies what `text()` returns and shows whether that succeeded. */
export function copyButton(name, text) {
  const click = async ({ currentTarget: own }) => {
    own.textContent = (await toClipboard(text())) ? 'Copied' : 'Not allowed by the browser';
    own.focus();
    setTimeout(() => (own.textContent = name), 1500);
  };
  return button(name, click, { 'aria-live': 'polite' });
}
