
// ---- points of charts: a point that names a variant opens it

/** The variant that the text of a mark begins with; marks of lines and limits name none. */
function variantOf(text) {
  for (let at = text.length; at > 0; at = text.lastIndexOf(": ", at - 1)) {
    const named = text.slice(0, at);
    const found = data.variants.find((v) => v.id === named || v.label === named);
    if (found) return found;
  }
  return null;
}

openMark = (text, drawing) => {
  const v = variantOf(text);
  if (!v) return;
  hideTip();
  open(v);
  dialog.addEventListener("close", () => drawing.focus({ preventScroll: true }), { once: true });
};
