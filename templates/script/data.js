
// ---- data, as crates/ncugate-report/src/html/data.rs writes it

const data = JSON.parse($("data").textContent);

// What is as usual is left out of the data; what several variants share is in its pool.
const usual = {
  name: null,
  baseline: false,
  graded: false,
  cheats: false,
  doubt: null,
  selected: false,
  stops: [],
  shares: null,
  code: null,
  audits: [],
  witness: [],
  advice: [],
};
data.variants = data.variants.map((v, at) => ({ ...usual, label: v.id, ...v, at, correct: data.pool[v.correct] }));
const pooled = (place) => data.pool[place];

// Texts stand in one string a column.
for (const column of data.values.flat()) {
  if (!column.same) column.texts = column.texts.split("|");
}

/**
 * What was measured of a variant at a shape: `{ value, text, why }`. The value is to sort and filter by; only the text is
 * shown, and this script makes one of changes alone. Without a value, `why` says the reason.
 */
function cellOf(v, shape, metric) {
  const column = data.values[shape][metric];
  const [value, text, why] = column.same ?? [column.values[v.at], column.texts[v.at], column.why?.[v.at]];
  // A whole number below a thousand is its own text.
  return { value, text: text || (value === null ? "n/a" : String(value)), why: pooled(why) ?? null };
}

/** The value alone, to sort and filter by: null where there is none. */
function valueOf(v, shape, metric) {
  const column = data.values[shape][metric];
  return column.same ? column.same[0] : column.values[v.at];
}

/** The text of a cell; one that has no value says why when it is pointed at. */
const shown = (cell) => (cell.value === null ? el("span", { class: "none", title: cell.why }, cell.text) : cell.text);

/** A parameter's value, as a number where it is one. */
function sortable(value) {
  return value === null || value === "" || !Number.isFinite(Number(value)) ? value : Number(value);
}

/** Order of two values that are both there: numbers by size, else by their letters. */
function inOrder(x, y) {
  return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
}

/** What a metric changed by from one cell to another, where both have a value. */
function changeText(before, after, metric) {
  if (before.value === after.value) return metric.unit === "%" ? "0 pp" : "0.0 %";
  if (metric.unit === "%") return pointsText(after.value - before.value);
  if (before.value === 0) return ((after.value > 0 ? "+" : "-") + after.text + " " + metric.unit).replace("--", "-").trim();
  if (before.value * after.value < 0) return "turns its sign";
  return ratioText(after.value / before.value);
}
