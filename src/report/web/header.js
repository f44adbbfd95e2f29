// The page's head: what was measured, when and by what; and the bar with links to the sections.
import { append, h } from './dom.js';
import { day, minute, plural } from './format.js';
import { placeName } from './labels.js';
import { themeSwitch } from './theme.js';

const unique = (list) => [...new Set(list)];

/** @returns {string} the measured devices: "4 x NVIDIA H200; AMD EPYC" */
export function measured(model) {
  const most = new Map(); // for each model the largest number of devices in any journal
  for (const place of model.places) {
    const name = placeName({ ...place, count: 1 });
    if (!(most.get(name)?.count >= place.count)) most.set(name, place);
  }
  return [...most.values()].map(placeName).join('; ') || 'Nothing measured';
}

function dates(model) {
  const days = unique(model.journals.map(({ time }) => day(time)).filter(Boolean)).sort();
  return days.length > 1 ? `${days[0]} to ${days.at(-1)}` : (days[0] ?? 'no date');
}

/** By what the runs were measured: "Duet 0.1.0 5eed5eed; nvbandwidth v0.8". */
function tools(model) {
  const runs = model.journals.flatMap(({ environments }) => environments);
  const names = runs.map(({ run, imported }) =>
    (imported ? [imported.tool, imported.version] : ['Duet', run?.duet, run?.revision])
      .filter(Boolean)
      .join(' '),
  );
  return unique(names).join('; ');
}

/** Fills the page's head. */
export function showHeader(element, model) {
  const { data, journals } = model;
  const facts = [
    ['Measured', dates(model)],
    [
      journals.length === 1 ? 'Journal' : 'Journals',
      journals.length > 6
        ? plural(journals.length, 'journal')
        : journals.map(({ name }) => name).join(', '),
    ],
    ['Measured with', tools(model)],
    [
      'Report made with',
      [['Duet', data.duet, data.revision].filter(Boolean).join(' '), minute(data.made_utc)]
        .filter(Boolean)
        .join(', '),
    ],
  ];
  append(element, [
    h('p', { class: 'kicker' }, 'Duet report'),
    h('h1', {}, measured(model)),
    h(
      'dl',
      { class: 'facts' },
      facts.map(([name, text]) => h('div', {}, h('dt', {}, name), h('dd', {}, text))),
    ),
  ]);
}

/** Fills the bar with a link to each section and the theme switch. */
export function showBar(element, sections) {
  const links = sections.map(({ id, short, title }) =>
    h('li', {}, h('a', { href: `#${id}` }, short ?? title)),
  );
  element.replaceChildren(h('div', { class: 'page' }, h('ul', {}, links), themeSwitch()));
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
