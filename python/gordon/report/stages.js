// Draws the stages of a job as bands over the series of the traced nodes.
"use strict";
(() => {
  const { result, el, colour, config, figures, layout, limits, plain, label } = charts;
  const { stages, nodes, start_s: starts, end_s: end } = result.timeline;
  const ROWS = [
    ["cpu_share", "cores busy", { tickformat: ".0%" }, "%{y:.1%}"],
    ["disk_bytes_per_s", "disks", { tickformat: "~s", ticksuffix: "B/s" }, "%{y:.3~s}B/s"],
    ["network_bytes_per_s", "network", { tickformat: "~s", ticksuffix: "B/s" }, "%{y:.3~s}B/s"],
  ].filter(([key]) => nodes.some((node) => node[key]));
  const LINES = ["cpu", "storage", "network", "flash-controller", "mixed", "flash-memory", "overhead", "ink"];
  // Stages that follow each other differ in colour.
  const BANDS = ["accent", "overhead", "mixed"];
  // Pixels: of a lane, of a row, and between rows.
  const LANE = 22, ROW = 128, GAP = 24;
  const TOP = 46, BOTTOM = 52, LEFT = 84, RIGHT = 16;
  // A point is drawn from its start to the next one, the last to its end.
  const x = [...starts, end];
  const steps = (values) => [...values, values[values.length - 1]];

  // What the plot shows: each stage within the traces, with its lane. Stages that overlap are in
  // different lanes.
  function shown() {
    const order = stages.map((stage, index) => ({ stage, index })).filter(({ stage }) => stage.start_s < end);
    order.sort((a, b) => a.stage.start_s - b.stage.start_s || a.index - b.index);
    for (const one of order) {
      one.from = one.stage.start_s;
      one.to = Math.min(one.stage.end_s, end);
    }
    return { order, lanes: charts.lanes(order) };
  }

  function said(stage) {
    const recorded = stage.recorded && stage.recorded.limits;
    return "<b>" + plain(stage.name) + "</b><br>" + figures(stage.start_s) + " s to " + figures(stage.end_s) + " s" +
      (recorded ? "<br>recorded: " + limits(recorded) : "");
  }

  // A line for each node; of many nodes their median, and a band from the least to the most.
  function lines(key, axis, hover, isFirst) {
    const line = (name, y, color, more) => ({
      x, y: steps(y), name, yaxis: axis, mode: "lines", legendgroup: name, showlegend: isFirst,
      line: { color, width: 1.5, shape: "hv" }, hovertemplate: hover + "<extra>" + name + "</extra>", ...more,
    });
    const known = nodes.filter((node) => node[key]);
    if (nodes.length <= LINES.length) {
      return known.map((node) => line(node.name, node[key], colour(LINES[nodes.indexOf(node)])));
    }
    const sorted = starts.map((_, at) => known.map((node) => node[key][at]).filter((v) => v !== null).sort((a, b) => a - b));
    const at = (share) => sorted.map((values) => (values.length ? values[Math.round(share * (values.length - 1))] : null));
    const edge = { line: { width: 0, shape: "hv" }, hoverinfo: "skip", hovertemplate: null };
    const tone = colour("flash-controller");
    return [
      line("least", at(0), tone, { ...edge, showlegend: false }),
      line("least to most of " + nodes.length + " nodes", at(1), tone, { ...edge, fill: "tonexty", fillcolor: tone + "40" }),
      line("median", at(0.5), tone),
    ];
  }

  function draw() {
    const plot = el("plot-stages");
    const { order, lanes } = shown();
    const inner = lanes * LANE + ROWS.length * (ROW + GAP);
    plot.style.height = inner + TOP + BOTTOM + "px";
    const width = plot.clientWidth - LEFT - RIGHT;
    const tone = ({ index }) => colour(BANDS[index % BANDS.length]);
    const base = layout({}).yaxis;
    const axes = {
      yaxis: { ...base, domain: [1 - lanes * LANE / inner, 1], range: [lanes - 0.5, -0.5], showgrid: false, zeroline: false, showticklabels: false, ticks: "", fixedrange: true, automargin: false },
    };
    const traces = [{
      type: "bar", orientation: "h", name: "stages", base: order.map((one) => one.from), x: order.map((one) => one.to - one.from),
      y: order.map((one) => one.lane), width: 0.86, marker: { color: order.map(tone), opacity: 0.45, line: { color: colour("paper"), width: 1 } },
      text: order.map((one) => plain(label(one.stage.name, (one.to - one.from) / end * width))), textposition: "inside", insidetextanchor: "start",
      constraintext: "none", textangle: 0, insidetextfont: { color: colour("ink"), size: 12 },
      customdata: order.map(({ stage }) => said(stage)), hovertemplate: "%{customdata}<extra></extra>",
    }];
    ROWS.forEach(([key, title, axis, hover], row) => {
      const top = 1 - (lanes * LANE + row * (ROW + GAP) + GAP) / inner;
      axes["yaxis" + (row + 2)] = {
        ...base, ...axis, domain: [Math.max(top - ROW / inner, 0), top], title: { text: title, standoff: 6 }, rangemode: "tozero", nticks: 5, automargin: false, fixedrange: true,
      };
      traces.push(...lines(key, "y" + (row + 2), hover, row === 0));
    });
    const shapes = order.map((one) => ({
      type: "rect", x0: one.from, x1: one.to, yref: "paper", y0: 0, y1: 1 - lanes * LANE / inner, layer: "below",
      fillcolor: tone(one), opacity: 0.14, line: { width: 0 },
    }));
    Plotly.react(plot, traces, layout({
      ...axes, shapes, barmode: "overlay", hovermode: "closest", margin: { l: LEFT, r: RIGHT, t: TOP, b: BOTTOM },
      xaxis: { title: { text: "time since the start of the first trace, s" }, range: [0, end], anchor: ROWS.length ? "y" + (ROWS.length + 1) : "y", automargin: false },
      legend: { orientation: "h", y: 1 + 8 / inner, yanchor: "bottom", x: 0 },
    }), config);
  }

  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
