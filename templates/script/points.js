
// ---- points of charts: what is pointed at is a row of the table

const peek = el("div", { id: "peek", class: "peek", hidden: true, "aria-hidden": "true" });
document.body.append(peek);

/** The variant that the title of a mark speaks of; marks of lines and limits speak of none. */
function pointedAt(target) {
  const mark = target.closest?.("figure svg g");
  const title = mark?.querySelector(":scope > title")?.textContent;
  if (!title) return null;
  for (let at = title.length; at > 0; at = Math.max(title.lastIndexOf(":", at - 1), title.lastIndexOf(", ", at - 1))) {
    const named = title.slice(0, at);
    const found = data.variants.find((v) => v.id === named || v.label === named);
    if (found) return found;
  }
  return null;
}

/** Its row as the table has it, without the box that selects it. */
function showPeek(v) {
  const cells = columns.map((c) => [c.title, c.show(v)]).filter(([, shown]) => shown !== "");
  const pair = ([title, shown]) => el("div", {}, el("dt", {}, title), el("dd", {}, shown));
  peek.replaceChildren(el("b", {}, bdi(v.label)), el("dl", {}, ...cells.map(pair)));
  peek.hidden = false;
}

for (const figure of document.querySelectorAll("figure")) {
  figure.addEventListener("pointerover", (event) => {
    const v = pointedAt(event.target);
    if (v) showPeek(v);
    else peek.hidden = true;
  });
  figure.addEventListener("pointerleave", () => (peek.hidden = true));
  figure.addEventListener("click", (event) => {
    const v = pointedAt(event.target);
    if (v) open(v);
  });
}
