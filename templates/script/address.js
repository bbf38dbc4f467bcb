
// ---- order, pair and search in the address of the page, so that a link shows what was looked at

/** What is not as it was at the start, as `sort=latency_p50:down&pair=A&pair=B`. */
function addressOf() {
  const address = new URLSearchParams();
  if (state.sort.key !== "rank" || !state.sort.up) address.set("sort", state.sort.key + (state.sort.up ? ":up" : ":down"));
  for (const v of state.pair) address.append("pair", v.id);
  if (state.query) address.set("search", state.query);
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

/** Takes over what the address says; what it names and is not here is left out. */
function readAddress() {
  if (!location.hash.includes("=")) return;
  const address = new URLSearchParams(location.hash.slice(1));
  const [, key, way] = address.get("sort")?.match(/^(.*):(up|down)$/) ?? [];
  if (columns.some((column) => column.key === key)) state.sort = { key, up: way === "up" };
  const named = address.getAll("pair").map((id) => data.variants.find((v) => v.id === id));
  state.pair = [...new Set(named.filter(Boolean))].slice(0, 2);
  state.query = address.get("search") ?? "";
  $("filters").querySelector("input[type=search]").value = state.query;
}
