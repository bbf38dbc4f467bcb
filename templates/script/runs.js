
// ---- filters of the page of all runs

const filters = document.querySelector("form.filters");

/** Rows of runs have all three attributes; rows and sections of a phase follow the choice of the phase alone. */
function filterRuns() {
  const wanted = { phase: $("of-phase").value, verdict: $("of-verdict").value, machine: $("of-machine").value };
  const fits = (node) => Object.entries(wanted).every(([key, value]) => !value || (node.dataset[key] ?? value) === value);
  for (const node of document.querySelectorAll("[data-phase]")) node.hidden = !fits(node);
  const rows = [...document.querySelectorAll("#runs tbody tr")];
  $("shown").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} runs`;
}

if (filters) {
  filters.hidden = false;
  filters.addEventListener("change", filterRuns);
  filters.addEventListener("submit", (event) => event.preventDefault());
  // A browser that goes back restores the choices.
  filterRuns();
}
