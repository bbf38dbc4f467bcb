
// ---- the table of variants: only the rows in sight are drawn

/** Height of a row in pixels: as in style/sections.css until a drawn one is measured. */
let ROW = 34;
/** Rows drawn above and below those in sight. */
const AHEAD = 12;
/** Most rows on paper. */
const PRINTED = 500;

const grid = $("grid");
const head = el("tr");
const body = el("tbody");
grid.append(el("table", {}, el("thead", {}, head), body));

/** Most pixels of a name in a line. */
const WIDEST_NAME = 560;

/** The room that the longest names need: the width of their column, and the height of every row. */
function measureNames() {
  const longest = rows.map((v) => v.id).sort((a, b) => b.length - a.length).slice(0, 8);
  const probes = longest.map((id) => el("span", { class: "probe" }, ...breakable(id)));
  grid.append(...probes);
  const most = (side) => Math.max(0, ...probes.map((probe) => probe.getBoundingClientRect()[side]));
  const padding = 24;
  const width = Math.min(WIDEST_NAME, Math.ceil(most("width")) + padding);
  for (const probe of probes) Object.assign(probe.style, { width: width - padding + "px", whiteSpace: "normal", overflowWrap: "anywhere" });
  const height = Math.max(34, Math.ceil(most("height")) + 14);
  for (const probe of probes) probe.remove();
  grid.style.setProperty("--name", width + "px");
  grid.style.setProperty("--row", height + "px");
}

function drawHead() {
  measureNames();
  const mark = el("th", {}, el("span", { class: "hidden" }, "Compare"));
  head.replaceChildren(mark, ...columns.map(headCell));
}

/** On paper a head of plain text: one that has buttons is not repeated on every page. */
function drawHeadForPaper() {
  const unit = (column) => (column.unit ? el("span", { class: "unit" }, " " + column.unit) : null);
  const cell = (column) => el("th", { class: classes(column.num && "num", column.cls === "name" && "name") }, column.title, unit(column));
  head.replaceChildren(el("th"), ...columns.map(cell));
}

/** The head of a column sorts by it, and turns the order where it does already. */
function headCell(column) {
  const on = state.sort.key === column.key;
  const sort = () => {
    state.sort = { key: column.key, up: on ? !state.sort.up : true };
    update();
    head.querySelector(`[data-key="${column.key}"]`).focus();
  };
  const unit = column.unit ? el("span", { class: "unit" }, column.unit) : null;
  const arrow = on ? el("span", { "aria-hidden": "true" }, state.sort.up ? "↑" : "↓") : null;
  const attributes = { type: "button", "data-key": column.key, title: column.about, onclick: sort };
  const button = el("button", attributes, column.title, unit, arrow);
  const order = on ? (state.sort.up ? "ascending" : "descending") : "none";
  return el("th", { class: classes(column.num && "num", column.cls === "name" && "name"), scope: "col", "aria-sort": order }, button);
}

/** First row drawn. */
let drawnFrom = 0;
const firstInSight = () => Math.max(0, Math.floor(grid.scrollTop / ROW) - AHEAD);

/** Draws the rows in sight; all of them, as many as are printed, for paper. */
function drawRows(forPaper = false) {
  placeRows(forPaper);
  const drawn = body.querySelector("tr[data-at]")?.getBoundingClientRect().height;
  if (forPaper || !drawn || Math.abs(drawn - ROW) < 0.01) return;
  ROW = drawn;
  placeRows(false);
}

function placeRows(forPaper) {
  const from = forPaper ? 0 : firstInSight();
  const inSight = Math.ceil((grid.clientHeight || 640) / ROW) + 2 * AHEAD;
  const to = Math.min(rows.length, forPaper ? PRINTED : from + inSight);
  drawnFrom = from;
  const above = from > 0 ? [space(from)] : [];
  const below = !forPaper && to < rows.length ? [space(rows.length - to)] : [];
  body.replaceChildren(...above, ...rows.slice(from, to).map((v, at) => drawRow(v, from + at)), ...below);
}

/** The place of rows that are not drawn. */
function space(count) {
  const cell = el("td", { colspan: columns.length + 1 });
  cell.style.height = count * ROW + "px";
  return el("tr", { class: "pad", "aria-hidden": "true" }, cell);
}

function drawRow(v, at) {
  const mark = (event) => {
    event.stopPropagation();
    pick(v);
  };
  const box = el("input", { type: "checkbox", tabindex: "-1", "aria-label": "Compare " + v.id, onclick: mark });
  box.checked = state.pair.includes(v);
  const show = () => {
    state.cursor = at;
    drawRows();
    open(v);
  };
  const names = classes(at === state.cursor && "cursor", v.selected && "chosen");
  const cells = columns.map((c) => el("td", { class: classes(c.num && "num", c.cls) }, c.show(v)));
  return el("tr", { class: names, "data-at": at, onclick: show }, el("td", {}, box), ...cells);
}

let waiting = false;
grid.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (Math.abs(firstInSight() - drawnFrom) > AHEAD / 2) drawRows();
  });
});

/** Moves the cursor and keeps it in sight. */
function moveCursor(by) {
  state.cursor = Math.max(0, Math.min(rows.length - 1, state.cursor + by));
  const top = state.cursor * ROW;
  const room = grid.clientHeight - head.getBoundingClientRect().height - ROW;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top > grid.scrollTop + room) grid.scrollTop = top - room;
  drawRows();
}

grid.addEventListener("keydown", (event) => {
  if (event.target !== grid) return;
  const page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
  const at = rows[state.cursor];
  if (moves[event.key] !== undefined) moveCursor(moves[event.key]);
  else if (event.key === "Enter" && at) open(at);
  else if (event.key === " " && at) pick(at);
  else return;
  event.preventDefault();
});

addEventListener("beforeprint", () => {
  drawHeadForPaper();
  drawRows(true);
  for (const details of document.querySelectorAll("details.rung, .part > details, #provenance details")) details.open = true;
});
addEventListener("afterprint", () => {
  drawHead();
  drawRows();
});
