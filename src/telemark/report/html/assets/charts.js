// Draws the charts of a page: plain data in, Apache ECharts options out. Text in the data is never used as HTML.
"use strict";

const telemarkCharts = (() => {
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow"];
  // Named in full: ECharts measures text itself and cannot inherit a font.
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
  const drawn = new Map(); // element -> ECharts instance
  const PAPER = { width: 500, height: 270, legendLine: 20 }; // the printed page scales it to its column

  function escape(text) {
    const letters = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
    return String(text).replace(/[&<>"']/g, (letter) => letters[letter]);
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const lines = [];
    for (let index = 1; index <= 8; index += 1) lines.push(value(`--line-${index}`));
    return { text: value("--text"), soft: value("--soft"), grid: value("--grid"), card: value("--card"),
      edge: value("--edge"), band: [value("--band-1"), value("--band-2")], lines };
  }

  // The percentile axis is stretched: 90, 99, 99.9 ... are equally far apart.
  const stretched = (percentile) => -Math.log10(Math.max(1 - percentile / 100, 1e-6));
  const percentileOf = (position) => 100 * (1 - 10 ** -position);
  const percentileText = (position) => String(Number(percentileOf(position).toFixed(Math.max(0, Math.ceil(position) - 1))));

  function xOf(spec, x) {
    return spec.x.scale === "percentile" ? stretched(x) : x;
  }

  // A logarithmic axis has no place for zero: such a value is not drawn, but stays in the CSV.
  function yOf(axis, y) {
    return axis.scale === "log" && y !== null && y <= 0 ? null : y;
  }

  function xAxis(spec, look) {
    const shared = {
      name: spec.x.name, nameLocation: "middle", nameGap: 26, nameTextStyle: { color: look.soft },
      axisLine: { lineStyle: { color: look.edge } }, axisLabel: { color: look.soft, hideOverlap: true },
      splitLine: { show: false },
    };
    if (spec.x.scale === "category") {
      const names = [...new Set(spec.series.flatMap((line) => line.points.map((point) => point[0])))];
      return { ...shared, type: "category", data: names, axisLabel: { ...shared.axisLabel, interval: 0, width: 130, overflow: "break", lineHeight: 14 } };
    }
    if (spec.x.scale === "percentile") {
      const farthest = Math.max(...spec.series.flatMap((line) => line.points.map((point) => stretched(point[0]))));
      return { ...shared, type: "value", min: 0, max: Math.max(1, Math.ceil(farthest - 1e-6)), interval: 1,
        axisLabel: { ...shared.axisLabel, formatter: percentileText }, splitLine: { show: true, lineStyle: { color: look.grid } } };
    }
    const label = (value) => telemarkUnits.onAxis(spec.x.unit, value);
    if (spec.x.scale === "log") {
      return { ...shared, type: "log", logBase: spec.x.unit === "bytes" ? 2 : 10, min: "dataMin", max: "dataMax", axisLabel: { ...shared.axisLabel, formatter: label } };
    }
    const min = spec.x.unit === "seconds" ? "dataMin" : 0;
    const max = spec.x.unit === "seconds" ? "dataMax" : undefined;
    return { ...shared, type: "value", min, max, axisLabel: { ...shared.axisLabel, formatter: label } };
  }

  // Room above the highest value; shares end at 100 %; memory is counted in powers of two, and so are its ticks.
  function limits(spec, axis, right) {
    if (axis.scale !== "linear") return {};
    if (axis.name === "busy") return { min: 0, max: 1 };
    if (axis.unit !== "bytes") return { boundaryGap: [0, "8%"] };
    const lines = spec.series.filter((line) => (line.axis === 1) === right);
    const most = Math.max(1, ...lines.flatMap((line) => line.points.map((point) => point[1] || 0)));
    const interval = 2 ** Math.ceil(Math.log2(most / 5));
    return { min: 0, interval, max: Math.ceil(most / interval) * interval };
  }

  function yAxis(spec, axis, look, right) {
    return {
      ...limits(spec, axis, right),
      type: axis.scale === "log" ? "log" : "value", name: axis.name, position: right ? "right" : "left",
      nameTextStyle: { color: look.soft, align: right ? "right" : "left" },
      axisLabel: { color: look.soft, hideOverlap: true, formatter: (value) => telemarkUnits.onAxis(axis.unit, value) },
      splitLine: { show: !right, lineStyle: { color: look.grid } }, axisLine: { onZero: false },
    };
  }

  function bandsOf(spec, look) {
    if (!spec.bands) return undefined;
    const whole = spec.bands[spec.bands.length - 1][2] - spec.bands[0][1];
    return {
      silent: true,
      data: spec.bands.map(([name, from, to], index) => [
        { name: (to - from) / whole > 0.07 ? name : "", xAxis: from, itemStyle: { color: look.band[index % 2] },
          label: { color: look.soft, position: "insideTop", fontSize: 11 } },
        { xAxis: to },
      ]),
    };
  }

  function seriesOf(spec, look) {
    return spec.series.map((line, index) => {
      const colour = look.lines[index % look.lines.length];
      const axis = line.axis === 1 && spec.y2 ? spec.y2 : spec.y;
      const data = line.points.map(([x, y]) => [xOf(spec, x), yOf(axis, y)]);
      const shared = { name: line.name, type: line.kind, data, yAxisIndex: line.axis, itemStyle: { color: colour },
        markArea: index === 0 ? bandsOf(spec, look) : undefined, animation: false };
      if (line.kind === "bar") return { ...shared, barMaxWidth: 42, barGap: "8%", itemStyle: { color: colour, opacity: line.style === "dotted" ? 0.45 : 1, borderRadius: [3, 3, 0, 0] } };
      const few = data.length <= 15;
      return { ...shared, symbol: SYMBOLS[index % SYMBOLS.length], symbolSize: few ? 7 : 4, showSymbol: few,
        lineStyle: { width: 2, type: line.style, color: colour }, emphasis: { focus: "series" }, connectNulls: false };
    });
  }

  function tooltipOf(spec) {
    return (hovered) => {
      const items = Array.isArray(hovered) ? hovered : [hovered];
      if (!items.length) return "";
      const x = items[0].value[0];
      let head = telemarkUnits.write(spec.x.unit, x);
      if (spec.x.scale === "category") head = x;
      if (spec.x.scale === "percentile") head = `${Number(percentileOf(x).toFixed(4))}th percentile`;
      if (spec.x.unit === "seconds") head = `second ${telemarkUnits.number(x)}`;
      if (spec.x.unit === "count") head = `${telemarkUnits.number(x)} ${spec.x.name}`;
      const rows = items.map((item) => {
        const line = spec.series[item.seriesIndex];
        const axis = line.axis === 1 && spec.y2 ? spec.y2 : spec.y;
        const value = escape(telemarkUnits.write(axis.unit, item.value[1]));
        return `${item.marker} ${escape(line.name || spec.y.name)} <b style="float:right;margin-left:1.2em">${value}</b>`;
      });
      return `<b>${escape(head)}</b><br>${rows.join("<br>")}`;
    };
  }

  // On paper nobody can turn the legend's pages: there it has as many lines as its names need.
  function legendLines(names) {
    let [lines, used] = [0, Infinity];
    names.forEach((name) => {
      const width = 50 + 7 * name.length;
      if (used + width > PAPER.width) { lines += 1; used = 0; }
      used += width;
    });
    return lines;
  }

  const namesOf = (spec) => spec.series.map((line) => line.name).filter(Boolean);

  function optionOf(spec, look, onPaper) {
    const names = namesOf(spec);
    const below = onPaper ? 36 + PAPER.legendLine * legendLines(names) : 56;
    const bars = spec.series.some((line) => line.kind === "bar");
    return {
      animation: false, textStyle: { fontFamily: FONT, color: look.text }, aria: { enabled: true },
      grid: { left: 12, right: spec.y2 ? 16 : 22, top: 34, bottom: names.length ? below : 34, containLabel: true },
      legend: names.length ? { type: onPaper ? "plain" : "scroll", bottom: 0, textStyle: { color: look.text }, pageTextStyle: { color: look.soft },
        pageIconColor: look.text, pageIconInactiveColor: look.edge, itemWidth: 26, data: names } : undefined,
      tooltip: { trigger: "axis", confine: true, formatter: tooltipOf(spec), axisPointer: { type: bars ? "shadow" : "line" },
        backgroundColor: look.card, borderColor: look.edge, textStyle: { color: look.text, fontSize: 13 } },
      xAxis: xAxis(spec, look),
      yAxis: spec.y2 ? [yAxis(spec, spec.y, look, false), yAxis(spec, spec.y2, look, true)] : [yAxis(spec, spec.y, look, false)],
      series: seriesOf(spec, look),
    };
  }

  function draw(element, spec) {
    let chart = drawn.get(element);
    if (!chart) {
      chart = echarts.init(element, null, { renderer: "svg" });
      drawn.set(element, chart);
    }
    chart.setOption(optionOf(spec, colours(), false), { notMerge: true });
    element.dataset.drawn = "yes";
    return chart;
  }

  // A browser lays a page out for paper only after it has asked for this: the size of the paper is not known yet. So the
  // drawing gets a size of its own, which the style sheet scales.
  function drawForPaper(element, spec) {
    const height = PAPER.height + PAPER.legendLine * legendLines(namesOf(spec));
    const chart = draw(element, spec);
    chart.resize({ width: PAPER.width, height });
    chart.setOption(optionOf(spec, colours(), true), { notMerge: true });
    element.querySelector("svg").setAttribute("viewBox", `0 0 ${PAPER.width} ${height}`);
  }

  function drawForScreen(element, spec) {
    element.querySelector("svg").removeAttribute("viewBox");
    drawn.get(element).resize({ width: "auto", height: "auto" });
    draw(element, spec);
  }

  function csvCell(value) {
    if (value === null || value === undefined) return "";
    const text = String(value);
    // A leading =, +, - or @ in text would be a formula to a spreadsheet.
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }

  // One line per x, one column per series, values as they are in the result tables.
  function csvOf(spec) {
    const rows = new Map();
    spec.series.forEach((line, index) => line.points.forEach(([x, y]) => {
      if (!rows.has(x)) rows.set(x, new Array(spec.series.length).fill(null));
      rows.get(x)[index] = y;
    }));
    const counted = (axis) => !axis.unit || axis.unit === "count" || axis.unit === "text";
    const axisName = (axis) => [axis.name, counted(axis) ? "" : axis.unit.replaceAll("_", " ")].filter(Boolean).join(" in ");
    const head = [axisName(spec.x), ...spec.series.map((line) => line.name || axisName(spec.y))];
    const keys = [...rows.keys()];
    if (keys.every((key) => typeof key === "number")) keys.sort((a, b) => a - b);
    const lines = [head, ...keys.map((key) => [key, ...rows.get(key)])];
    return lines.map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
  }

  function resizeAll() {
    drawn.forEach((chart) => chart.resize());
  }

  return { draw, drawForPaper, drawForScreen, csvOf, resizeAll, drawn, escape };
})();
