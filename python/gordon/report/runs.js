// Draws the figures: they are data in the file, and colours in them are names of the palette.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("result").textContent).figures;
  // plotly.js can send a chart to its maker's server: never from here.
  const config = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "", modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

  // Names of bars in a plot that is narrower than this many pixels have at most so many letters.
  const NARROW = 600;
  const LETTERS = 18;

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const painted = (value) => {
      if (typeof value === "string") return value.startsWith("--") ? colour(value) : value;
      if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(painted);
      if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, painted(v)]));
      return value;
    };
    const line = colour("--line");
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), size: 13, family: getComputedStyle(document.body).fontFamily },
      margin: { l: 64, r: 28, t: 12, b: 52 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, hoverlabel: { align: "left", namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") },
    };
    for (const [name, figure] of Object.entries(figures)) {
      const { data, layout } = painted(figure);
      // The heading above says it.
      delete layout.title;
      const made = { ...base, ...layout, legend: { ...base.legend, ...layout.legend }, xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis } };
      const plot = document.getElementById("plot-" + name);
      if (made.yaxis.type === "category" && plot.clientWidth < NARROW) {
        const names = [...new Set(data.flatMap((trace) => trace.y))];
        Object.assign(made.yaxis, { tickvals: names, ticktext: names.map((text) => (text.length > LETTERS ? text.slice(0, LETTERS - 1) + "…" : text)) });
      }
      Plotly.react(plot, data, made, config);
    }
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
