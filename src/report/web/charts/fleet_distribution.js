// How the places of a fleet differ in one case: a histogram, with the places that are far below.
import { count, number, percentage, plural, unitOf } from '../format.js';
import { linearAxis } from '../plot/axes.js';
import { changeText } from '../plot/change_matrix.js';
import { common } from '../plot/draw.js';
import { fewer, panelOf } from '../plot/panel.js';
import { pointTooltip } from '../plot/tooltip.js';
import { tableOf } from '../table.js';

export const order = 3;
export const section = { id: 'fleet-cases', title: 'Each case over the fleet', short: 'Cases' };

const change = (logarithm) => 1000 * Math.expm1(logarithm);

/** The bars of a histogram: from, to (thousandths) and the number of samples. */
const barsOf = ({ from, step, counts }) =>
  counts.flatMap((samples, i) =>
    samples ? [[change(from + i * step), change(from + (i + 1) * step), samples]] : [],
  );

function bar(bars, theme) {
  return (params, api) => {
    const [from, to, samples] = bars[params.dataIndex];
    const [left, top] = api.coord([from / 10, samples]);
    const [right, bottom] = api.coord([to / 10, 0]);
    const shape = { x: left, y: top, width: Math.max(1, right - left - 1), height: bottom - top };
    return { type: 'rect', shape, style: { fill: theme.series[0] } };
  };
}

function option({ distribution }, { theme }) {
  const bars = barsOf(distribution);
  const xs = bars.flatMap(([from, to]) => [from / 10, to / 10]);
  const told = ([from, to, samples]) => ({
    title: `${changeText(Math.round(from))} to ${changeText(Math.round(to))}`,
    rows: { samples: count(samples) },
  });
  const outliers = distribution.outliers.map(({ place, change: slow }) => ({
    value: [slow / 10, 0],
    told: () => ({ title: place, rows: { 'against its peers': changeText(slow) } }),
  }));
  return {
    ...common(theme),
    grid: { left: 66, right: 20, top: 14, bottom: 48 },
    tooltip: pointTooltip(theme),
    xAxis: linearAxis(theme, [...xs, 1], 'rate against its peers, %', 30, number, 8),
    yAxis: linearAxis(theme, [0, ...bars.map(([, , samples]) => samples)], 'samples', 46, count, 5),
    series: [
      {
        type: 'custom',
        name: 'samples',
        data: bars.map((one) => ({ value: [(one[0] + one[1]) / 20, one[2]], told: () => told(one) })),
        renderItem: bar(bars, theme),
      },
      {
        type: 'scatter',
        name: 'far below',
        data: outliers,
        symbol: 'triangle',
        symbolSize: 11,
        itemStyle: { color: theme.low },
      },
    ],
  };
}

const middle = ({ rate, median, median_seconds: seconds }) =>
  rate ? `${number(median)} ${unitOf(rate)}` : `${number(seconds)} s`;

export function panels({ data: { fleet } }) {
  if (!fleet) return [];
  const judged = fleet.figures
    .map((figure, i) => ({ ...figure, distribution: fleet.distributions[i] }))
    .filter(({ distribution }) => distribution)
    .sort((a, b) => b.distribution.slow - a.distribution.slow);
  if (!judged.length) return [];
  const slow = judged.filter(({ distribution }) => distribution.slow).length;
  return [
    panelOf({
      id: 'fleet-distribution',
      title: ['Distribution of a case'],
      caption: [
        'Triangles: places that are four usual deviations or more below their peers.',
        fewer(30, judged[0].distribution.slow, 'such places', 'slowest'),
      ],
      findings: [`${plural(slow, 'case')} of ${count(judged.length)} have places far below.`],
      span: 'full',
      height: (width) => (width < 480 ? 300 : 340),
      choices: [{ name: 'Case', values: judged.map((one) => one.case), start: 0 }],
      option: (how) => option(judged[how.chosen[0]], how),
      table: tableOf(
        judged,
        { Figure: (one) => one.case },
        {
          Nodes: ({ nodes }) => count(nodes),
          Samples: ({ samples }) => count(samples),
          Median: middle,
          'Usual deviation': ({ deviation }) => percentage(100 * deviation),
          'Far below': ({ distribution }) => count(distribution.slow),
        },
      ),
    }),
  ];
}
