// Opens the pages of shipped recordings and of all runs: node recordings.mjs FOLDER (see run.sh).
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { barriers, browser, check, clippedTables, counters, crossedLabels, faintInBothThemes, faintTexts, folder, forms, open, quiet, run, unfold } from "./shared.mjs";

await run(async () => {
  let page;
  for (const name of readdirSync(`${folder}/shipped`)) {
    page = await open(`shipped/${name}`, { width: 390, height: 844 });
    await check(`the shipped page of ${name} is no wider than a telephone`, page, async () => {
      assert.equal(await page.evaluate(`document.documentElement.scrollWidth`), 390);
      await unfold(page);
      assert.equal(await page.evaluate(`document.documentElement.scrollWidth`), 390);
      assert.deepEqual(await faintInBothThemes(page), []);
      assert.deepEqual(await barriers(page), []);
    });
    quiet(page);
    await page.close();
    page = await open(`shipped/${name}`, { width: 1440, height: 900 });
    await check(`the shipped page of ${name} says the answer on the first screen, and is short before it is unfolded`, page, async () => {
      const [first, height] = await page.evaluate(`[document.querySelector(".banner").getBoundingClientRect().bottom, document.documentElement.scrollHeight]`);
      assert.ok(first <= 900 && height <= 6000, `${first} and ${height} px`);
      await unfold(page);
      const [all, hidden] = await page.evaluate(`(${counters})()`);
      const isDeep = await page.evaluate(`document.getElementById("deep-profile") !== null`);
      assert.ok(hidden === 0 && (all > 0) === isDeep, `${hidden} of ${all} counters have no value in sight`);
      assert.deepEqual(await page.evaluate(`(${clippedTables})()`), []);
      assert.deepEqual(await page.evaluate(`(${crossedLabels})()`), []);
      assert.deepEqual(await faintInBothThemes(page), []);
      assert.deepEqual(await barriers(page), []);
    });
    quiet(page);
    await page.close();
  }

  const index = pathToFileURL(`${folder}/history/index.html`).href;
  const shown = (selector, text) => `[...document.querySelectorAll("${selector}")].filter((row) => !row.hidden).map((row) => ${text})`;
  page = await browser.open(index);
  await check("the history has the newest run first, and its links lead to pages", page, async () => {
    const started = await page.evaluate(shown("#runs tbody tr", "row.cells[1].textContent"));
    assert.ok(started.length >= 20);
    assert.deepEqual(started, [...started].sort().reverse());
    const links = await page.evaluate(`[...document.querySelectorAll("main td a, main th a")].map((link) => link.href)`);
    assert.equal(links.length, 6, "three pages, each linked by its phase and by its run");
    assert.ok(links.every((link) => existsSync(fileURLToPath(link))), links.join("\n"));
  });
  await check("the history is searched and filtered by phase", page, async () => {
    const verdicts = shown("#runs tbody tr", "row.cells[3].textContent");
    const all = await page.evaluate(verdicts);
    const search = (words) => page.evaluate(`(() => { const find = document.getElementById("find"); find.value = ${JSON.stringify(words)}; find.dispatchEvent(new Event("input", { bubbles: true })); })()`);
    await search("fallback");
    const open = await page.evaluate(verdicts);
    assert.ok(open.length > 0 && open.length < all.length && open.every((text) => /fallback/i.test(text)), open.join());
    assert.match(await page.evaluate(`document.getElementById("count").textContent`), new RegExp(`^${open.length} of `));
    await search("");
    await page.evaluate(`document.getElementById("range").focus()`);
    await page.key("ArrowDown");
    const phase = await page.evaluate(`document.getElementById("range").value`);
    assert.deepEqual([...new Set(await page.evaluate(shown("#runs tbody tr", "row.dataset.range")))], [phase]);
    await page.key("ArrowUp");
    assert.equal((await page.evaluate(verdicts)).length, all.length);
  });
  await check("the history switches between light and dark", page, async () => {
    const ground = () => page.evaluate(`getComputedStyle(document.body).backgroundColor`);
    const before = await ground();
    await page.evaluate(`document.getElementById("theme").click()`);
    assert.notEqual(await ground(), before);
  });
  quiet(page);
  await page.close();
  for (const [width, scheme] of forms) {
    page = await browser.open(index, { width, height: 900, scheme });
    await check(`the history at ${width} px, ${scheme}: fits, has contrast`, page, async () => {
      assert.ok(await page.evaluate(`document.documentElement.scrollWidth <= ${width}`), "wider than the screen");
      // On a telephone a chart keeps 520 px and scrolls in its region, as on every page.
      const regions = width < 640 ? ".scroll:not(.drawing)" : ".scroll";
      assert.ok(await page.evaluate(`[...document.querySelectorAll("${regions}")].every((region) => !region.checkVisibility() || region.scrollWidth <= region.clientWidth)`), "a table or a chart scrolls sideways");
      assert.deepEqual(await page.evaluate(`(${faintTexts})()`), []);
      assert.deepEqual(await barriers(page), []);
    });
    quiet(page);
    await page.close();
  }
});
