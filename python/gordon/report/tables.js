// Sorts and filters the table of a survey. The state that a link can carry is in the fragment:
// #sort=KEY, #sort=-KEY (descending), &front=1 (only the front).
"use strict";
// `noun`: of the rows, for their count. `downwards`: keys that the first click sorts descending.
function sortable(noun, downwards) {
  const el = (id) => document.getElementById(id);
  const table = el("table");
  // A body before the last one holds rows that stay at the top.
  const body = table.tBodies[table.tBodies.length - 1];
  const rows = [...body.rows];
  const buttons = [...table.querySelectorAll("button[data-key]")];
  const keys = buttons.map((b) => b.dataset.key);
  // A link within the page has a name in the fragment, and keeps the state.
  let kept = {};
  const state = () => {
    const text = location.hash.slice(1);
    if (!text || text.includes("=")) kept = Object.fromEntries(new URLSearchParams(text));
    return { ...kept };
  };

  function compare(key) {
    return (a, b) => {
      const [x, y] = [a.dataset[key], b.dataset[key]];
      if (x === "" || y === "") return (x === "") - (y === "");
      const [m, n] = [Number(x), Number(y)];
      return Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n;
    };
  }

  function show() {
    const { sort = "", front } = state();
    const down = sort.startsWith("-");
    const key = down ? sort.slice(1) : sort;
    for (const b of buttons) {
      if (b.dataset.key === key) b.parentElement.setAttribute("aria-sort", down ? "descending" : "ascending");
      else b.parentElement.removeAttribute("aria-sort");
    }
    let order = rows;
    if (keys.includes(key)) {
      const by = compare(key);
      // Rows without a value stay last either way.
      order = [...rows].sort((a, b) => (down && a.dataset[key] !== "" && b.dataset[key] !== "" ? by(b, a) : by(a, b)));
    }
    body.append(...order);
    const text = el("find").value.trim().toLowerCase();
    el("only-front").checked = front === "1";
    let shown = 0;
    for (const row of rows) {
      const fits = (front !== "1" || row.classList.contains("pareto")) && (row.dataset.id + " " + row.dataset.names).toLowerCase().includes(text);
      row.hidden = !fits;
      shown += fits;
    }
    el("count").textContent = (shown === rows.length ? shown : shown + " of " + rows.length) + " " + noun + (rows.length === 1 ? "" : "s");
  }

  function change(what) {
    const next = Object.assign(state(), what);
    for (const k of Object.keys(next)) if (!next[k] || !["sort", "front"].includes(k)) delete next[k];
    history.replaceState(null, "", "#" + new URLSearchParams(next));
    show();
  }

  for (const b of buttons) {
    b.addEventListener("click", () => {
      const key = b.dataset.key;
      const first = downwards.includes(key) ? "-" + key : key;
      const other = first === key ? "-" + key : key;
      change({ sort: state().sort === first ? other : first });
    });
  }
  el("only-front").addEventListener("change", (e) => change({ front: e.target.checked ? "1" : "" }));
  el("find").addEventListener("input", show);
  window.addEventListener("hashchange", show);
  show();
}
