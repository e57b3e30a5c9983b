// Draws the plots of a survey of machines.
"use strict";
(() => {
  const { place, result, el, colour, config, still, figures, layout, limits, lowest } = charts;
  const SHARES = { cpu: ["processor", "cpu"], storage: ["storage", "storage"], network: ["network", "network"], idle: ["idle", "overhead"] };
  const share = (d, key) => d.limits[key] || 0;
  const outcome = (d) => d.job;
  const time = (d) => outcome(d).time_s;
  const byTime = (a, b) => time(a) - time(b);
  const remarks = (d) => [...(d.id === result.verdict?.id ? ["verdict"] : []), ...d.names, ...(d.is_reference ? ["traced here"] : [])];
  const isNotable = (d) => d.pareto || remarks(d).length > 0;

  function drawFront() {
    const plot = el("plot-front");
    if (!plot) return;
    const log = el("log").checked;
    const key = plot.dataset.against;
    const of = (d) => outcome(d)[key];
    const unit = key === "price" ? result.space.currency : "J";
    const designs = result.designs.filter((d) => of(d) !== null);
    const front = lowest(designs, of, (d) => outcome(d).time_s_high);
    const traces = [{
      x: front.map(time), y: front.map(of), mode: "lines", name: "Pareto front",
      line: { color: colour("soft"), width: 1.5, dash: "dot" }, hoverinfo: "skip",
    }];
    const group = (name, chosen, tone, marker, bar) => {
      if (!chosen.length) return;
      const interval = chosen[0].job && {
        type: "data", symmetric: false, array: chosen.map((d) => d.job.time_s_high - d.job.time_s),
        arrayminus: chosen.map((d) => d.job.time_s - d.job.time_s_low), color: bar, thickness: 1, width: 2,
      };
      traces.push({
        x: chosen.map(time), y: chosen.map(of), mode: "markers", name, marker: { color: tone, line: { color: colour("paper"), width: 1 }, ...marker },
        ...(interval ? { error_x: interval } : {}),
        customdata: chosen.map((d) => [
          d.id, remarks(d).join(", "), d.job ? " (" + figures(d.job.time_s_low) + " to " + figures(d.job.time_s_high) + " s)" : "",
          d.cores, figures(d.core_speed), limits(d.limits),
        ]),
        hovertemplate: "<b>%{customdata[0]}</b> %{customdata[1]}<br>time %{x:.3g} s%{customdata[2]}<br>" + (key === "price" ? "price" : "energy") +
          " %{y:.3~g} " + unit + "<br>%{customdata[3]} cores, speed %{customdata[4]}<br>limited by %{customdata[5]}<extra></extra>",
      });
    };
    const traced = designs.filter((d) => d.is_reference);
    group("others", designs.filter((d) => !d.pareto && !d.is_reference), colour("overhead"), { size: 8, opacity: 0.85 }, colour("line"));
    group("on the Pareto front", designs.filter((d) => d.pareto && !d.is_reference), colour("cpu"), { size: 11 }, colour("cpu"));
    group("traced here", traced, colour("storage"), { size: 14, symbol: "diamond" }, colour("storage"));
    const at = (v) => (log ? Math.log10(v) : v);
    // Labels of the front go below it, where no machine can be, that of the fastest above; none may
    // leave a narrow plot.
    const narrow = plot.clientWidth < 600;
    function away(d) {
      if (d.is_reference) return { ax: -36, ay: -42 };
      if (!d.pareto) return { ax: narrow ? -12 : 44, ay: 40 };
      const isOnlyFastest = d.id === result.verdict?.fastest && d.id !== result.verdict?.machine;
      return isOnlyFastest ? { ax: narrow ? -8 : -34, ay: -36 } : { ax: -30, ay: 38 };
    }
    const labels = designs.filter((d) => remarks(d).length).sort(byTime).map((d) => ({
      x: at(time(d)), y: at(of(d)), text: "<b>" + d.id + "</b><br>" + remarks(d).join(", "), showarrow: true, arrowhead: 0, arrowwidth: 1,
      arrowcolor: colour("soft"), ...away(d), font: { size: 12 }, bgcolor: colour("paper"), opacity: 0.9, borderpad: 1,
    }));
    const shapes = [];
    if (plot.dataset.measured) {
      const x = Number(plot.dataset.measured);
      shapes.push({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: colour("storage"), width: 1.5, dash: "dash" } });
      labels.push({ x: at(x), yref: "paper", y: 1, yanchor: "top", text: "traced: " + figures(x) + " s, measured", showarrow: false, font: { size: 12 }, bgcolor: colour("paper") });
    }
    const axis = (title) => ({ title: { text: title, standoff: 14 }, type: log ? "log" : "linear", rangemode: log ? "normal" : "tozero", dtick: log ? "D2" : undefined, tickformat: "~g" });
    place(plot, Plotly.react(plot, traces, layout({
      xaxis: axis("time of the job, s"), yaxis: axis((key === "price" ? "price of the job, " : "energy of the job, ") + unit),
      annotations: labels, shapes, hovermode: "closest",
    }), config));
  }

  function drawLimits() {
    const rows = result.designs.filter(isNotable).sort(byTime).reverse();
    const keys = Object.keys(SHARES).filter((key) => rows.some((d) => share(d, key) > 0));
    const name = (d) => d.id + "  " + (remarks(d).length ? "<br><span style='font-size:11px'>" + remarks(d).join(", ") + "  </span>" : "");
    const traces = keys.map((key) => ({
      type: "bar", orientation: "h", name: SHARES[key][0], y: rows.map(name), x: rows.map((d) => share(d, key)),
      marker: { color: colour(SHARES[key][1]), line: { color: colour("paper"), width: 1 } },
      customdata: rows.map((d) => d.id), hovertemplate: "%{customdata}<br>" + SHARES[key][0] + " %{x:.1%}<extra></extra>",
    }));
    el("plot-limits").style.height = 110 + 34 * rows.length + "px";
    Plotly.react("plot-limits", traces, layout({
      barmode: "stack", bargap: 0.3, xaxis: { tickformat: ".0%", range: [0, 1], title: { text: "share of the time" } }, yaxis: { showgrid: false, ticks: "" },
      margin: { l: 120, r: 30, t: 30, b: 46 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" },
    }), still);
  }

  function draw() {
    drawFront();
    drawLimits();
  }

  // Better first: the first click on a figure of merit sorts it downwards.
  sortable("machine", ["names", "cores", "speed", "memory", "network"]);
  if (el("log")) el("log").addEventListener("change", drawFront);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
