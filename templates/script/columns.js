
// ---- columns of the table of variants

/** Metrics shown beside those that gates judge, until all are asked for. */
const METRICS = 12;

const state = {
  shape: data.shape,
  all: false,
  query: "",
  verdict: "",
  params: data.params.map(() => ""),
  metric: "",
  side: "<=",
  bound: "",
  sort: { key: "rank", up: true },
  cursor: 0,
  pair: [],
  open: null,
};

/** Variants that the filters leave, in order, and the columns of the table. */
let rows = [];
let columns = [];

// A variant that the columns of parameters do not tell apart from others.
const nameless = (v) => v.name !== null;
// Whether candidates need a column for their names; baselines alone do not.
const named = data.variants.some((v) => !v.baseline && nameless(v));

const CORRECT = { pass: "right", fail: "wrong", inconclusive: "unproven" };

/** Each column has a key, a title, a value to sort by, and what a cell shows. */
function makeColumns() {
  const rank = { key: "rank", title: "#", num: true, value: (v) => v.rank, show: (v) => String(v.rank ?? "–") };
  const verdict = {
    key: "verdict",
    title: "Gates",
    value: (v) => v.verdict,
    show: (v) => (v.baseline ? el("span", { class: "tag" }, v.graded ? "baseline, self-reported" : "baseline") : pill(v.verdict)),
  };
  const about = "A mark for each gate: a square fails, a ring is inconclusive, a dot passes.";
  const stops = { key: "stops", title: "Stopped by", about, cls: "stop", value: (v) => v.stops.length, show: stopped };
  const name = {
    key: "name",
    title: "Variant",
    cls: "name",
    value: (v) => v.id,
    show: (v) => bdi(v.id, v.id),
  };
  const correct = {
    key: "correct",
    title: "Correct",
    value: (v) => v.correct[0],
    show: (v) => el("span", { title: v.correct[1], class: "pill " + v.correct[0] }, v.cheats ? "cheats" : CORRECT[v.correct[0]]),
  };
  const params = data.params.map((title, at) => ({
    key: "p" + at,
    title,
    num: true,
    value: (v) => sortable(v.params[at]),
    show: (v) => v.params[at] ?? "",
  }));
  const metrics = data.metrics.map((metric, at) => ({
    key: "m" + at,
    title: metric.title,
    unit: metric.unit,
    about: metric.about,
    num: true,
    value: (v) => valueOf(v, state.shape, at),
    show: (v) => shown(cellOf(v, state.shape, at)),
  }));
  const wanted = metrics.filter((_, at) => state.all || data.metrics[at].gated || at < METRICS);
  const [objective, ...others] = wanted;
  const lead = [rank, ...(state.all || named ? [name] : []), verdict, ...(objective ? [objective] : [])];
  columns = [...lead, stops, ...params, correct, ...others];
}

/** The gates of a variant that does not hold them all; a variant that the columns do not name says who it is. */
function stopped(v) {
  if (!state.all && !named && nameless(v)) return el("b", { title: v.id }, bdi(v.id));
  const judged = v.gates.some((place) => place !== null && pooled(place)[0] !== "pass");
  if (judged && v.gates.length <= DOTS) return gateDots(v);
  const many = v.stops.length > 1 ? `${v.stops.length} gates: ` : "";
  const shares = v.shares ? "same code as " + v.shares : "";
  return bdi(v.stops.length ? many + v.stops[0] : shares, v.stops.join("; "));
}

/** Most gates that are shown as dots. */
const DOTS = 24;

/** A dot a gate, in the order of the phase: full where it fails, a ring where it is inconclusive (thin: not compared), small where it holds. */
function gateDots(v) {
  const dot = (place, at) => {
    const [verdict, text] = place === null ? ["none", "not judged"] : pooled(place);
    return el("i", { class: "dot " + verdict.replace(" ", "-"), title: data.gates[at][0] + ": " + text });
  };
  return el("span", { class: "dots", role: "img", "aria-label": v.stops.join("; ") || "stopped by no required gate" }, ...v.gates.map(dot));
}

/** Values in the order of the arrow; what has no value is always last. */
function compareBy(column, up) {
  return (a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return up ? inOrder(x, y) : inOrder(y, x);
  };
}

/** Whether the filters leave a variant. */
function passes(v, words, bound) {
  if (state.verdict === "baseline" ? !v.baseline : state.verdict && (v.baseline || v.verdict !== state.verdict)) {
    return false;
  }
  if (state.params.some((want, at) => want !== "" && v.params[at] !== want)) return false;
  const searched = (v.id + " " + v.stops.join(" ")).toLowerCase();
  if (words.some((word) => !searched.includes(word))) return false;
  if (state.metric === "" || bound === null || !Number.isFinite(bound)) return true;
  const value = valueOf(v, state.shape, Number(state.metric));
  return value !== null && (state.side === "<=" ? value <= bound : value >= bound);
}

/** Filters, sorts and draws again. */
function update() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const bound = state.bound === "" ? null : Number(state.bound);
  const column = columns.find((c) => c.key === state.sort.key) ?? columns[0];
  rows = data.variants.filter((v) => passes(v, words, bound)).sort(compareBy(column, state.sort.up));
  state.cursor = Math.min(state.cursor, Math.max(rows.length - 1, 0));
  const many = `${rows.length} of ${data.variants.length} variants`;
  $("count").textContent = `${many}, metrics at shape ${data.shapes[state.shape]}. Select two to compare.`;
  drawHead();
  drawRows();
  keepAddress();
}
