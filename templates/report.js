"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ROW = 34, AHEAD = 12, COLUMNS = 12;
  const $ = (id) => document.getElementById(id);

  /** An element with attributes and children; strings become text, never markup. */
  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** Attributes of a place that scrolls, reachable by keyboard. */
  const region = (label) => ({ class: "scroll", tabindex: "0", role: "region", "aria-label": label });

  // What is as usual is left out of the data; what several share is in its pool.
  const usual = { name: null, baseline: false, selected: false, stops: [], shares: null, code: null, said: [] };
  data.variants = data.variants.map((v, at) => ({ ...usual, label: v.id, ...v, at, correct: data.pool[v.correct] }));
  const pooled = (place) => data.pool[place];
  /** The cell of a variant at a shape, by metric. */
  const cellOf = (v, shape, metric) => { const column = data.values[shape][metric]; return Array.isArray(column) ? column[v.at] : column.same; };
  /** A number of four significant digits with its thousands separated, as everywhere in the report. */
  function plain(value) {
    const size = Math.abs(value);
    if (Number.isInteger(value) || size >= 999.95) return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
    return value.toFixed(Math.min(8, Math.max(0, 3 - Math.floor(Math.log10(size * 1.00005)))));
  }
  // A cell is a number, [number, text], or the reason why there is none.
  const number = (cell) => typeof cell === "number" ? cell : Array.isArray(cell) ? cell[0] : null;
  const text = (cell) => typeof cell === "number" ? plain(cell) : Array.isArray(cell) ? cell[1] : "n/a";
  const reason = (cell) => typeof cell === "string" ? cell : null;

  // ---- theme
  const root = document.documentElement;
  const system = () => matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  // A page opened from disk may have no storage; then a choice lasts as long as the page.
  const stored = (use) => { try { return use(localStorage); } catch { return null; } };
  const kept = stored((storage) => storage.getItem("ncugate-theme"));
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  $("theme").addEventListener("click", () => {
    const next = (root.dataset.theme ?? system()) === "dark" ? "light" : "dark";
    if (next === system()) delete root.dataset.theme; else root.dataset.theme = next;
    stored((storage) => next === system() ? storage.removeItem("ncugate-theme") : storage.setItem("ncugate-theme", next));
  });

  // ---- state
  const state = { shape: data.shape, all: false, query: "", verdict: "", params: data.params.map(() => ""), metric: "", side: "<=", bound: "",
    sort: { key: "rank", up: true }, cursor: 0, pair: [] };
  let rows = [], columns = [];

  function makeColumns() {
    const shown = data.metrics.map((m, at) => [m, at]).filter(([m], at) => state.all || m.gated || at < COLUMNS);
    columns = [
      { key: "rank", title: "#", num: true, value: (v) => v.rank, show: (v) => v.rank === null ? "–" : String(v.rank) },
      { key: "verdict", title: "Gates", value: (v) => v.verdict, show: (v) => v.baseline ? el("span", { class: "tag" }, "baseline") : pill(v.verdict) },
      { key: "stops", title: "Stopped by", cls: "stop", value: (v) => v.stops.length, show: stopped },
      state.all || named
        ? { key: "name", title: "Variant", cls: "name", value: (v) => v.label, show: (v) => state.all || nameless(v) ? el("bdi", { title: v.label }, v.label) : "" } : null,
      ...data.params.map((name, at) => ({ key: "p" + at, title: name, num: true, value: (v) => sortable(v.params[at]), show: (v) => v.params[at] ?? "" })),
      { key: "correct", title: "Correct", value: (v) => v.correct[0], show: (v) => el("span", { title: v.correct[1], class: "pill " + cls(v.correct[0]) }, v.correct[0] === "pass" ? "right" : v.correct[0] === "fail" ? "wrong" : "unproven") },
      ...shown.map(([m, at]) => ({ key: "m" + at, title: m.title, unit: m.unit, num: true, value: (v) => number(cellOf(v, state.shape, at)), show: (v) => measured(cellOf(v, state.shape, at)) })),
    ].filter((c) => c !== null);
  }
  /** The gravest gate that stops a variant, and how many more; a variant that the columns do not name says who it is. */
  function stopped(v) {
    if (!state.all && !named && nameless(v)) return el("b", { title: v.label }, el("bdi", {}, v.label));
    const many = v.stops.length > 1 ? `${v.stops.length} gates: ` : "";
    return el("bdi", { title: v.stops.join("; ") }, v.stops.length ? many + v.stops[0] : v.shares ? "same code as " + v.shares : "");
  }
  // A variant that the columns of parameters do not tell apart from others.
  const nameless = (v) => v.name !== null;
  // Whether candidates need a column for their names; baselines alone do not.
  const named = data.variants.some((v) => !v.baseline && nameless(v));
  const cls = (verdict) => verdict === "pass" ? "pass" : verdict === "fail" ? "fail" : "unsure";
  const pill = (verdict) => el("span", { class: "pill " + cls(verdict) }, verdict === "pass" ? "✓ pass" : verdict === "fail" ? "✕ fail" : "? unsure");
  const sortable = (value) => value === null ? null : value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
  const measured = (cell) => { const why = reason(cell); return why === null ? text(cell) : el("span", { class: "none", title: why }, "n/a"); };

  /** Values in the order of the arrow; what has no value is always last. */
  function compareBy(column, up) {
    return (a, b) => {
      const x = column.value(a), y = column.value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    };
  }

  function update() {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const bound = state.bound === "" ? null : Number(state.bound);
    rows = data.variants.filter((v) => {
      if (state.verdict === "baseline" ? !v.baseline : state.verdict && (v.baseline || v.verdict !== state.verdict)) return false;
      if (state.params.some((want, at) => want !== "" && v.params[at] !== want)) return false;
      if (words.some((w) => !v.id.toLowerCase().includes(w) && !v.stops.join(" ").toLowerCase().includes(w))) return false;
      if (state.metric !== "" && bound !== null && Number.isFinite(bound)) {
        const value = number(cellOf(v, state.shape, Number(state.metric)));
        if (value === null || (state.side === "<=" ? value > bound : value < bound)) return false;
      }
      return true;
    });
    const column = columns.find((c) => c.key === state.sort.key) ?? columns[0];
    rows.sort(compareBy(column, state.sort.up));
    state.cursor = Math.min(state.cursor, Math.max(rows.length - 1, 0));
    $("count").textContent = `${rows.length} of ${data.variants.length} variants, metrics at shape ${data.shapes[state.shape]}. Select two to compare.`;
    drawHead(); drawRows();
  }

  // ---- table
  const grid = $("grid");
  const head = el("tr"), body = el("tbody");
  grid.append(el("table", {}, el("thead", {}, head), body));
  function drawHead() {
    head.replaceChildren(el("th", {}, el("span", { class: "hidden" }, "Compare")), ...columns.map((c) => {
      const on = state.sort.key === c.key;
      const button = el("button", { type: "button", "data-key": c.key, onclick: () => {
        state.sort = { key: c.key, up: on ? !state.sort.up : true };
        update();
        head.querySelector(`[data-key="${c.key}"]`).focus();
      } }, c.title, c.unit ? el("span", { class: "unit" }, c.unit) : null, on ? el("span", { "aria-hidden": "true" }, state.sort.up ? "↑" : "↓") : null);
      return el("th", { class: c.num ? "num" : null, scope: "col", "aria-sort": on ? (state.sort.up ? "ascending" : "descending") : "none" }, button);
    }));
  }
  let window_ = [0, 0];
  function drawRows(every = false) {
    const from = every ? 0 : Math.max(0, Math.floor(grid.scrollTop / ROW) - AHEAD);
    const to = every ? Math.min(rows.length, 500) : Math.min(rows.length, from + Math.ceil((grid.clientHeight || 640) / ROW) + 2 * AHEAD);
    window_ = [from, to];
    const pad = (count) => { const cell = el("td", { colspan: columns.length + 1 }); cell.style.height = count * ROW + "px"; return el("tr", { class: "pad", "aria-hidden": "true" }, cell); };
    body.replaceChildren(...(from > 0 ? [pad(from)] : []), ...rows.slice(from, to).map((v, at) => drawRow(v, from + at)), ...(!every && to < rows.length ? [pad(rows.length - to)] : []));
  }
  function drawRow(v, at) {
    const box = el("input", { type: "checkbox", tabindex: "-1", "aria-label": "Compare " + v.label, onclick: (e) => { e.stopPropagation(); pick(v); } });
    box.checked = state.pair.includes(v);
    const row = el("tr", { class: [at === state.cursor ? "cursor" : "", v.selected ? "chosen" : ""].join(" ").trim() || null, "data-at": at, onclick: () => { state.cursor = at; drawRows(); open(v); } }, el("td", {}, box));
    for (const c of columns) row.append(el("td", { class: [c.num ? "num" : "", c.cls ?? ""].join(" ").trim() || null }, c.show(v)));
    return row;
  }
  let waiting = false;
  grid.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; const from = Math.max(0, Math.floor(grid.scrollTop / ROW) - AHEAD); if (Math.abs(from - window_[0]) > AHEAD / 2) drawRows(); });
  });
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid) return;
    const page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2);
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length }[event.key];
    if (move !== undefined) {
      state.cursor = Math.max(0, Math.min(rows.length - 1, state.cursor + move));
      const top = state.cursor * ROW, room = grid.clientHeight - 40 - ROW;
      if (top < grid.scrollTop) grid.scrollTop = top; else if (top > grid.scrollTop + room) grid.scrollTop = top - room;
      drawRows();
    } else if (event.key === "Enter" && rows[state.cursor]) open(rows[state.cursor]);
    else if (event.key === " " && rows[state.cursor]) pick(rows[state.cursor]);
    else return;
    event.preventDefault();
  });
  addEventListener("beforeprint", () => { drawRows(true); document.querySelectorAll("details.rung, #provenance details").forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => drawRows());

  // ---- filters
  const option = (value, label) => el("option", { value }, label);
  const choice = (label, options, apply) => { const select = el("select", { onchange: () => { apply(select.value); update(); } }, ...options); return el("label", {}, label, select); };
  const filters = $("filters");
  const search = el("input", { type: "search", placeholder: "name or gate", oninput: () => { state.query = search.value; update(); } });
  const bound = el("input", { type: "number", step: "any", oninput: () => { state.bound = bound.value; update(); } });
  const every = el("input", { type: "checkbox", onchange: () => { state.all = every.checked; makeColumns(); update(); } });
  filters.append(
    el("label", { class: "wide" }, "Search", search),
    choice("Gates", [option("", "any"), option("pass", "pass"), option("fail", "fail"), option("inconclusive", "unsure"), option("baseline", "baselines")], (v) => { state.verdict = v; }),
    ...data.params.map((name, at) => {
      const values = [...new Set(data.variants.map((v) => v.params[at]).filter((v) => v !== null))];
      values.sort((a, b) => { const x = sortable(a), y = sortable(b); return typeof x === "number" && typeof y === "number" ? x - y : String(a).localeCompare(String(b)); });
      return choice(name, [option("", "any"), ...values.slice(0, 200).map((v) => option(v, v))], (v) => { state.params[at] = v; });
    }),
    choice("Metric", [option("", "any"), ...data.metrics.map((m, at) => option(at, m.title))], (v) => { state.metric = v; }),
    choice("is", [option("<=", "at most"), option(">=", "at least")], (v) => { state.side = v; }),
    el("label", {}, "Value", bound),
    ...(data.shapes.length > 1 ? [(() => { const pickShape = choice("Shape", data.shapes.map((s, at) => option(at, s)), (v) => { state.shape = Number(v); }); pickShape.querySelector("select").value = data.shape; return pickShape; })()] : []),
    el("label", { class: "check" }, every, "all metrics"),
  );
  filters.addEventListener("submit", (event) => event.preventDefault());

  // ---- compare
  function pick(v) {
    state.pair = state.pair.includes(v) ? state.pair.filter((p) => p !== v) : [...state.pair, v].slice(-2);
    drawRows(); drawPair();
  }
  function drawPair() {
    const place = $("compare");
    if (state.pair.length < 2) { place.replaceChildren(...state.pair.map((v) => el("p", { class: "quiet" }, "One more to compare with ", el("bdi", {}, v.label), "."))); return; }
    const [a, b] = state.pair;
    const lines = [];
    data.params.forEach((name, at) => { if (a.params[at] !== b.params[at]) lines.push(el("tr", {}, el("td", {}, name), el("td", { class: "num" }, a.params[at] ?? "n/a"), el("td", { class: "num" }, b.params[at] ?? "n/a"), el("td"))); });
    data.metrics.forEach((m, at) => {
      const x = cellOf(a, state.shape, at), y = cellOf(b, state.shape, at);
      if (number(x) === null && number(y) === null) return;
      lines.push(el("tr", {}, el("td", {}, m.title, " ", el("small", {}, m.unit)), el("td", { class: "num" }, measured(x)), el("td", { class: "num" }, measured(y)), change(number(x), number(y), m)));
    });
    place.replaceChildren(
      el("h3", {}, "Comparison", el("button", { type: "button", onclick: () => { state.pair = []; drawRows(); drawPair(); grid.focus(); } }, "Clear")),
      el("div", region("Comparison of two variants"), el("table", { id: "pair" }, el("thead", {}, el("tr", {}, el("th", {}, "Metric"), el("th", { class: "num" }, el("bdi", {}, a.label)), el("th", { class: "num" }, el("bdi", {}, b.label)), el("th", { class: "num" }, "Change"))), el("tbody", {}, ...lines))));
  }
  const brief = (value) => String(Number(value.toPrecision(4)));
  /** As the report writes changes: percentage points, a difference from zero, a factor from tenfold on, else percent. */
  function changed(x, y, unit) {
    const sign = y > x ? "+" : "";
    if (unit === "%") return x === y ? "0 pp" : `${sign}${Math.abs(y - x) >= 0.01 ? Number((y - x).toFixed(2)) : brief(y - x)} pp`;
    if (x === y) return "0.0 %";
    if (x === 0 || x * y < 0) return `${sign}${brief(y - x)}${unit ? " " + unit : ""}`;
    if (y / x >= 10) return brief(y / x) + "×";
    const percent = (y / x - 1) * 100;
    return `${sign}${percent.toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
  }
  function change(x, y, metric) {
    if (x === null || y === null) return el("td", { class: "num" });
    const good = x === y || metric.better === "context" ? "" : (metric.better === "higher") === (y > x) ? "better" : "worse";
    return el("td", { class: "num " + good }, changed(x, y, metric.unit), good ? el("span", { class: "hidden" }, " " + good) : null);
  }

  // ---- one variant
  const dialog = $("detail");
  dialog.addEventListener("close", () => grid.focus({ preventScroll: true }));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  const pairs = (entries) => el("dl", { class: "pairs" }, ...entries.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));
  const table = (label, heads, lines) => el("div", region(label), el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h, at) => el("th", { class: at ? "num" : null }, h)))), el("tbody", {}, ...lines.map((line) => el("tr", {}, ...line.map((c, at) => el("td", { class: at ? "num" : null }, c)))))));
  function open(v) {
    const build = pooled(v.build);
    const facts = [["gates", v.baseline ? "a baseline: not judged" : pill(v.verdict)], ["rank", v.rank === null ? "none" : String(v.rank)], ["correctness", v.correct[1]],
      ...(v.shares ? [["shares results of", v.shares]] : []), ...v.stops.map((s) => ["stopped by", s]), ["build", build[1]], ["compiled with", el("code", {}, v.command)], ...(v.code ? [["machine code", el("code", {}, v.code)]] : []),
      ...pooled(v.launch).map((l, at) => [l, at]).filter(([l]) => l).map(([l, at]) => ["launch at " + data.shapes[at], l])];
    const gates = v.gates.map((place, at) => [place === null ? null : pooled(place), at]).filter(([g]) => g).map(([g, at]) => [el("span", {}, pill(["pass", "fail", "inconclusive"][g[0]]), " ", data.gates[at][0]), g[1]]);
    const metrics = data.metrics.map((m, at) => [el("span", {}, m.title, " ", el("small", {}, m.unit)), ...data.shapes.map((_, shape) => measured(cellOf(v, shape, at)))]);
    const checks = pooled(v.checks), uses = pooled(v.uses);
    dialog.replaceChildren(
      el("div", { class: "head" }, el("h2", { id: "detail-title" }, el("bdi", {}, v.id)), el("button", { type: "button", onclick: () => dialog.close() }, "Close")),
      el("div", { class: "body" }, el("h3", {}, "Facts"), pairs(facts),
        ...(gates.length ? [el("h3", {}, "Gates"), table("Gates of the variant", ["gate", "measured"], gates)] : []),
        el("h3", {}, "Metrics"), table("Metrics of the variant", ["metric", ...data.shapes], metrics),
        ...(checks.length ? [el("h3", {}, "Correctness"), table("Correctness of the variant", ["shape", "seed", "max |diff|", "relative L2", "verdict"], checks.map((c) => [c[0], String(c[1]), c[3] ?? "n/a", c[4] ?? "n/a", c[5] ? el("span", {}, pill(c[2]), " ", c[5]) : pill(c[2])]))] : []),
        ...v.said.flatMap(ncuSays),
        ...(uses.length ? [el("h3", {}, "Resources"), table("Resources of the variant", ["resource", "used"], uses)] : []),
        ...(build[2] ? [el("h3", {}, "Compiler"), el("pre", {}, el("bdi", {}, build[2]))] : [])));
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  /** Instructions with samples: what they are, and the source line they come from. */
  function hottest(hot) {
    const known = hot.some((h) => h[4] || h[5]);
    const lines = hot.map(([offset, samples, share, stall, code, line]) => [offset, samples, share, stall, ...(known ? [el("code", {}, el("bdi", {}, code)), line ? el("bdi", { title: line[1] }, line[0]) : ""] : [])]);
    return table("Hottest instructions", ["offset", "samples", "share %", "mostly", ...(known ? ["instruction", "line"] : [])], lines);
  }

  /** Advice of ncu's rules, and the instructions its sampler found warps at. */
  function ncuSays(said) {
    return [
      ...(said.rules.length ? [el("h3", {}, "Nsight Compute's rules at shape " + said.shape), el("ul", { class: "rules" }, ...said.rules.map(([title, message, speedup]) =>
        el("li", {}, el("b", {}, el("bdi", {}, title)), speedup ? el("span", { class: "tag" }, "speedup " + speedup) : null, el("p", {}, el("bdi", {}, message)))))] : []),
      ...(said.hot.length ? [el("h3", {}, "Hottest instructions at shape " + said.shape), hottest(said.hot)] : []),
    ];
  }

  makeColumns();
  update();
})();
