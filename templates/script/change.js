// ---- changes, written as crates/ncugate-model/src/number/format.rs writes them; tests/browser/check.mjs holds the two against each other

/** A decimal as Rust rounds it: of two that are equally near, the even one, where `toFixed` takes the larger. */
function fixed(value, decimals) {
  const exact = value.toFixed(100);
  const end = exact.indexOf(".") + 1 + decimals;
  const kept = exact.slice(0, end).replace(/\.$/, "");
  return /[02468]$/.test(kept) && /^50*$/.test(exact.slice(end)) ? kept : value.toFixed(decimals);
}

/** What a value changed by in percent; from tenfold on the factor, in four digits. */
function ratioText(ratio) {
  const percent = Math.abs((ratio - 1) * 100);
  if (!Number.isFinite(percent)) return "n/a";
  if (ratio >= 1e15) return ratio.toExponential(3).replace("+", "") + "×";
  if (ratio >= 999.95) return fixed(ratio, 0).replace(/\B(?=(\d{3})+$)/g, ",") + "×";
  if (ratio >= 10) return Number(fixed(ratio, ratio < 100 ? 2 : 1)) + "×";
  const text = fixed(percent, percent < 100 ? 1 : 0);
  return Number(text) === 0 ? "0.0 %" : (ratio < 1 ? "-" : "+") + text + " %";
}

/** What two percentages differ by. */
function pointsText(difference) {
  const points = Number(fixed(Math.abs(difference), 2));
  return points === 0 ? "under 0.01 pp" : (difference < 0 ? "-" : "+") + points + " pp";
}
