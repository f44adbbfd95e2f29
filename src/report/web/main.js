// Starts the page: reads the data and shows the text first, then charts and tables, one section at a
// time, so that the summary can be read before the other sections exist.
import charts from 'all-charts';
import { busyBanner } from './busy.js';
import { chartCard } from './chart_card.js';
import { h } from './dom.js';
import { environment } from './environment.js';
import { fleetSummary } from './fleet_summary.js';
import { measured, showBar, showHeader } from './header.js';
import { makeModel } from './model.js';
import { drawForPaper } from './print.js';
import { recordsTable } from './records.js';
import { summary } from './summary.js';
import { startTheme } from './theme.js';

function readModel() {
  const element = document.getElementById('data');
  if (!element)
    throw new Error('This page has no data: it is the template that duet report fills.');
  return makeModel(JSON.parse(element.textContent));
}

/** Returns what `make` returns. If `make` throws, returns the error's text, and the page goes on. */
function orComplaint(make) {
  try {
    return make();
  } catch (error) {
    console.error(error);
    const text = `This part of the report could not be made: ${error.message}`;
    return [h('p.headline.bad', text)];
  }
}

/** The sections of charts in their order. Sections without charts do not appear. */
function chartSections(model, cards) {
  const sections = new Map();
  for (const chart of [...charts].sort((a, b) => a.order - b.order)) {
    const content = orComplaint(() =>
      chart.panels(model).map((panel) => chartCard(panel, chart.section)),
    );
    if (!content.length) continue;
    const { id } = chart.section;
    if (!sections.has(id)) sections.set(id, { ...chart.section, made: [] });
    sections.get(id).made.push(...content);
    cards.push(...content.filter((card) => card.draws));
  }
  return [...sections.values()].map(({ made, ...section }) => {
    const elements = made.map((card) => card.element ?? card);
    return { ...section, content: () => [h('div.cards', elements)] };
  });
}

const journalSections = (model, cards) => [
  { id: 'summary', title: 'Summary', content: () => summary(model) },
  ...chartSections(model, cards),
  {
    id: 'environment',
    title: 'Environment and commands',
    short: 'Environment',
    content: () => environment(model),
  },
  { id: 'records', title: 'All records', short: 'Records', content: () => [recordsTable(model)] },
];

const fleetSections = (model, cards) => [
  { id: 'summary', title: 'Summary', content: () => fleetSummary(model) },
  ...chartSections(model, cards),
];

const nextTask = () => new Promise((done) => setTimeout(done));

async function show(model) {
  document.title = `Duet: ${measured(model)}`;
  showHeader(document.getElementById('top'), model);
  const cards = [];
  const sections = model.data.fleet ? fleetSections(model, cards) : journalSections(model, cards);
  const main = document.getElementById('main');
  const shells = sections.map(({ id, title }) =>
    h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title)),
  );
  main.replaceChildren(...busyBanner(model), ...shells);
  showBar(document.getElementById('bar'), sections);
  for (const [i, { content }] of sections.entries()) {
    shells[i].append(...orComplaint(content));
    await nextTask();
  }
  drawForPaper(cards);
  document.documentElement.dataset.ready = 'true';
  if (location.hash.length > 1)
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

function tell(error) {
  document.getElementById('main').replaceChildren(h('p.headline.bad', error.message));
  throw error;
}

startTheme();
Promise.resolve().then(readModel).then(show).catch(tell);
