
// ---- tables as Markdown

/** What a cell says in one line, without what only screen readers are told, and with what would end a cell escaped. */
function cellText(cell) {
  const copy = cell.cloneNode(true);
  for (const hidden of copy.querySelectorAll(".hidden, svg")) hidden.remove();
  for (const line of copy.querySelectorAll("br")) line.replaceWith(" ");
  return copy.textContent.replace(/\s+/g, " ").trim().replace(/[\\|<`*_]/g, "\\$&");
}

/** A table of the page as GitHub writes one. */
function markdownOf(node) {
  const lines = [...node.rows].filter((row) => !row.matches(".pad")).map((row) => [...row.cells].map(cellText));
  const width = Math.max(...lines.map((line) => line.length));
  const written = lines.map((line) => "| " + [...line, ...Array(width - line.length).fill("")].join(" | ") + " |");
  return [written[0], "|" + " --- |".repeat(width), ...written.slice(1)].join("\n") + "\n";
}

/** Puts text on the clipboard, also if the page has no access to the clipboard. */
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A button that copies a table. */
function copyButton(node) {
  const copy = async () => {
    button.textContent = (await toClipboard(markdownOf(node))) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = "Copy as Markdown"), 1500);
  };
  const button = el("button", { type: "button", class: "copy", onclick: copy }, "Copy as Markdown");
  return button;
}

/** Buttons of the first screen, which copy what a variant is built or called with. */
for (const button of document.querySelectorAll("button.flags")) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.textContent = (await toClipboard(button.dataset.copy)) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = label), 1500);
  });
}

for (const node of document.querySelectorAll("#gates > .scroll > table, #shapes table, #stages table, #effects table")) {
  node.parentElement.after(copyButton(node));
}
