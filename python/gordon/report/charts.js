// What the charts of a survey share: the result, the palette of the page, and plotly's settings.
"use strict";
const charts = (() => {
  const result = JSON.parse(document.getElementById("result").textContent);
  const el = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  // plotly.js can send a chart to its maker's server: never from here.
  const offline = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "" };
  const config = { ...offline, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  const still = { ...offline, displayModeBar: false };
  const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0) + " %";
  const figures = (n) => n.toPrecision(3).includes("e") && n >= 1 ? Math.round(n).toString() : n.toPrecision(3);

  function layout(more) {
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("ink"), size: 13, family: getComputedStyle(document.body).fontFamily },
      margin: { l: 64, r: 16, t: 12, b: 52 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { align: "left" }, modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("ink") },
    };
    const made = Object.assign(base, more);
    made.xaxis = Object.assign({}, axis, more.xaxis);
    made.yaxis = Object.assign({}, axis, more.yaxis);
    return made;
  }

  // The largest shares of what limits a design, in words.
  function limits(shares) {
    const largest = Object.entries(shares).sort((a, b) => b[1] - a[1]).slice(0, 3);
    return largest.map(([name, share]) => name + " " + percent(share)).join(", ");
  }

  // Parts of a node that draw power: name and colour.
  const PARTS = {
    cpu: ["processors", "cpu"], memory: ["memory", "memory"], storage: ["disks or flash", "storage"],
    flash_controller: ["flash controller", "flash-controller"],
    flash_memory: ["flash controller's memory", "flash-memory"], overhead: ["overhead", "overhead"],
  };
  const LIMITS = { cpu: "processor", storage: "storage", network: "network" };

  // The limits of designs: keys in the order of the bars, single ones first; names and colours by key.
  function limitStyle(designs) {
    const keys = [...new Set(designs.flatMap((limits) => Object.keys(limits)))];
    keys.sort((a, b) => a.split("+").length - b.split("+").length || Object.keys(LIMITS).indexOf(a) - Object.keys(LIMITS).indexOf(b));
    const tones = ["mixed", "flash-memory", "flash-controller", "overhead"];
    const mixed = keys.filter((k) => !(k in LIMITS));
    return {
      keys,
      name: (key) => key.split("+").map((k) => LIMITS[k] || k).join(" and "),
      tone: (key) => colour(key in LIMITS ? key : tones[mixed.indexOf(key) % tones.length]),
      axis: { tickformat: ".0%", range: [0, 1], title: { text: "fraction of the execution time" } },
    };
  }

  // The designs on the front that no other beats in `of` and in the upper end of the time, the
  // fastest first.
  function lowest(designs, of, upper) {
    let best = Infinity;
    // In single precision, as the survey compares.
    const [time, figure] = [(d) => Math.fround(upper(d)), (d) => Math.fround(of(d))];
    const sorted = designs.filter((d) => d.pareto).sort((a, b) => time(a) - time(b) || figure(a) - figure(b));
    return sorted.filter((d) => figure(d) < best && ((best = figure(d)), true));
  }

  // Gives bars {from, to}, in the order of their starts, lanes: bars that overlap are in different
  // ones. Returns the number of lanes.
  function lanes(bars) {
    const free = [];
    for (const bar of bars) {
      bar.lane = free.findIndex((time) => time <= bar.from);
      if (bar.lane < 0) bar.lane = free.length;
      free[bar.lane] = bar.to;
    }
    return Math.max(free.length, 1);
  }

  // Spark has stages such as "collect at <console>:25".
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

  // Pixels of a letter of a label.
  const LETTER = 6.6;

  // As much of a name as fits; the number with which a name starts, or nothing, if little does.
  function label(name, pixels) {
    const letters = Math.floor((pixels - 8) / LETTER);
    if (letters >= name.length) return name;
    if (letters >= 6) return name.slice(0, letters - 1) + "…";
    const number = name.split(":")[0];
    return number.length <= letters ? number : "";
  }

  // Moves labels with arrows so that none covers another one or leaves the plot, in the order of
  // `annotations`, once `drawing` is done. A label that does not fit is left out, and a note says so.
  async function place(plot, drawing) {
    await drawing;
    const labels = plot.layout.annotations.map((label) => ({ ...label }));
    const boxes = new Map([...plot.querySelectorAll(".annotation")].map((g) => [Number(g.dataset.index), g.querySelector(".annotation-text-g").getBoundingClientRect()]));
    const whole = plot.getBoundingClientRect();
    const area = plot.querySelector(".nsewdrag").getBoundingClientRect();
    const taken = [];
    const overlaps = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const fits = (box) => box.left >= whole.left && box.right <= whole.right && box.top >= area.top - 8 && box.bottom <= area.bottom + 8 && !taken.some((other) => overlaps(box, other));
    const moved = (box, dx, dy) => ({ left: box.left + dx, right: box.right + dx, top: box.top + dy, bottom: box.bottom + dy });
    for (const [i, box] of boxes) if (!labels[i].showarrow) taken.push(moved(box, 0, 0));
    let left = 0;
    for (const [i, box] of boxes) {
      const label = labels[i];
      if (!label.showarrow) continue;
      const [step, side] = [box.height + 4, box.width / 2 + 12];
      const ways = [[0, 0]];
      for (const n of [0, 1, 2, 3, 4]) {
        for (const dx of [0, side, -side]) ways.push([dx, -n * step], [dx, n * step], [dx, -2 * label.ay - n * step], [dx, -2 * label.ay + n * step]);
      }
      const found = ways.find(([dx, dy]) => fits(moved(box, dx, dy)));
      if (found) {
        label.ax += found[0];
        label.ay += found[1];
        taken.push(moved(box, ...found));
      } else {
        label.visible = false;
        left += 1;
      }
    }
    await Plotly.relayout(plot, { annotations: labels });
    const note = plot.parentElement.querySelector(".unlabelled") || plot.insertAdjacentElement("afterend", Object.assign(document.createElement("p"), { className: "note unlabelled" }));
    note.textContent = left ? (left === 1 ? "One label is" : left + " labels are") + " left out, because they would overlap; points name themselves, and the table has all." : "";
  }

  return { place, result, el, colour, config, still, figures, percent, layout, limits, limitStyle, lowest, lanes, plain, label, PARTS };
})();
