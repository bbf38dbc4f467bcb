
// ---- light and dark

const root = document.documentElement;
const system = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

/** Uses the browser's storage. A page opened from disk may have none; then a choice lasts as long as the page. */
function stored(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

const kept = stored((storage) => storage.getItem("ncugate-theme"));
if (kept === "light" || kept === "dark") root.dataset.theme = kept;

$("theme").addEventListener("click", () => {
  const next = (root.dataset.theme ?? system()) === "dark" ? "light" : "dark";
  if (next === system()) {
    delete root.dataset.theme;
    stored((storage) => storage.removeItem("ncugate-theme"));
  } else {
    root.dataset.theme = next;
    stored((storage) => storage.setItem("ncugate-theme", next));
  }
});
