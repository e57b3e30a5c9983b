// Draws the load of a service over time.
"use strict";
(() => {
  const { result, el, colour, config, layout } = charts;
  const load = result.load;
  const PANELS = [
    ["busy cores", "cpu_cores", "cpu", 1, true],
    ["memory, GB", "memory_bytes", "memory", 1e9, load.memory_bytes !== null],
    ["disk, MB/s", "disk_bytes_per_s", "storage", 1e6, load.disk !== null],
    ["network, MB/s", "network_bytes_per_s", "network", 1e6, load.network !== null],
  ];

  const [unit, secondsOf] = [["days", 86400], ["hours", 3600], ["minutes", 60], ["seconds", 1]]
    .find(([, secs]) => load.span_s >= 3 * secs) ?? ["seconds", 1];

  function draw() {
    const since = load.series.start_s.map((secs) => secs / secondsOf);
    const panels = PANELS.filter((panel) => panel[4]);
    const axes = {};
    const traces = [];
    panels.forEach(([title, key, tone, scale], at) => {
      const axis = at ? "y" + (at + 1) : "y";
      const height = 1 / panels.length;
      axes[at ? "yaxis" + (at + 1) : "yaxis"] = {
        title: { text: title }, rangemode: "tozero", domain: [1 - (at + 1) * height + (at + 1 < panels.length ? 0.04 : 0), 1 - at * height],
        gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true,
      };
      const line = (of, dash, name) => traces.push({
        x: since, y: load.series[of].map((value) => value / scale), yaxis: axis, name, mode: "lines",
        line: { color: colour(tone), width: 1.5, dash }, hovertemplate: name + " %{y:.3~g}<extra></extra>",
      });
      line(key, "solid", title);
      if (key === "cpu_cores" && load.series.samples_per_point > 1) line("cpu_cores_peak", "dot", "busy cores, greatest");
    });
    el("plot-load").style.height = 120 + 120 * panels.length + "px";
    Plotly.react("plot-load", traces, layout({
      ...axes, xaxis: { title: { text: unit + " since the start" }, anchor: panels.length > 1 ? "y" + panels.length : "y" },
      showlegend: false, hovermode: "x unified",
    }), config);
  }

  sortable("design", ["names", "cores", "size", "link"]);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
