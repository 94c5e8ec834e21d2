export * from 'echarts/core';
import { use } from 'echarts/core';
import { BarChart, LineChart, PieChart, ScatterChart, CustomChart } from 'echarts/charts';
import { GridComponent, TooltipComponent, LegendComponent, DataZoomComponent, TitleComponent, AriaComponent } from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';
use([BarChart, LineChart, PieChart, ScatterChart, CustomChart, GridComponent, TooltipComponent, LegendComponent, DataZoomComponent, TitleComponent, AriaComponent, CanvasRenderer]);
