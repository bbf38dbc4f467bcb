
// ---- charts: a mark says what it is, to the pointer and to the keyboard

/** Opens what the text of a mark speaks of, from this drawing; a page that has something to open sets it. */
let openMark = null;

const tip = el("div", { id: "tip", class: "tip", role: "status" });
document.body.append(tip);

/** The node that the tip speaks of. */
let told = null;

/** Says lines beside a node. */
function tell(node, lines) {
  told = node;
  tip.replaceChildren(...lines);
  placeTip();
}

/** The text of a mark beside it: its name, and a line for each value. */
function showTip(mark) {
  const colon = mark.text.lastIndexOf(": ");
  const values = mark.text.slice(colon < 0 ? 0 : colon + 2).split(", ");
  const name = colon < 0 ? null : el("b", {}, bdi(mark.text.slice(0, colon)));
  tell(mark.node, [name, ...values.map((value) => el("span", {}, bdi(value)))].filter(Boolean));
}

/** Puts the tip above its mark, or below where there is no room. */
function placeTip() {
  if (!told) return;
  const [at, size] = [told.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = Math.min(Math.max(8, at.left + at.width / 2 - size.width / 2), innerWidth - size.width - 8);
  const above = at.top - size.height - 10;
  tip.style.left = left + "px";
  tip.style.top = (above > 60 ? above : Math.min(at.bottom + 10, innerHeight - size.height - 8)) + "px";
}

function hideTip() {
  told = null;
  tip.replaceChildren();
}

/** The nearest mark above or below another, rather than one aside; null where there is none. */
function nearest(marks, from, way) {
  const middle = (mark) => {
    const box = mark.node.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [x, y] = middle(from);
  let [found, least] = [null, Infinity];
  for (const mark of marks) {
    const [right, down] = middle(mark);
    const far = way * (down - y);
    const cost = far + 4 * Math.abs(right - x);
    if (far > 1 && cost < least) [found, least] = [mark, cost];
  }
  return found;
}

for (const drawing of document.querySelectorAll(".drawing")) {
  const svg = drawing.querySelector("svg");
  let marks = null;
  let current = null;
  /** Takes the titles out of the picture: the browser would show them beside ours. */
  const prepare = () => {
    if (marks) return;
    svg.querySelector(":scope > title")?.remove();
    marks = [...svg.querySelectorAll("g > title")].map((title) => {
      const mark = { node: title.parentElement, text: title.textContent };
      title.remove();
      return mark;
    });
  };
  const show = (mark) => {
    current?.node.classList.remove("pointed");
    current = mark;
    if (!mark) return hideTip();
    mark.node.classList.add("pointed");
    showTip(mark);
  };
  const markAt = (target) => marks.find((mark) => mark.node.contains(target));
  const label = drawing.getAttribute("aria-label");
  drawing.setAttribute("role", "application");
  drawing.setAttribute("aria-roledescription", "chart");
  drawing.setAttribute("aria-label", `${label}; arrow keys move through its points`);
  drawing.addEventListener("pointerover", (event) => {
    prepare();
    show(markAt(event.target) ?? null);
  });
  drawing.addEventListener("pointerleave", () => show(null));
  drawing.addEventListener("click", (event) => {
    prepare();
    const mark = markAt(event.target);
    if (mark) openMark?.(mark.text, drawing);
  });
  drawing.addEventListener("focus", () => {
    prepare();
    if (drawing.matches(":focus-visible") && marks.length) show(current ?? marks[0]);
  });
  drawing.addEventListener("blur", () => show(null));
  drawing.addEventListener("keydown", (event) => {
    prepare();
    const [at, last] = [marks.indexOf(current), marks.length - 1];
    const moves = {
      ArrowRight: () => marks[Math.min(at + 1, last)],
      ArrowLeft: () => marks[Math.max(at - 1, 0)],
      ArrowDown: () => (current ? (nearest(marks, current, 1) ?? current) : marks[0]),
      ArrowUp: () => (current ? (nearest(marks, current, -1) ?? current) : marks[0]),
      Home: () => marks[0],
      End: () => marks[last],
      Escape: () => null,
    };
    if (event.key === "Enter" && current) openMark?.(current.text, drawing);
    else if (moves[event.key] && marks.length) show(moves[event.key]());
    else return;
    event.preventDefault();
    if (!current) return;
    current.node.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    placeTip();
  });
}
addEventListener("scroll", placeTip, { capture: true, passive: true });

// The definition of a column, where the keyboard reaches its head; the pointer gets the browser's own tip.
addEventListener("focusin", ({ target }) => {
  if (target.matches("th button[title]:focus-visible")) tell(target, [el("span", {}, target.title)]);
});
addEventListener("focusout", ({ target }) => {
  if (told === target) hideTip();
});
