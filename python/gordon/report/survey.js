// Draws the plots of a survey of designs.
"use strict";
(() => {
  const { place, result, el, colour, config, still, figures, layout, limits, limitStyle, PARTS } = charts;

  function drawFront() {
    const log = el("log").checked;
    const designs = result.designs;
    const cpus = [...new Set(designs.map((d) => d.cpu))];
    const tones = ["cpu", "storage", "network", "flash-controller", "mixed"].map(colour);
    const traces = [];
    const byId = Object.fromEntries(designs.map((d) => [d.id, d]));
    const front = result.front.map((id) => byId[id]);
    traces.push({
      x: front.map((d) => d.relative.time), y: front.map((d) => d.relative.energy), mode: "lines", name: "Pareto front",
      line: { color: colour("soft"), width: 1.5, dash: "dot" }, hoverinfo: "skip",
    });
    for (const [i, cpu] of cpus.entries()) {
      for (const kind of ["flash", "disk"]) {
        const group = designs.filter((d) => d.cpu === cpu && d.storage_kind === kind);
        if (!group.length) continue;
        const tone = tones[i % tones.length];
        traces.push({
          x: group.map((d) => d.relative.time), y: group.map((d) => d.relative.energy), mode: "markers", name: cpu + ", " + kind,
          marker: {
            color: tone, symbol: kind === "flash" ? "circle" : "square-open", size: group.map((d) => 6 + 2.2 * Math.sqrt(d.cpus * 3)),
            opacity: 0.9, line: { color: kind === "flash" ? colour("paper") : tone, width: kind === "flash" ? 1 : 1.8 },
          },
          customdata: group.map((d) => [
            d.id, d.names.join(" "), figures(d[result.by].time_s), figures(d[result.by].energy_j / 1000), figures(d[result.by].node_power_w),
            limits(d.limits),
          ]),
          hovertemplate: "<b>%{customdata[0]}</b> %{customdata[1]}<br>time %{customdata[2]} s (%{x:.3g}×)<br>" +
            "energy %{customdata[3]} kJ (%{y:.3g}×)<br>node %{customdata[4]} W<br>limited by %{customdata[5]}<extra></extra>",
        });
      }
    }
    const labels = {};
    for (const d of designs) if (d.names.length) labels[d.id] = d;
    const at = (v) => (log ? Math.log10(v) : v);
    // Labels go where no design can be: the fastest to the left, the thriftiest down.
    function away(d) {
      const disk = d.storage_kind === "disk";
      if (d.names[0].startsWith("MaxE")) return { ax: disk ? 28 : -28, ay: 32 };
      if (d.names[0].startsWith("MinT")) return { ax: -28, ay: disk ? -30 : 30 };
      return { ax: disk ? 28 : -28, ay: disk ? -30 : 30 };
    }
    const annotations = Object.values(labels).map((d) => ({
      x: at(d.relative.time), y: at(d.relative.energy), text: d.names.join(", "), showarrow: true, arrowhead: 0, arrowwidth: 1,
      arrowcolor: colour("soft"), ...away(d), font: { size: 12.5 },
      bgcolor: colour("paper"), opacity: 0.85, borderpad: 1,
    }));
    const axis = (title) => ({ title: { text: title }, type: log ? "log" : "linear", rangemode: log ? "normal" : "tozero", dtick: log ? "D2" : undefined, tickformat: "~g" });
    const base = result.baseline.id;
    place(el("plot-front"), Plotly.react("plot-front", traces, layout({
      xaxis: axis("run time, relative to " + base), yaxis: axis("energy, relative to " + base), annotations, hovermode: "closest",
    }), config));
  }

  // The named designs, each once, those with several names under all of them.
  function named() {
    const order = ["MaxE", "MinT", "MinP", "MaxE-disk", "MinT-disk", "MinP-disk"];
    const seen = new Map();
    for (const name of order) {
      const d = result.designs.find((d) => d.id === result.named[name]);
      if (d) seen.set(d.id, { d, label: d.names.join(", ") + "  <br><span style='font-size:11px'>" + d.id + "  </span>" });
    }
    return [...seen.values()].reverse();
  }

  function drawBars(id, keys, value, name, tone, axis, hover) {
    const rows = named();
    const traces = keys.map((key) => ({
      type: "bar", orientation: "h", name: name(key), y: rows.map((r) => r.label), x: rows.map((r) => value(r.d, key)),
      marker: { color: tone(key), line: { color: colour("paper"), width: 1 } },
      customdata: rows.map((r) => r.d.id), hovertemplate: "%{customdata}<br>" + name(key) + " " + hover + "<extra></extra>",
    }));
    el(id).style.height = 110 + 52 * rows.length + "px";
    Plotly.react(id, traces, layout({
      barmode: "stack", bargap: 0.35, xaxis: Object.assign({ rangemode: "tozero" }, axis), yaxis: { showgrid: false, ticks: "" },
      margin: { l: 200, r: 30, t: 30, b: 46 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" },
    }), still);
  }

  function drawLimits() {
    const style = limitStyle(named().map((r) => r.d.limits));
    drawBars("plot-limits", style.keys, (d, k) => d.limits[k] || 0, style.name, style.tone, style.axis, "%{x:.1%}");
  }

  function drawEnergy() {
    const all = result.designs.find((d) => d.id === result.named["MaxE-disk"]);
    // The parts are those of the model with a barrier after each sample.
    const whole = (all || result.baseline).sync.energy_j;
    const keys = Object.keys(PARTS).filter((k) => named().some((r) => r.d.energy_by_part_j[k] > 0));
    drawBars("plot-energy", keys, (d, k) => (d.energy_by_part_j[k] || 0) / whole, (k) => PARTS[k][0], (k) => colour(PARTS[k][1]),
      { title: { text: all ? "energy, relative to MaxE-disk" : "energy, relative to the baseline" } }, "%{x:.3f}");
  }

  function drawTime() {
    const s = result.series;
    const log = el("log-time").checked;
    const tones = ["storage", "flash-controller", "mixed", "flash-memory", "overhead"].map(colour);
    // The last sample is drawn as long as the one before it.
    const n = s.start_s.length;
    const x = [...s.start_s, n > 1 ? 2 * s.start_s[n - 1] - s.start_s[n - 2] : 1];
    const line = (y, name, color) => ({ x, y: [...y, y[n - 1]], name, mode: "lines", line: { color, width: 1.6, shape: "hv" }, hovertemplate: "%{y:.3g} s<extra>" + name + "</extra>" });
    const traces = [line(s.cpu_s, "processor", colour("cpu")), line(s.network_s, "network", colour("network"))];
    Object.keys(s.storages).sort().forEach((id, i) => traces.push(line(s.storages[id], id, tones[i % tones.length])));
    Plotly.react("plot-time", traces, layout({
      xaxis: { title: { text: "time in the trace, s" }, rangemode: "tozero" },
      yaxis: { title: { text: "seconds of work per sample" }, type: log ? "log" : "linear", rangemode: log ? "normal" : "tozero", tickformat: "~g", dtick: log ? "D2" : undefined }, hovermode: "x unified",
    }), config);
  }

  function draw() {
    drawFront();
    drawLimits();
    drawEnergy();
    drawTime();
  }

  // Better first: the first click on a figure of merit sorts it downwards.
  sortable("design", ["perwatt", "life", "names"]);
  el("log").addEventListener("change", drawFront);
  el("log-time").addEventListener("change", drawTime);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
