// Draws the plots of a survey of several jobs.
"use strict";
(() => {
  const { result, el, colour, config, still, figures, layout, limits, limitStyle, PARTS } = charts;
  const COLUMNS = 4;
  const ofGrid = "by" in result;
  // The mean, then each job.
  const panels = [["mean", result], ...Object.entries(result.jobs)];

  // What machines are compared by, next to the time.
  const against = !ofGrid && result.designs.some((d) => d.job.price !== null) ? "price" : "energy_j";

  // Time and the other figure of a front, of a design of a grid or of a machine.
  function point(d) {
    return ofGrid ? [d.relative.time, d.relative.energy] : [d.job.time_s, d.job[against]];
  }

  // The front of the two figures that are drawn: that of the survey may have others, too.
  function frontOf(of) {
    if (ofGrid) {
      const byId = Object.fromEntries(of.designs.map((d) => [d.id, d]));
      return of.front.map((id) => point(byId[id]));
    }
    let least = Infinity;
    const points = of.designs.map(point).filter(([, y]) => y !== null).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return points.filter(([, y]) => y < least && ((least = y), true));
  }

  function drawFronts() {
    const traces = [];
    const kinds = [["flash", "circle", "cpu"], ["disk", "square-open", "storage"]];
    const axes = {}, annotations = [];
    const rows = Math.ceil(panels.length / COLUMNS);
    panels.forEach(([name, of], i) => {
      const suffix = i ? String(i + 1) : "";
      const [row, column] = [Math.floor(i / COLUMNS), i % COLUMNS];
      const [w, h] = [1 / COLUMNS, 1 / rows];
      const domain = { x: [column * w + 0.035, (column + 1) * w - 0.012], y: [1 - (row + 1) * h + 0.09 / rows, 1 - row * h - 0.09 / rows] };
      const axis = (anchor, range) => ({ type: "log", gridcolor: colour("line"), linecolor: colour("line"), tickformat: "~g", dtick: "D2", anchor, domain: range });
      axes["xaxis" + suffix] = axis("y" + suffix, domain.x);
      axes["yaxis" + suffix] = axis("x" + suffix, domain.y);
      annotations.push({ x: domain.x[0], y: domain.y[1], xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom", text: i ? name : "<b>mean</b>", showarrow: false });
      const at = { xaxis: "x" + suffix, yaxis: "y" + suffix, showlegend: i === 0 };
      const front = frontOf(of).sort((a, b) => a[0] - b[0]);
      traces.push({ x: front.map((p) => p[0]), y: front.map((p) => p[1]), mode: "lines", name: "Pareto front", line: { color: colour("soft"), width: 1.5, dash: "dot" }, hoverinfo: "skip", ...at });
      for (const [kind, symbol, tone] of ofGrid ? kinds : [[null, "circle", "cpu"]]) {
        const group = of.designs.filter((d) => !ofGrid || d.storage_kind === kind);
        traces.push({
          x: group.map((d) => point(d)[0]), y: group.map((d) => point(d)[1]), mode: "markers", name: kind || "machine",
          marker: { symbol, size: 7, color: colour(tone), line: { width: symbol === "circle" ? 0.5 : 1.4, color: symbol === "circle" ? colour("paper") : colour(tone) } },
          customdata: group.map((d) => [d.id, d.names.join(" "), limits(d.limits)]),
          hovertemplate: "<b>%{customdata[0]}</b> %{customdata[1]}<br>%{x:.3g}, %{y:.3g}<br>limited by %{customdata[2]}<extra>" + name + "</extra>", ...at,
        });
      }
    });
    el("plot-fronts").style.height = 60 + 250 * rows + "px";
    Plotly.react("plot-fronts", traces, Object.assign(layout({ annotations, hovermode: "closest", margin: { l: 30, r: 8, t: 40, b: 36 } }), axes), config);
  }

  // One bar for each job and design, in groups by design.
  function drawBars(id, bars, keys, name, tone, axis, hover) {
    const labels = bars.map((bar) => bar.label);
    const traces = keys.map((key) => ({
      type: "bar", orientation: "h", name: name(key), y: [bars.map((bar) => bar.group), labels], x: bars.map((bar) => bar.values[key] || 0),
      marker: { color: tone(key), line: { color: colour("paper"), width: 1 } }, hovertemplate: "%{y}<br>" + name(key) + " " + hover + "<extra></extra>",
    }));
    el(id).style.height = 110 + 24 * bars.length + "px";
    Plotly.react(id, traces, layout({
      barmode: "stack", bargap: 0.25, xaxis: Object.assign({ rangemode: "tozero" }, axis), yaxis: { showgrid: false, ticks: "", autorange: "reversed" },
      margin: { l: 200, r: 30, t: 30, b: 46 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" },
    }), still);
  }

  const find = (of, id) => of.designs.find((d) => d.id === id);

  function drawLimits() {
    const names = ["MaxE-disk", "MaxE", "MinT"].filter((name) => result.named[name]);
    const bars = names.flatMap((name) => panels.map(([job, of]) => ({ group: name, label: job, values: find(of, result.named[name]).limits })));
    const style = limitStyle(bars.map((bar) => bar.values));
    drawBars("plot-limits", bars, style.keys, style.name, style.tone, style.axis, "%{x:.1%}");
  }

  function drawEnergy() {
    const reference = result.named["MaxE-disk"] || result.baseline.id;
    const bars = panels.map(([job, of]) => {
      // The parts are those of the model with a barrier after each sample.
      const whole = find(of, reference).sync.energy_j;
      const parts = find(of, result.named.MaxE).energy_by_part_j;
      return { group: "MaxE", label: job, values: Object.fromEntries(Object.entries(parts).map(([k, j]) => [k, j / whole])) };
    });
    const keys = Object.keys(PARTS).filter((k) => bars.some((bar) => bar.values[k] > 0));
    drawBars("plot-energy", bars, keys, (k) => PARTS[k][0], (k) => colour(PARTS[k][1]), { title: { text: "energy, relative to " + reference } }, "%{x:.3f}");
  }

  function draw() {
    drawFronts();
    if (ofGrid) {
      drawLimits();
      drawEnergy();
    }
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
