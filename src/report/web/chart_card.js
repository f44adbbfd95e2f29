// A chart with its heading, caption, findings, legend, save buttons and data table. The chart is drawn
// when it comes near the window, and again when the page is printed.
import { chosenText, choiceFields } from './choices.js';
import { button, folded, h } from './dom.js';
import { commas } from './format.js';
import { legend } from './legend.js';
import { themes } from './palette.js';
import { chartIn, hiding, svgText } from './plot/draw.js';
import { saveCsv, savePng, saveSvg } from './save.js';
import { withHint } from './scroll_hint.js';
import { dataTable } from './table.js';
import { currentTheme, onThemeChange } from './theme.js';

const PAPER = { half: 420, full: 760 }; // CSS pixels; the browser scales them to the paper's width

function findings(list) {
  const item = (finding) => h(finding.alert ? 'li.alert' : 'li', finding.text ?? finding);
  return list.length > 0 && h('ul.findings', list.map(item));
}

/** A folded table. It is built when it is first opened, because most never are. */
function fold(name, title, table) {
  const details = folded([name, h('span.off-screen', `: ${title}`)], [], '.data');
  details.addEventListener('toggle', () => {
    if (details.open && !details.querySelector('table'))
      details.append(dataTable(table, `${name}: ${title}`));
  });
  return details;
}

/** Draws a chart in its box when it is near the window, and again when box or theme change. */
class Drawing {
  constructor(panel, box, hidden) {
    Object.assign(this, { panel, box, hidden, chart: null, drawn: 0 });
    this.near = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) this.start();
      },
      { rootMargin: '400px' },
    );
    this.near.observe(box);
    onThemeChange(() => this.chart && this.draw());
  }

  start() {
    this.near.disconnect();
    this.box.style.minHeight = '';
    new ResizeObserver(() => this.width() !== this.drawn && this.draw()).observe(this.box);
  }

  width() {
    return Math.max(this.panel.minWidth ?? 0, Math.floor(this.box.clientWidth));
  }

  draw() {
    const width = this.width();
    if (this.box.clientWidth < 1) return; // not on the screen: the page is being printed
    this.drawn = width;
    const height = this.panel.height(width);
    if (!this.chart) this.chart = chartIn(this.box, width, height);
    else this.chart.resize({ width, height });
    const option = this.panel.option({ width, theme: currentTheme() });
    this.chart.setOption({ ...option, legend: hiding(this.hidden) }, { notMerge: true });
  }
}

/** The chart for paper: in the light theme and at the paper's width. */
function paperChart(panel, hidden) {
  const width = PAPER[panel.span];
  const option = panel.option({ width, theme: themes.light });
  const text = svgText({ ...option, legend: hiding(hidden) }, width, panel.height(width));
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  parsed.setAttribute('viewBox', `0 0 ${width} ${panel.height(width)}`);
  return document.importNode(parsed, true);
}

/** A chart's box. A chart wider than a phone scrolls, so the keyboard must reach it. */
function scrolling({ minWidth, title }, content) {
  const reached = { tabindex: '0', role: 'group', 'aria-label': `Chart: ${title}` };
  return withHint(h('div.chart-box', minWidth > 300 ? reached : {}, content));
}

/** The panel with option() bound to `chosen`, the current values of its choices. */
const asChosen = (panel, chosen) => ({
  ...panel,
  option: (how) => panel.option({ ...how, chosen }),
});

function chart(plain, section) {
  const hidden = new Set();
  const choices = plain.choices ?? [];
  const chosen = choices.map(({ start }) => start);
  const panel = asChosen(plain, chosen);
  const said = `${panel.title}. ${panel.caption} The numbers are in the data below.`;
  const box = h('div.chart', { role: 'img', 'aria-label': said });
  box.style.minHeight = `${panel.height(480)}px`;
  const paper = h('div.paper', { 'aria-hidden': 'true' });
  const drawing = new Drawing(panel, box, hidden);
  const draw = () => drawing.draw();
  const marks = h('div');
  const showLegend = (theme = currentTheme()) =>
    marks.replaceChildren(panel.legend.length ? legend(panel.legend, theme, hidden, draw) : '');
  showLegend();
  onThemeChange(() => showLegend());
  const fields = choiceFields(choices, chosen, panel.id, draw);
  const title = () => commas(panel.title, chosenText(choices, chosen));
  const save = (name, how) => {
    const click = () => how({ ...panel, title: title(), section }, hidden, currentTheme());
    return button(name, click, { 'aria-label': `${name}: ${panel.title}` });
  };
  const tools = h(
    'div.tools',
    save('Save PNG', savePng),
    save('Save SVG', saveSvg),
    save('Save CSV', saveCsv),
  );
  const draws = {
    forPaper() {
      showLegend(themes.light);
      paper.replaceChildren(paperChart(panel, hidden));
    },
    forScreen() {
      showLegend();
      paper.replaceChildren();
    },
  };
  const data = fold('Data', panel.title, panel.table);
  return { parts: [fields, marks, scrolling(panel, box), paper, tools, data], draws };
}

const tables = ({ title, table, folds = [] }) => [
  table && dataTable(table, title),
  folds.map((one) => fold(one.name, title, one.table)),
];

/**
 * @param {Object} panel in the form of charts/copy_curves.js; without option() it has a `table`, and
 *     tables that are folded in `folds`, each with its `name`
 * @param {{title: string}} section the section that the panel belongs to
 * @returns {{element: HTMLElement, draws: {forPaper: Function, forScreen: Function}|null}} `draws`
 *     is null for a panel without a chart
 */
export function chartCard(panel, section) {
  const { parts, draws } = panel.option
    ? chart(panel, section)
    : { parts: tables(panel), draws: null };
  const element = h(
    `figure.card.${panel.span}`,
    { id: panel.id },
    h('h3', panel.title),
    panel.caption && h('figcaption', panel.caption),
    findings(panel.findings),
    parts,
  );
  return { element, draws };
}
