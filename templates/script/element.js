// Elements of the page. The files of this folder are put one after the other into one function; see crates/ncugate-report/src/html.rs.

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

/** Text with places for line breaks between the parameters of an id. */
const breakable = (text) => String(text ?? "").split(/(?<=,)(?=[a-z_])/i).flatMap((part, at) => (at > 0 ? [el("wbr"), part] : [part]));

/** Text that may run right to left without turning what is around it. */
const bdi = (text, title = null) => el("bdi", { title }, ...breakable(text));

/** Attributes of a place that scrolls, reachable by keyboard. */
const region = (label) => ({ class: "scroll", tabindex: "0", role: "region", "aria-label": label });

/** Classes that apply, or null where none does. */
const classes = (...names) => names.filter(Boolean).join(" ") || null;

/** A table with a head and lines of cells; all columns but the first are numbers. */
function table(label, heads, lines) {
  const line = (tag, cells) => el("tr", {}, ...cells.map((cell, at) => el(tag, { class: at ? "num" : null }, cell)));
  const body = el("tbody", {}, ...lines.map((cells) => line("td", cells)));
  return el("div", region(label), el("table", {}, el("thead", {}, line("th", heads)), body));
}

const MARKS = { pass: "✓", fail: "✕", inconclusive: "?", "not compared": "–" };

/** A verdict in its colour. */
const pill = (verdict) => el("span", { class: "pill " + verdict.replace(" ", "-") }, MARKS[verdict] + " " + verdict);
