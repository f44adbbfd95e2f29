// The page's head: what was measured, when and by what; and the bar with links to the sections.
import { append, h, list } from './dom.js';
import { commas, count, day, minute, plural, semicolons, spaces } from './format.js';
import { placeName } from './labels.js';
import { themeSwitch } from './theme.js';

const unique = (list) => [...new Set(list)];

/** @returns {string} the measured devices: "4 x NVIDIA H200; AMD EPYC" */
export function measured(model) {
  if (model.data.fleet) return plural(model.data.fleet.nodes.length, 'node');
  const most = new Map(); // for each model the largest number of devices in any journal
  for (const place of model.places) {
    const name = placeName({ ...place, count: 1 });
    if (!(most.get(name)?.count >= place.count)) most.set(name, place);
  }
  return semicolons([...most.values()].map(placeName)) || 'Nothing measured';
}

function dates(model) {
  const days = unique(model.journals.map(({ time }) => day(time)).filter(Boolean)).sort();
  return days.length > 1 ? `${days[0]} to ${days.at(-1)}` : (days[0] ?? 'no date');
}

/** By what the runs were measured: "Duet 0.1.0 5eed5eed; nvbandwidth v0.8". */
function tools(model) {
  const runs = model.journals.flatMap(({ environments }) => environments);
  const names = runs.map(({ run, imported }) =>
    imported ? spaces(imported.tool, imported.version) : spaces('Duet', run?.duet, run?.revision),
  );
  return unique(names).join('; ');
}

function journalFacts(model) {
  const { journals } = model;
  const many = plural(journals.length, 'journal');
  const names = journals.length > 6 ? many : journals.map(({ name }) => name).join(', ');
  return {
    Measured: dates(model),
    [journals.length === 1 ? 'Journal' : 'Journals']: names,
    'Measured with': tools(model),
  };
}

const fleetFacts = ({ journals, figures }) => ({
  Journals: count(journals),
  'Cases compared': count(figures.filter(({ judged }) => judged).length),
});

/** Fills the page's head. */
export function showHeader(element, model) {
  const { data } = model;
  const facts = {
    ...(data.fleet ? fleetFacts(data.fleet) : journalFacts(model)),
    'Report made with': commas(spaces('Duet', data.duet, data.revision), minute(data.made_utc)),
  };
  const pairs = Object.entries(facts).map(([name, text]) => h('div', h('dt', name), h('dd', text)));
  append(element, [
    h('p.kicker', 'Duet report'),
    h('h1', measured(model)),
    h('dl.facts', pairs),
  ]);
}

/** Fills the bar with a link to each section and the theme switch. */
export function showBar(element, sections) {
  const links = sections.map(({ id, short, title }) => h('a', { href: `#${id}` }, short ?? title));
  element.replaceChildren(h('div.page', list('ul', links), themeSwitch()));
  followScroll(element, sections);
}

/** Keeps the link of the section at the top of the window marked. */
function followScroll(element, sections) {
  const links = new Map(sections.map(({ id }) => [id, element.querySelector(`a[href="#${id}"]`)]));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) links.get(target.id).setAttribute('aria-current', 'true');
        else links.get(target.id).removeAttribute('aria-current');
      }
    },
    { rootMargin: '-15% 0px -80% 0px' },
  );
  for (const { id } of sections) seen.observe(document.getElementById(id));
}
