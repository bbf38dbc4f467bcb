
// ---- what is looked at in the address of the page, so that a link shows it again

/** Choices of the filters: a key of the address, the text of what was chosen, and how to choose by such a text. */
const choices = [];

/** What is not as it was at the start, as `sort=latency_p50:down&gates=fail&pair=A&pair=B&open=A`. */
function addressOf() {
  const address = new URLSearchParams();
  if (state.sort.key !== "rank" || !state.sort.up) address.set("sort", state.sort.key + (state.sort.up ? ":up" : ":down"));
  for (const choice of choices) {
    const chosen = choice.chosen();
    if (chosen !== choice.first) address.set(choice.key, chosen);
  }
  for (const v of state.pair) address.append("pair", v.id);
  if (state.open) address.set("open", state.open.id);
  return address.toString();
}

/** Keeps the address up to date; links to sections stay as they are while nothing is chosen. */
function keepAddress() {
  const address = addressOf();
  if (!address && !location.hash.includes("=")) return;
  try {
    history.replaceState(null, "", "#" + address);
  } catch {
    // A browser that lets no page of a file change its address.
  }
}

const byId = (id) => data.variants.find((v) => v.id === id);

/** Takes over what the address says; what it names and is not here is left out. Gives the variant that is open. */
function readAddress() {
  if (!location.hash.includes("=")) return null;
  const address = new URLSearchParams(location.hash.slice(1));
  for (const choice of choices) if (address.has(choice.key)) choice.choose(address.get(choice.key));
  const [, key, way] = address.get("sort")?.match(/^(.*):(up|down)$/) ?? [];
  if (columns.some((column) => column.key === key)) state.sort = { key, up: way === "up" };
  state.pair = [...new Set(address.getAll("pair").map(byId).filter(Boolean))].slice(0, 2);
  return byId(address.get("open")) ?? null;
}

/** Headings of sections link to themselves; those of folded parts are buttons already, and the bar at the top links to them. */
for (const heading of document.querySelectorAll("section[id] > h2")) {
  const label = "Link to " + heading.textContent.trim();
  heading.append(" ", el("a", { class: "anchor", href: "#" + heading.parentElement.id, "aria-label": label }, "#"));
}
