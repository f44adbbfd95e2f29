// What a study reports of the scenarios that a journal has, beside the journal's own figures: a table for
// each study and device. The figures are means over scenarios; `duet report` computes them.
import { plural, ratio, words } from '../format.js';
import { placeLabels, simulatedNote } from '../labels.js';
import { section } from '../plot/overlap_series.js';

export const order = 24.5; // behind the means of all policies
export { section };

const rangeText = (range) => (range ? `${ratio(range[0])} to ${ratio(range[1])}` : '–');

const collectivesOf = (rows) => [
  ...new Set(rows.flatMap(({ reported_ranges: ranges }) => Object.keys(ranges))),
];

function tableOf({ name, rows }) {
  const collectives = collectivesOf(rows);
  const columns = [
    { name: `${name}’s figure` },
    { name: 'Policy' },
    ...[
      'mean, reported',
      'here',
      ...collectives.flatMap((one) => [`${words(one)}, reported`, 'here']),
      'scenarios',
    ].map((column) => ({ name: column, numeric: true })),
  ];
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
  return studied.map(({ study, place }) => {
    const missing = study.rows.filter(({ scenarios }) => scenarios < study.scenarios);
    return {
      id: `study-${[place.journal.name, place.device, study.name].join('/').replaceAll(/[^\w]+/g, '-')}`,
      title: [`Beside the ${study.name} study`, labels.get(place)].filter(Boolean).join(', '),
      caption: [
        simulatedNote([place]),
        'Mean fraction of ideal, and the lowest and the highest of the means of the study’s classes.',
        `Source: ${study.source}.`,
        missing.length
          ? `Of fewer than its ${plural(study.scenarios, 'scenario')} where the table says so.`
          : '',
      ]
        .filter(Boolean)
        .join(' '),
      findings: [],
      span: 'full',
      table: tableOf(study),
    };
  });
}
