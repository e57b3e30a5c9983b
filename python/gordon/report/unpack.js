// Unpacks the compressed parts of the page into their elements, then runs the program of the page.
"use strict";
(async () => {
  const parts = [...document.querySelectorAll("script[data-for]")];
  const unpacked = async (part) => {
    const bytes = Uint8Array.from(atob(part.textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const run = (text) => {
    const script = document.createElement("script");
    script.textContent = text;
    document.body.append(script);
  };
  const texts = await Promise.all(parts.map(unpacked));
  parts.forEach((part, i) => {
    const target = document.getElementById(part.dataset.for);
    if (!target) run(texts[i]);
    else if (target.tagName === "SCRIPT") target.textContent = texts[i];
    else target.innerHTML = texts[i];
    part.remove();
  });
  run(document.getElementById("program").textContent);
})();
// A sheet of paper is not as wide as the window: charts are drawn for its width (report.css).
const PAPER = 1000;
const resized = (change) => document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.relayout(plot, change));
window.addEventListener("beforeprint", () => resized({ width: PAPER }));
window.addEventListener("afterprint", () => resized({ width: null, autosize: true }));
