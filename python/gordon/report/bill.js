// What a run, or a month of a service, costs in all, by sliders for how machines are used.
"use strict";
(() => {
  const { result, el, colour, config, figures, layout } = charts;
  const plot = el("plot-bill");
  if (!plot) return;
  const YEAR = 365.25 * 86400;
  const sliders = [...document.querySelectorAll("[data-slider]")];
  const operation = { ...result.operation };
  // A service has no time: its designs are drawn by their greatest use, those that keep up.
  const isService = plot.dataset.unit === "month";
  const outcome = (d) => d.job || d.tasks;
  const greatest = (d) => Math.max(...Object.values(d.use).filter((value) => value !== null));
  const at = (d) => (isService ? 100 * greatest(d) : outcome(d).time_s);
  const compared = (d) => (isService ? d.relative_use : outcome(d).time_s_high);
  const title = isService ? "greatest use, %" : "time, s";
  const sum = (...parts) => (parts.some((part) => part === null) ? null : parts.reduce((a, b) => a + b, 0));
  const times = (value, factor) => (value === null ? null : value * factor);

  // The bill of a run: model/bill.rs has the equations.
  function bill(i) {
    const nothing = { busy: null, rent: null, purchase: null, drives: null, electricity: null, total: null, carbon_kg: null };
    const kwh = (joules) => times(joules, operation.pue / 3.6e6);
    const used = (energy) => times(energy, operation.grams_per_kwh / 1000);
    if (i.purchase_price === null) {
      const made = times(sum(i.embodied_kg, i.drives_embodied_kg), (i.nodes * i.time_s) / (operation.years * YEAR));
      const billed = Math.max(i.time_s, i.billed_s);
      const kept = operation.runs_per_day ? Math.max(i.time_s, 86400 / operation.runs_per_day) : billed;
      const rent = times(i.rent_per_hour, Math.min(billed, kept) / 3600);
      return { ...nothing, rent, total: rent, carbon_kg: sum(used(kwh(i.energy_j)), made) };
    }
    const runs = operation.runs_per_day ? operation.runs_per_day * 365.25 : Math.min(operation.hours_per_year * 3600, YEAR) / i.time_s;
    const busy = (runs * i.time_s) / YEAR;
    if (!(busy <= 1 + 1e-9)) return { ...nothing, busy };
    const years = operation.years;
    const lives = [years, i.drives_life_years, i.wear ? 1 / (i.wear * runs) : null].filter((life) => life !== null);
    const kept = Math.min(...lives);
    const energy = kwh(sum(i.energy_j, times(i.idle_w, i.nodes * (YEAR / runs - i.time_s))));
    const purchase = times(i.purchase_price, i.nodes / (years * runs));
    const drives = times(i.drives_price, i.nodes / (kept * runs));
    const electricity = times(energy, operation.price_per_kwh);
    const made = sum(times(i.embodied_kg, i.nodes / (years * runs)), times(i.drives_embodied_kg, i.nodes / (kept * runs)));
    return { busy, rent: null, purchase, drives, electricity, total: sum(purchase, drives, electricity), carbon_kg: sum(used(energy), made) };
  }

  // Whether the survey may choose a design: one that keeps up, or that has enough memory.
  function isCandidate(d) {
    if (isService) return d.keeps_up;
    return d.memory_fits || (d.memory_fits === null && (result.peak_memory_bytes ?? null) === null);
  }

  // Designs with their bills, and those on the front of time and total.
  function billed() {
    const all = result.designs.filter((d) => d.bill && isCandidate(d)).map((d) => ({ d, bill: bill(d.bill.inputs) })).filter(({ bill }) => bill.total !== null);
    // In single precision, as the survey compares: equal sums may differ in the last digits.
    const high = ({ d }) => Math.fround(compared(d));
    const total = ({ bill }) => Math.fround(bill.total);
    let least = Infinity;
    const sorted = [...all].sort((a, b) => high(a) - high(b) || total(a) - total(b));
    return [all, sorted.filter((one) => total(one) < least && ((least = total(one)), true))];
  }

  // What the chart and the table are of, also in print, which has no sliders.
  function use() {
    const runs = operation.runs_per_day;
    const often = isService ? [] : [runs ? figures(runs) + " runs a day" : figures(operation.hours_per_year) + " hours of a year"];
    el("bill-use").textContent = "For " + [figures(operation.price_per_kwh) + " " + plot.dataset.currency + " a kWh", figures(operation.years) + " years", ...often].join(", ") + ":";
  }

  function draw() {
    use();
    const [all, front] = billed();
    const currency = plot.dataset.currency;
    const shown = new Set(front.map(({ d }) => d.id));
    const points = (name, chosen, tone, marker) => ({
      x: chosen.map(({ d }) => at(d)), y: chosen.map(({ bill }) => bill.total), mode: "markers", name,
      marker: { color: tone, ...marker }, customdata: chosen.map(({ d }) => d.id),
      hovertemplate: "<b>%{customdata}</b><br>" + title + " %{x:.3g}<br>total %{y:.3~g} " + currency + "<extra></extra>",
    });
    const axis = (title) => ({ title: { text: title, standoff: 14 }, type: "log", dtick: "D2", tickformat: "~g" });
    Plotly.react(plot, [
      points("others", all.filter(({ d }) => !shown.has(d.id)), colour("overhead"), { size: 7, opacity: 0.8 }),
      { ...points("front of " + (isService ? "use" : "time") + " and total", front, colour("cpu"), { size: 11 }), mode: "lines+markers", line: { color: colour("soft"), width: 1.5, dash: "dot" } },
    ], layout({ xaxis: axis(isService ? title : "time of a run, s"), yaxis: axis("total of a " + plot.dataset.unit + ", " + currency), hovermode: "closest" }), config);
    fill(front, currency);
  }

  function fill(front, currency) {
    const cell = (value) => (value === null ? "–" : figures(value));
    const columns = [
      ["total, " + currency, ({ bill }) => cell(bill.total)],
      [title, ({ d }) => figures(at(d))],
      ["rent", ({ bill }) => cell(bill.rent)],
      ["purchase", ({ bill }) => cell(bill.purchase)],
      ["drives", ({ bill }) => cell(bill.drives)],
      ["electricity", ({ bill }) => cell(bill.electricity)],
      ["CO2, g", ({ bill }) => cell(times(bill.carbon_kg, 1000))],
      ["busy", ({ bill }) => (isService || bill.busy === null ? "–" : (100 * bill.busy).toPrecision(2) + " %")],
    ].filter(([, value]) => front.some((row) => value(row) !== "–"));
    const make = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text, className: kind || "" });
    const row = (...cells) => { const made = document.createElement("tr"); made.append(...cells); return made; };
    const head = document.createElement("thead"), body = document.createElement("tbody");
    head.append(row(make("th", "on the front"), ...columns.map(([title]) => make("th", title, "num"))));
    body.append(...front.map((one) => row(make("th", one.d.id), ...columns.map(([, value]) => make("td", value(one), "num")))));
    el("bill-table").replaceChildren(head, body);
    el("bill-none").hidden = front.length > 0;
  }

  for (const slider of sliders) {
    const isLog = Boolean(slider.dataset.log);
    if (isLog) Object.assign(slider, { min: Math.log10(slider.min), max: Math.log10(slider.max) });
    slider.value = isLog ? Math.log10(slider.dataset.value) : slider.dataset.value;
    const value = () => (isLog ? 10 ** slider.value : Number(slider.value));
    const output = slider.parentElement.querySelector("output");
    // A slider rounds its value to its steps, and the bills do not.
    const given = result.operation[slider.dataset.slider];
    output.textContent = given === undefined ? slider.dataset.unset : figures(given);
    slider.addEventListener("input", () => {
      operation[slider.dataset.slider] = value();
      output.textContent = figures(value());
      draw();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
