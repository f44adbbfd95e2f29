// The drawing library with the parts that the charts use. It also draws without a page, for saved files
// and for paper.
import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  GraphicComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

echarts.use([
  CustomChart,
  LineChart,
  ScatterChart,
  GraphicComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  SVGRenderer,
]);

/** The options of every chart: no animation, the theme's background and text. */
export function common(theme) {
  return {
    animation: false,
    backgroundColor: theme.background,
    textStyle: { fontFamily: 'system-ui, sans-serif', fontSize: 12, color: theme.text },
  };
}

/** @returns {echarts.ECharts} a chart in an element of the page */
export const chartIn = (element, width, height) =>
  echarts.init(element, null, { renderer: 'svg', width, height });

/** The library's own legend. It is not shown and only hides series: the page has its own legend. */
export const hiding = (hidden) => ({
  show: false,
  selected: Object.fromEntries([...hidden].map((name) => [name, false])),
});

/** @returns {string} a chart as the text of an SVG file */
export function svgText(option, width, height) {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ ...option, tooltip: { show: false } });
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}
