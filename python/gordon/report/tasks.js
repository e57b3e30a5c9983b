// Draws the plots of a survey of clusters.
"use strict";
(() => {
  const { place, result, el, colour, config, still, figures, layout, limits, lowest, lanes, plain, label } = charts;
  const NAMES = Object.fromEntries(JSON.parse(el("plot-parts").dataset.names));
  const AGAINST = el("plot-front").dataset.against;
  const TONES = ["cpu", "storage", "network", "flash-controller", "mixed", "flash-memory", "accent", "ink"];
  const byId = Object.fromEntries(result.designs.map((d) => [d.id, d]));
  const best = byId[el("plot-front").dataset.best];
  const outcome = (d) => d.tasks;
  // The remarks are those of the table.
  const remarks = Object.fromEntries([...document.querySelectorAll("#table tr[data-id]")].map((row) => [row.dataset.id, row.dataset.names]));
  const title = (d) => "<b>" + plain(d.id) + "</b>" + (remarks[d.id] ? "<br>" + remarks[d.id] : "");

  // Seconds in words, and as a tick of an axis, of whole minutes, hours or days.
  function duration(secs) {
    if (secs < 120) return figures(secs) + " s";
    const [many, unit, one, small] = secs < 3600 ? [60, " min", 1, " s"] : secs < 48 * 3600 ? [60, " h", 60, " min"] : [24, " d", 3600, " h"];
    const all = Math.round(secs / one);
    return Math.floor(all / many) + unit + (all % many ? " " + (all % many) + small : "");
  }
  const tick = (secs) => (secs < 60 ? secs + " s" : secs < 3600 ? secs / 60 + " min" : secs < 86400 ? secs / 3600 + " h" : secs / 86400 + " d");
  // Ticks of a logarithmic axis from `least` to `most` seconds, closer for a short one.
  function ticks(least, most) {
    const steps = most / least > 30 ? [[1, 2, 5], [1, 2, 5, 10, 30], [1, 2, 5, 12]] : [[1, 1.5, 2, 3, 4, 5, 7], [1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 45], [1, 1.5, 2, 3, 4, 6, 8, 12, 18]];
    const [decade, minutes, hours] = steps;
    const tens = (from, to) => [-3, -2, -1, 0, 1, 2, 3].filter((n) => n >= from && n <= to).flatMap((n) => decade.map((step) => Number((step * 10 ** n).toPrecision(2))));
    return [...tens(-3, 1).filter((secs) => secs < 60), ...minutes.map((n) => 60 * n), ...hours.map((n) => 3600 * n), ...tens(0, 3).map((n) => 86400 * n)];
  }

  // A unit in which the numbers of an axis of seconds are short, and its seconds.
  const unitOf = (longest) => (longest < 600 ? ["s", 1] : longest < 36000 ? ["min", 60] : ["h", 3600]);

  // A narrow plot has its legend below it, in one column.
  const isNarrow = (plot) => plot.clientWidth < 600;
  const legend = (plot, more) => ({ legend: { orientation: "h", x: 0, ...(isNarrow(plot) ? { yref: "container", y: 0, yanchor: "bottom" } : { y: 1.02, yanchor: "bottom" }), ...more } });

  // What a cluster costs.
  const cost = (d) => (AGAINST === "nodes" ? d.nodes : outcome(d)[AGAINST]);
  const time = (d) => outcome(d).time_s;
  const COSTS = {
    price: ["price of the application, " + result.space.currency, (d) => "price " + figures(cost(d)) + " " + result.space.currency],
    energy_j: ["energy of the application, J", (d) => "energy " + figures(cost(d)) + " J"],
    nodes: ["nodes", () => "neither price nor energy is known"],
  };

  function said(d) {
    const of = outcome(d);
    const named = Object.fromEntries(Object.entries(d.limits).map(([part, share]) => [NAMES[part], share]));
    return title(d) + "<br>time " + duration(of.time_s) + " (" + duration(of.time_s_low) + " to " + duration(of.time_s_high) + ")<br>" + COSTS[AGAINST][1](d) +
      "<br>" + d.nodes + (d.nodes === 1 ? " node" : " nodes") + " of " + d.slots_per_node + (d.slots_per_node === 1 ? " slot" : " slots") +
      "<br>limited by " + limits(named);
  }

  // The end of a range of an axis, with room for marks.
  function range(values, isLog) {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return isLog ? [Math.log10(least / 1.25), Math.log10(most * 1.3)] : [0, most * 1.1];
  }

  function drawFront() {
    const plot = el("plot-front");
    const drawn = result.designs.filter((d) => cost(d) !== null).sort((a, b) => a.nodes - b.nodes);
    const front = lowest(drawn, cost, (d) => outcome(d).time_s_high);
    const machines = new Map();
    for (const d of drawn) machines.set(d.machine, [...(machines.get(d.machine) || []), d]);
    // The machines of the front, of names and of the recorded cluster have colours, and others where
    // there are enough.
    const notable = [...front, ...drawn.filter((d) => remarks[d.id] || d.pareto)].map((d) => d.machine);
    const shown = new Set([...notable, ...(machines.size > TONES.length ? [] : machines.keys())]);
    const coloured = [...shown].slice(0, TONES.length);
    const others = [...machines.keys()].filter((name) => !coloured.includes(name));
    const hover = { hovertemplate: "%{customdata}<extra></extra>" };
    const traces = [];
    // One trace for all: a gap ends a curve.
    const gapped = others.flatMap((name) => [...machines.get(name), null]);
    if (gapped.length) {
      traces.push({
        x: gapped.map((d) => d && cost(d)), y: gapped.map((d) => d && time(d)), mode: "lines+markers", name: "other machines (" + others.length + ")",
        line: { color: colour("line"), width: 1 }, marker: { color: colour("overhead"), size: 4, opacity: 0.7 }, customdata: gapped.map((d) => d && said(d)), ...hover,
      });
    }
    // Numbers of nodes next to points: those of the dotted line, the ends of curves, and each doubling.
    // In a narrow plot they would cover each other; a point says its number when it is touched.
    const isNumbered = (d, at, all) => isNarrow(plot) ? remarks[d.id] : front.includes(d) || remarks[d.id] || at === 0 || at === all.length - 1 || (d.nodes & (d.nodes - 1)) === 0;
    for (const [i, name] of coloured.entries()) {
      const curve = machines.get(name);
      const tone = colour(TONES[i]);
      traces.push({
        x: curve.map(cost), y: curve.map(time), mode: "lines+markers+text", name: plain(name), line: { color: tone, width: 1.5 },
        marker: { color: tone, size: curve.map((d) => (d.pareto ? 10 : 6)), symbol: curve.map((d) => (d.pareto ? "circle" : "circle-open")) },
        text: curve.map((d, at) => (isNumbered(d, at, curve) ? String(d.nodes) : "")), textposition: i % 2 ? "bottom right" : "top right", textfont: { color: tone, size: 11 },
        customdata: curve.map(said), ...hover,
      });
    }
    if (front.length > 1) {
      traces.push({
        x: front.map(cost), y: front.map(time), mode: "lines", name: "Pareto front", line: { color: colour("soft"), width: 1.5, dash: "dot" }, hoverinfo: "skip",
      });
    }
    const marks = cost(best) === null ? [] : [best];
    const of = outcome(best);
    if (marks.length) {
      traces.push({
        x: marks.map(cost), y: marks.map(time), mode: "markers", name: result.verdict ? "recommended" : "fastest",
        marker: { color: colour("ink"), size: 15, symbol: "diamond-open", line: { width: 2 } },
        error_y: { type: "data", symmetric: false, array: [of.time_s_high - of.time_s], arrayminus: [of.time_s - of.time_s_low], color: colour("ink"), thickness: 1.5, width: 6 },
        customdata: marks.map(said), ...hover,
      });
    }
    const recorded = result.application.time_s;
    const lines = [[recorded, "recorded: " + duration(recorded), "storage"]];
    if (result.deadline_s !== null) lines.push([result.deadline_s, "deadline: " + duration(result.deadline_s), "flash-controller"]);
    const times = [...drawn.map(time), of.time_s_low, of.time_s_high, ...lines.map(([secs]) => secs)];
    // Neither a free machine nor a time of nothing has a logarithm.
    const [isLogX, isLogY] = [drawn.every((d) => cost(d) > 0), times.every((secs) => secs > 0)];
    const at = (v, isLog) => (isLog ? Math.log10(v) : v);
    const shapes = lines.map(([secs, , tone]) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: secs, y1: secs, line: { color: colour(tone), width: 1.5, dash: "dash" } }));
    const annotations = lines.map(([secs, text]) => ({
      xref: "paper", x: 1, xanchor: "right", y: at(secs, isLogY), yanchor: "bottom", text, showarrow: false, font: { size: 12 }, bgcolor: colour("paper"), opacity: 0.9,
    }));
    // Labels go to the side where there is room.
    const [least, most] = [Math.min(...drawn.map(cost)), Math.max(...drawn.map(cost))];
    const middle = isLogX ? Math.sqrt(least * most) : (least + most) / 2;
    // Neighbours at different heights.
    const named = drawn.filter((d) => remarks[d.id]).sort((a, b) => cost(a) - cost(b));
    for (const [i, d] of named.entries()) {
      const isLeft = cost(d) < middle;
      annotations.push({
        x: at(cost(d), isLogX), y: at(time(d), isLogY), text: title(d), showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: colour("soft"),
        ax: isLeft ? 12 : -12, xanchor: isLeft ? "left" : "right", align: isLeft ? "left" : "right", ay: d === best ? 44 : -40 - 40 * (i % 2),
        font: { size: 12 }, bgcolor: colour("paper"), opacity: 0.9, borderpad: 1,
      });
    }
    const axis = (text, values, isLog) => ({ title: { text, standoff: 14 }, type: isLog ? "log" : "linear", range: range(values, isLog) });
    const onNodes = AGAINST === "nodes" ? { tickmode: "array", tickvals: [...new Set(drawn.map(cost))], tickformat: "d" } : { dtick: isLogX ? (isNarrow(plot) ? 1 : "D2") : undefined, tickformat: AGAINST === "price" ? "~g" : "~s" };
    const steps = isLogY ? ticks(Math.min(...times), Math.max(...times)) : [];
    const inTime = isLogY ? { tickmode: "array", tickvals: steps, ticktext: steps.map(tick) } : {};
    place(plot, Plotly.react(plot, traces, layout({
      xaxis: { ...axis(COSTS[AGAINST][0], drawn.map(cost), isLogX), ...onNodes },
      yaxis: { ...axis("time of the application" + (isLogY ? "" : ", s"), times, isLogY), ...inTime },
      annotations, shapes, hovermode: "closest", ...legend(plot),
    }), config));
  }

  function drawParts() {
    const plot = el("plot-parts");
    const clusters = JSON.parse(plot.dataset.clusters).map((id) => byId[id]).reverse();
    const [unit, secs] = unitOf(Math.max(...clusters.map(time)));
    const labels = clusters.map((d) => title(d) + "  ");
    // A part has the colour that the legend of the table has.
    const tone = (part) => getComputedStyle(document.querySelector("#clusters .key i." + part)).backgroundColor;
    const parts = Object.keys(NAMES).filter((part) => clusters.some((d) => outcome(d).parts_s[part] > 0));
    const traces = parts.map((part) => ({
      type: "bar", orientation: "h", name: NAMES[part], y: labels, x: clusters.map((d) => (outcome(d).parts_s[part] || 0) / secs), marker: { color: tone(part), line: { color: colour("paper"), width: 1 } },
      customdata: clusters.map((d) => plain(d.id) + "<br>" + NAMES[part] + " " + duration(outcome(d).parts_s[part] || 0)), hovertemplate: "%{customdata}<extra></extra>",
    }));
    traces.push({
      mode: "markers", name: "floor", y: labels, x: clusters.map((d) => outcome(d).floor_s / secs), marker: { symbol: "line-ns", size: 30, line: { color: colour("ink"), width: 3 } },
      customdata: clusters.map((d) => plain(d.id) + "<br>floor " + duration(outcome(d).floor_s)), hovertemplate: "%{customdata}<extra></extra>",
    });
    plot.style.height = (isNarrow(plot) ? 110 + 20 * traces.length : 150) + 52 * clusters.length + "px";
    Plotly.react(plot, traces, layout({
      barmode: "stack", bargap: 0.35, xaxis: { rangemode: "tozero", title: { text: "time, " + unit } }, yaxis: { showgrid: false, ticks: "" },
      margin: { l: 8, r: 16, t: 30, b: isNarrow(plot) ? 60 + 20 * traces.length : 46 }, ...legend(plot, { traceorder: "normal" }),
    }), still);
  }

  // The stages as bars in lanes: as recorded above, on the cluster below.
  function drawStages() {
    const plot = el("plot-stages");
    if (!plot) return;
    const LANE = 24, GAP = 56, TOP = 24, BOTTOM = 52;
    const recorded = result.application;
    const panels = [
      { title: "as recorded", stages: recorded.stages, startup: recorded.startup_s, end: recorded.time_s },
      { title: plain(best.id), stages: best.stages, startup: outcome(best).parts_s.startup || 0, end: time(best) },
    ];
    const isShared = "oneScale" in plot.dataset;
    const longest = Math.max(...panels.map((panel) => panel.end));
    for (const panel of panels) {
      panel.end = isShared ? longest : panel.end;
      [panel.unit, panel.secs] = unitOf(panel.end);
      panel.bars = panel.stages.map((stage, index) => ({
        from: stage.start_s, to: stage.end_s, tone: colour(TONES[index % TONES.length]), name: stage.id + ": " + stage.name,
        said: "<br>" + stage.tasks + (stage.tasks === 1 ? " task" : " tasks") + ", the longest " + duration(stage.longest_s) + (stage.limit ? "<br>limited by " + stage.limit : ""),
      }));
      if (panel.startup > 0) panel.bars.push({ from: 0, to: panel.startup, tone: colour("overhead"), name: "start-up", said: "" });
      panel.bars.sort((a, b) => a.from - b.from);
      panel.lanes = lanes(panel.bars);
    }
    const inner = (panels[0].lanes + panels[1].lanes) * LANE + GAP;
    plot.style.height = inner + TOP + BOTTOM + "px";
    const width = plot.clientWidth - 32;
    const traces = [], axes = {}, annotations = [];
    let top = 1;
    for (const [i, panel] of panels.entries()) {
      const suffix = i ? "2" : "";
      const bottom = Math.max(top - panel.lanes * LANE / inner, 0);
      const { bars, secs, unit, end } = panel;
      traces.push({
        type: "bar", orientation: "h", xaxis: "x" + suffix, yaxis: "y" + suffix, showlegend: false, base: bars.map((bar) => bar.from / secs), x: bars.map((bar) => (bar.to - bar.from) / secs),
        y: bars.map((bar) => bar.lane), width: 0.86, marker: { color: bars.map((bar) => bar.tone), opacity: 0.6, line: { color: colour("paper"), width: 1 } },
        text: bars.map((bar) => plain(label(bar.name, (bar.to - bar.from) / end * width))), textposition: "inside", insidetextanchor: "start",
        constraintext: "none", textangle: 0, insidetextfont: { color: colour("ink"), size: 12 },
        customdata: bars.map((bar) => "<b>" + plain(bar.name) + "</b><br>" + duration(bar.from) + " to " + duration(bar.to) + bar.said), hovertemplate: "%{customdata}<extra></extra>",
      });
      axes["xaxis" + suffix] = { anchor: "y" + suffix, range: [0, end / secs * 1.01], title: i || !isShared ? { text: "time since the start of the application, " + unit } : undefined, automargin: false };
      axes["yaxis" + suffix] = { ...layout({}).yaxis, anchor: "x" + suffix, domain: [bottom, top], range: [panel.lanes - 0.5, -0.5], showgrid: false, zeroline: false, showticklabels: false, fixedrange: true, automargin: false };
      annotations.push({ xref: "paper", x: 0, xanchor: "left", yref: "paper", y: top, yanchor: "bottom", text: "<b>" + panel.title + "</b>", showarrow: false });
      top = bottom - GAP / inner;
    }
    axes.xaxis2 = { ...layout({}).xaxis, ...axes.xaxis2, ...(isShared ? { matches: "x" } : {}) };
    Plotly.react(plot, traces, layout({
      ...axes, annotations, barmode: "overlay", hovermode: "closest", margin: { l: 16, r: 16, t: TOP, b: BOTTOM },
    }), config);
  }

  function draw() {
    drawFront();
    drawParts();
    drawStages();
  }

  // Better first: the first click on a figure of merit sorts it downwards.
  sortable("cluster", ["names", "cores", "speed", "memory", "network"]);
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
