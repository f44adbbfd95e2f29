// What a study reports of the scenarios that a journal has, beside the journal's own figures: a table for
// each study and device. The figures are means over scenarios; `duet report` computes them.
import { plural, ratio, words } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { panelOf } from '../plot/panel.js';
import { headings } from '../table.js';
import { section } from '../plot/overlap_series.js';

export const order = 24.5; // behind the means of all policies
export { section };

const rangeText = (range) => (range ? `${ratio(range[0])} to ${ratio(range[1])}` : '–');

const collectivesOf = (rows) => [
  ...new Set(rows.flatMap(({ reported_ranges: ranges }) => Object.keys(ranges))),
];

function tableOf({ name, rows }) {
  const collectives = collectivesOf(rows);
  const means = ['mean, reported', 'here'];
  const ranges = collectives.flatMap((one) => [`${words(one)}, reported`, 'here']);
  const cells = rows.map((row) => [
    row.name,
    row.policies,
    ratio(row.reported),
    ratio(row.mean),
    ...collectives.flatMap((one) => [
      rangeText(row.reported_ranges[one]),
      row.reported_ranges[one] ? rangeText(row.ranges[one]) : '–',
    ]),
    String(row.scenarios),
  ]);
  const columns = headings([`${name}’s figure`, 'Policy'], [...means, ...ranges, 'scenarios']);
  return { columns, rows: cells };
}

export function panels(model) {
  const studied = model.journals.flatMap((journal) =>
    journal.studies.map((study) => ({
      study,
      place: model.places.find((one) => one.journal === journal && one.device === study.device),
    })),
  );
  const labels = placeLabels(studied.map(({ place }) => place));
  return studied.map(({ study, place }) =>
    panelOf({
      id: `study-${[place.journal.name, place.device, study.name].join('/')}`,
      title: [`Beside the ${study.name} study`, labels.get(place)],
      caption: [
        simulatedNote([place]),
        'Mean fraction of ideal, and the lowest and the highest of the means of the study’s classes.',
        `Source: ${study.source}.`,
        study.rows.some(({ scenarios }) => scenarios < study.scenarios) &&
          `Of fewer than its ${plural(study.scenarios, 'scenario')} where the table says so.`,
      ],
      span: 'full',
      table: tableOf(study),
    }),
  );
}
