// ---- changes, written as crates/ncugate-model/src/number/format.rs writes them; tests/browser/check.mjs holds the two against each other

/** A decimal as Rust rounds it: of two that are equally near, the even one, where `toFixed` takes the larger. */
function fixed(value, decimals) {
  const exact = value.toFixed(100);
  const end = exact.indexOf(".") + 1 + decimals;
  const kept = exact.slice(0, end).replace(/\.$/, "");
  return /[02468]$/.test(kept) && /^50*$/.test(exact.slice(end)) ? kept : value.toFixed(decimals);
}

/** A positive number in three significant digits, without trailing zeros. */
function shortText(value) {
  if (value < 1e-4 || value >= 1e15) return value.toExponential(2).replace("+", "");
  const digits = Number.isInteger(value) ? 0 : Math.max(0, 2 - Math.floor(Math.log10(value * 1.0005)));
  const [whole, fraction] = fixed(value, digits).split(".");
  const decimals = fraction?.replace(/0+$/, "");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (decimals ? "." + decimals : "");
}

/** What a value changed by in percent; from tenfold on the factor. */
function ratioText(ratio) {
  const percent = Math.abs((ratio - 1) * 100);
  if (!Number.isFinite(percent)) return "n/a";
  if (ratio >= 10) return shortText(ratio) + "×";
  const text = fixed(percent, percent < 100 ? 1 : 0);
  return Number(text) === 0 ? "0.0 %" : (ratio < 1 ? "-" : "+") + text + " %";
}

/** What two percentages differ by. */
function pointsText(difference) {
  if (difference === 0) return "0 pp";
  return (difference < 0 ? "-" : "+") + shortText(Math.abs(difference)) + " pp";
}
