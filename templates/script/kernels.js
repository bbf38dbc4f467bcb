
// ---- tables of kernels: sort by a column, filter by name, show all; sections follow their rows

const listing = document.querySelector("table[data-shown]");
const find = $("find");
const range = $("range");
let showAll = false;

/** The number of a cell to sort by, or its text; null for a cell without a value. */
function sortKey(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.classList.contains("num") || !cell.textContent.trim() ? null : cell.textContent.trim().toLowerCase();
}

/** Order of two keys; rows without a value come last either way. */
function order(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "string") return sign * a.localeCompare(b);
  return sign * (a - b);
}

/** Hides rows that do not match, and those after the first ones until all are shown. */
function refresh() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...listing.tBodies[0].rows];
  const matches = rows.filter((row) => {
    const text = `${row.cells[0].title} ${row.textContent}`.toLowerCase();
    return words.every((word) => text.includes(word)) && (!range?.value || row.dataset.range === range.value);
  });
  const shown = new Set(showAll ? matches : matches.slice(0, Number(listing.dataset.shown)));
  for (const row of rows) {
    row.hidden = !shown.has(row);
    const section = row.dataset.section && $(row.dataset.section);
    if (section) section.hidden = row.hidden;
  }
  $("count").textContent = `${shown.size} of ${rows.length}`;
  $("all").hidden = shown.size === matches.length;
  $("all").textContent = `Show all ${matches.length}`;
}

function sortBy(button) {
  const head = button.closest("th");
  const column = head.cellIndex;
  const first = head.classList.contains("num") ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  const next = head.getAttribute("aria-sort") === first ? other : first;
  for (const th of listing.tHead.rows[0].cells) th.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", next);
  const keyed = [...listing.tBodies[0].rows].map((row) => [sortKey(row, column), row]);
  keyed.sort(([a], [b]) => order(a, b, next === "ascending" ? 1 : -1));
  listing.tBodies[0].append(...keyed.map(([, row]) => row));
  refresh();
}

if (listing) {
  for (const button of listing.tHead.querySelectorAll("button")) button.addEventListener("click", () => sortBy(button));
  find.addEventListener("input", refresh);
  range?.addEventListener("change", refresh);
  $("all").addEventListener("click", () => {
    showAll = true;
    refresh();
  });
  refresh();
  addEventListener("beforeprint", () => {
    showAll = true;
    refresh();
  });
}
