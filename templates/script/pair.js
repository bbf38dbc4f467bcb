
// ---- two variants side by side

/** Marks a variant for comparison, or takes its mark back; a third one replaces the first. */
function pick(v) {
  state.pair = state.pair.includes(v) ? state.pair.filter((p) => p !== v) : [...state.pair, v].slice(-2);
  drawRows();
  drawPair();
}

function clearPair() {
  state.pair = [];
  drawRows();
  drawPair();
  grid.focus();
}

function drawPair() {
  keepAddress();
  if (state.pair.length < 2) {
    const more = state.pair.map((v) => el("p", { class: "quiet" }, "One more to compare with ", bdi(v.id), "."));
    $("compare").replaceChildren(...more);
    return;
  }
  const [a, b] = state.pair;
  const lines = [...data.params.map((_, at) => parameterLine(a, b, at)), ...data.metrics.map((_, at) => metricLine(a, b, at))];
  const number = (content) => el("th", { class: "num" }, content);
  const heads = el("tr", {}, el("th", {}, "Metric"), number(bdi(a.label)), number(bdi(b.label)), number("Change"));
  const body = el("tbody", {}, ...lines.filter((line) => line !== null));
  const pair = el("table", { id: "pair" }, el("thead", {}, heads), body);
  $("compare").replaceChildren(
    el("h3", {}, "Comparison", el("button", { type: "button", onclick: clearPair }, "Clear"), copyButton(pair)),
    el("div", region("Comparison of two variants"), pair),
  );
}

/** A parameter in which the two differ. */
function parameterLine(a, b, at) {
  if (a.params[at] === b.params[at]) return null;
  const value = (v) => el("td", { class: "num" }, v.params[at] ?? "n/a");
  return el("tr", {}, el("td", {}, data.params[at]), value(a), value(b), el("td"));
}

/** A metric that at least one of the two has. */
function metricLine(a, b, at) {
  const metric = data.metrics[at];
  const [x, y] = [cellOf(a, state.shape, at), cellOf(b, state.shape, at)];
  if (x.value === null && y.value === null) return null;
  const value = (cell) => el("td", { class: "num" }, shown(cell));
  const title = el("td", {}, metric.title, " ", el("small", {}, metric.unit));
  return el("tr", {}, title, value(x), value(y), changeCell(x, y, metric));
}

/** A change has a word and a colour only where more than noise is known to be in it. */
function changeCell(x, y, metric) {
  if (x.value === null || y.value === null) return el("td", { class: "num" });
  const improved = (metric.better === "higher") === y.value > x.value;
  const beyond = metric.explained !== null && Math.abs(y.value - x.value) > metric.explained * Math.hypot(x.value, y.value);
  const word = !beyond || metric.better === "context" ? "" : improved ? "better" : "worse";
  const spoken = word ? el("span", { class: "hidden" }, " " + word) : null;
  return el("td", { class: classes("num", word) }, changeText(x, y, metric), spoken);
}
