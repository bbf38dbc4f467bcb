// What the checks of pages have in common: a browser over a folder of pages, and questions to a page.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

export const folder = process.argv[2];
export const browser = await launch(process.env.CHROMIUM ?? "chromium");
let checks = 0;
let failures = 0;

/** A failure does not hide those after it. */
export async function check(what, page, test) {
  checks += 1;
  try {
    await test(page);
    console.log(`ok  ${what}`);
  } catch (error) {
    failures += 1;
    console.error(`FAIL  ${what}\n${error.stack}`);
  }
}
export const open = (name, options) => {
  const file = `${folder}/${name}/report.html`;
  assert.ok(existsSync(file), `${file} is missing`);
  return browser.open(pathToFileURL(file).href, options);
};
export const cells = (page, column) => page.evaluate(`[...document.querySelectorAll("#grid tbody tr:not(.pad)")].map((r) => r.children[${column}].textContent)`);
export const head = (page, title) => page.evaluate(`[...document.querySelectorAll("#grid thead th")].findIndex((h) => h.textContent.startsWith(${JSON.stringify(title)}))`);
export const clickHead = (page, column) => page.evaluate(`document.querySelectorAll("#grid thead th")[${column}].querySelector("button").click()`);
/** Opens every folded part, as a reader does who looks at everything. */
export const unfold = (page) => page.evaluate(`document.querySelectorAll(".part > details, #deep-profile details").forEach((d) => (d.open = true))`);
export const count = async (page) => Number((await page.evaluate(`document.getElementById("count").textContent`)).split(" ")[0]);
export const choose = (page, label, value) => page.evaluate(`(() => { const s = [...document.querySelectorAll("#filters label")].find((l) => l.firstChild.textContent === ${JSON.stringify(label)}).querySelector("select,input"); s.value = ${JSON.stringify(value)}; s.dispatchEvent(new Event(s.tagName === "SELECT" ? "change" : "input", { bubbles: true })); })()`);
/** Texts whose contrast with what is behind them is under 4.5 (WCAG AA); runs in the page. */
export function faintTexts() {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const luminance = (rgb) => { const [r, g, b] = rgb.map((v) => { const c = v / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => { for (let at = node; at; at = at.parentElement) { const colour = parse(getComputedStyle(at).backgroundColor); if (colour.a === 1) return colour.rgb; } return [255, 255, 255]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || ["SCRIPT", "STYLE"].includes(node.tagName)) continue;
    const style = getComputedStyle(node);
    const [a, b] = [luminance(parse(node.closest("svg") ? style.fill : style.color).rgb), luminance(behind(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.add(`${contrast.toFixed(2)} ${node.tagName} ${node.className?.baseVal ?? node.className} ${walker.currentNode.data.trim().slice(0, 30)}`);
  }
  return [...faint].slice(0, 20);
}
/** Counters of the deep profile, and those of which a cell is empty, flat or beyond the edge; runs in the page. */
export function counters() {
  const rows = [...document.querySelectorAll("#deep-profile .scroll[aria-label=Counters] tbody tr")];
  const isShown = (cell, edge) => { const b = cell.getBoundingClientRect(); return b.height >= 10 && b.width >= 10 && b.right <= edge + 1 && cell.textContent.trim(); };
  return [rows.length, rows.filter((row) => ![...row.cells].every((cell) => isShown(cell, row.closest(".scroll").getBoundingClientRect().right))).length];
}
/** Regions whose table has columns out of sight; runs in the page. */
export function clippedTables() {
  const regions = [...document.querySelectorAll(".scroll:not(.drawing, #grid)")].filter((region) => region.checkVisibility());
  return regions.filter((region) => region.scrollWidth > region.clientWidth + 1).map((region) => `${region.ariaLabel}: ${region.scrollWidth} in ${region.clientWidth} px`);
}
/** Texts of drawings that overlap another text or leave their drawing; runs in the page. */
export function crossedLabels() {
  document.querySelectorAll("details").forEach((d) => (d.open = true));
  const crossed = [];
  for (const svg of document.querySelectorAll("figure svg")) {
    const frame = svg.getBoundingClientRect();
    // A box has room above and below the letters.
    const trimmed = (b) => ({ left: b.left, right: b.right, top: b.top + b.height * 0.15, bottom: b.bottom - b.height * 0.15 });
    const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim());
    const boxes = texts.map((t) => ({ says: t.textContent, ...trimmed(t.getBoundingClientRect()) }));
    boxes.forEach((one, at) => {
      const outside = one.left < frame.left - 1 || one.right > frame.right + 1 || one.top < frame.top - 1 || one.bottom > frame.bottom + 1;
      if (outside) crossed.push(`${svg.id}: '${one.says}' is outside`);
      for (const other of boxes.slice(at + 1)) {
        const over = one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
        if (over) crossed.push(`${svg.id}: '${one.says}' over '${other.says}'`);
      }
    });
  }
  return crossed;
}
/** Widths and colour schemes of every kind of page. */
export const forms = [[1440, "light"], [1440, "dark"], [390, "light"], [390, "dark"]];
/** Texts without contrast in the page's theme and in the other one. */
export async function faintInBothThemes(page) {
  const faint = [];
  for (const theme of ["system", "other"]) {
    faint.push(...(await page.evaluate(`(${faintTexts})()`)).map((text) => `${theme}: ${text}`));
    await page.evaluate(`document.getElementById("theme").click()`);
  }
  return faint;
}
/** Serious and critical findings of axe-core, where AXE names its axe.min.js. */
export async function barriers(page) {
  if (!process.env.AXE) return [];
  await page.evaluate(readFileSync(process.env.AXE, "utf8") + ";0");
  return page.evaluate(`axe.run().then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 120)).join(" || ")))`);
}
export const quiet = (page, loads = 1) => {
  assert.deepEqual(page.errors, []);
  assert.deepEqual(page.requests.filter((url) => !url.startsWith("file://") && !url.startsWith("data:")), []);
  assert.equal(page.requests.filter((url) => url.startsWith("file://")).length, loads, "the page asked for another file");
};

/** Runs all checks; a page that cannot be opened ends them. */
export async function run(all) {
  try {
    await all();
    console.log(`${checks} checks, ${failures} failed`);
    assert.ok(checks > 0);
    assert.equal(failures, 0);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}
