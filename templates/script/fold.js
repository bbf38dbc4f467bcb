
// ---- parts of the page that are folded

/** Shows and opens the part that an address of the page names, and every fold around it. */
function reveal(address) {
  if (address.length < 2 || address.includes("=")) return;
  const target = $(decodeURIComponent(address.slice(1)));
  if (target?.hidden) {
    target.hidden = false;
    target.scrollIntoView({ behavior: "instant" });
  }
  const own = target?.querySelector(":scope > details");
  if (own) own.open = true;
  for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
}

for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", () => reveal(link.hash));
addEventListener("hashchange", () => reveal(location.hash));
reveal(location.hash);
