// Opens and operates the pages of synthetic runs and of captures: node synthetic.mjs FOLDER (see run.sh).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { barriers, browser, cells, check, choose, clickHead, clippedTables, count, counters, crossedLabels, faintTexts, folder, forms, head, open, quiet, run, unfold } from "./shared.mjs";

await run(async () => {
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    const page = await open("p90", { width, height });
    await check(`the first screen at ${width} px has verdict, reason, what to use, next step and notes`, page, async () => {
      const first = [".verdict .word", ".reason", ".choices", ".step", ".trust > summary"];
      const ends = await page.evaluate(`${JSON.stringify(first)}.map((at) => document.querySelector(".banner " + at).getBoundingClientRect().bottom)`);
      if (width > 1000) assert.ok(ends.every((end) => end <= 900), `${ends}`);
      assert.ok(ends.every((end, at) => at === 0 || end > ends[at - 1]), `${ends}`);
      assert.ok(ends[2] < height, `what to use ends at ${ends[2]} px`);
      assert.match(await page.evaluate(`document.querySelector(".trust > summary").textContent`), /^\d+ notes? on how far to trust this$/);
      assert.equal(await page.evaluate(`document.documentElement.scrollWidth`), width);
    });
    await check(`nothing but the table of variants is long at ${width} px before it is unfolded`, page, async () => {
      const height = await page.evaluate(`document.documentElement.scrollHeight`);
      assert.ok(width < 1000 || height <= 6000, `${height} px`);
      // times at few shapes are shown
      const open = await page.evaluate(`[...document.querySelectorAll(".part > details[open]")].map((d) => d.parentElement.id).join()`);
      assert.match(open, /^(times)?$/);
    });
    await check(`a variant of the first screen is named in full, and what it is built with is copied (${width} px)`, page, async () => {
      await page.evaluate(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (window.copied = text) } })`);
      const [name, flags] = await page.evaluate(`[document.querySelector(".choices .variant").textContent, document.querySelector(".flags").dataset.copy]`);
      assert.ok(await page.evaluate(`JSON.parse(document.getElementById("data").textContent).variants.some((v) => v.id === ${JSON.stringify(name)})`), name);
      await page.evaluate(`document.querySelector(".flags").click()`);
      await page.evaluate(`new Promise((r) => setTimeout(r, 50))`);
      assert.equal(await page.evaluate(`window.copied`), flags);
      assert.ok(flags.includes("-D"), flags);
    });
    quiet(page);
    await page.close();
  }

  let page = await open("p90");
  await check("a link to a folded part opens it, and the definitions are there", page, async () => {
    await page.evaluate(`document.querySelector('nav a[href="#glossary"]').click()`);
    const [open, words] = await page.evaluate(`[document.querySelector("#glossary > details").open, document.getElementById("glossary").textContent]`);
    assert.ok(open && words.includes("one TOML file") && words.includes("eligible_warps"), words);
    assert.ok(await page.evaluate(`[...document.querySelectorAll("#grid thead button")].some((b) => b.title.length > 20)`), "a head has its definition");
  });
  await check("every counter of the deep profile shows its value", page, async () => {
    await unfold(page);
    const [all, hidden] = await page.evaluate(`(${counters})()`);
    assert.ok(all >= 3 && hidden === 0, `${hidden} of ${all} are hidden`);
  });
  await page.close();

  page = await open("p90");
  await unfold(page);
  await check("the verdict, the gates and the charts are there", page, async () => {
    assert.match(await page.evaluate(`document.querySelector(".verdict .word").textContent`), /Fail|Pass|Inconclusive|Fallback/);
    assert.equal(await page.evaluate(`document.querySelector("#gates table").tBodies[0].rows.length`), 8);
    assert.ok(await page.evaluate(`[...document.querySelectorAll("figure")].every((f) => f.querySelector("svg[role=img] > title") && f.querySelector("h3") && f.querySelector("details table tbody tr"))`));
  });
  await check("a column sorts both ways, values that are missing last", page, async () => {
    const at = await head(page, "Latency p50");
    const numbers = async () => (await cells(page, at)).filter((t) => t !== "n/a").map(Number);
    await clickHead(page, at);
    const up = await numbers();
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    await clickHead(page, at);
    const down = await numbers();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    assert.ok(down[0] > up[0]);
    assert.equal(await page.evaluate(`document.querySelectorAll("#grid thead th")[${at}].getAttribute("aria-sort")`), "descending");
  });
  await check("filters narrow by parameter, verdict, metric and text", page, async () => {
    const all = await count(page);
    await choose(page, "REGCAP", "64");
    const some = await count(page);
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    assert.ok((await cells(page, await head(page, "REGCAP"))).every((t) => t === "64"));
    await choose(page, "REGCAP", "");
    await choose(page, "Gates", "fail");
    assert.ok((await cells(page, await head(page, "Gates"))).every((t) => t.includes("fail")));
    await choose(page, "Gates", "");
    await choose(page, "Metric", "0");
    await choose(page, "Value", "22");
    assert.ok((await cells(page, await head(page, "Latency p50"))).every((t) => Number(t) <= 22));
    await choose(page, "Metric", "");
    await choose(page, "Search", "sdpa_flash");
    assert.equal(await count(page), 1);
    await choose(page, "Search", "");
    assert.equal(await count(page), all);
  });
  await check("keys move, open and close a variant, and select two to compare", page, async () => {
    await page.evaluate(`document.getElementById("grid").focus()`);
    await page.key("ArrowDown");
    assert.equal(await page.evaluate(`document.querySelector("#grid tr.cursor").dataset.at`), "1");
    await page.key("Enter");
    assert.ok(await page.evaluate(`document.getElementById("detail").open`));
    assert.ok(await page.evaluate(`document.querySelectorAll("#detail table").length >= 3`));
    await page.key("Escape");
    assert.ok(!await page.evaluate(`document.getElementById("detail").open`));
    assert.equal(await page.evaluate(`document.activeElement.id`), "grid");
    await page.key(" ");
    await page.key("ArrowDown");
    await page.key(" ");
    assert.ok(await page.evaluate(`document.querySelectorAll("#pair tbody tr").length > 5`));
    await page.evaluate(`document.querySelector("#compare button").click()`);
    assert.equal(await page.evaluate(`document.getElementById("pair")`), null);
  });
  await check("every number of the table is written as everywhere in the report", page, async () => {
    const texts = JSON.parse(readFileSync(`${folder}/p90/texts.json`, "utf8"));
    await page.evaluate(`[...document.querySelectorAll("#filters label")].find((l) => l.textContent === "all metrics").querySelector("input").click()`);
    await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
    const [heads, rows] = await page.evaluate(`[[...document.querySelectorAll("#grid thead th")].map((h) => (h.querySelector("button") ?? h).firstChild?.textContent ?? ""), [...document.querySelectorAll("#grid tbody tr:not(.pad)")].map((r) => [...r.children].map((c) => c.textContent))]`);
    const name = heads.indexOf("Variant");
    let compared = 0;
    for (const row of rows) {
      for (const [title, text] of Object.entries(texts[row[name]])) {
        assert.equal(row[heads.indexOf(title)], text, `${title} of ${row[name]}`);
        compared += 1;
      }
    }
    assert.ok(rows.length > 90 && compared > 1000, `${compared} cells of ${rows.length} rows`);
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    await page.evaluate(`[...document.querySelectorAll("#filters label")].find((l) => l.textContent === "all metrics").querySelector("input").click()`);
  });
  await check("comparing two variants names differences in percent, points and factors, best coloured", page, async () => {
    await page.evaluate(`[...document.querySelectorAll("#grid tbody input")].slice(0, 2).forEach((box) => box.click())`);
    const rows = await page.evaluate(`[...document.querySelectorAll("#pair tbody tr")].map((r) => [...r.children].map((c) => c.textContent.trim()))`);
    const row = (title) => rows.find((r) => r[0].startsWith(title));
    assert.match(row("Latency p50")[3], /^[+-]\d+\.\d %$/, "the catalogue knows no spread of it");
    assert.match(row("Achieved occupancy")[3], /^([+-][\d.]+ pp (better|worse)|0 pp)$/);
    assert.ok(rows.some((r) => /^(REGCAP|THREADS|TILE_M|K_TILE)$/.test(r[0]) && r[1] !== r[2]), "the parameters that differ lead");
    await page.evaluate(`document.querySelector("#compare button").click()`);
  });
  await check("changes are written as everywhere in the report", page, async () => {
    const script = readFileSync(new URL("../../templates/script/change.js", import.meta.url), "utf8");
    const { ratios, points } = JSON.parse(readFileSync(`${folder}/changes.json`, "utf8"));
    const written = (name, rows) => page.evaluate(`(() => { ${script}\nreturn ${JSON.stringify(rows.map(([value]) => value))}.map(${name}); })()`);
    for (const [name, rows] of [["ratioText", ratios], ["pointsText", points]]) {
      const texts = await written(name, rows);
      rows.forEach(([value, text], at) => assert.equal(texts[at], text, `${name}(${value})`));
    }
    assert.ok(ratios.length > 4000 && points.length > 8000);
  });
  await check("deltas, provenance and what is missing are on the page", page, async () => {
    assert.match(await page.evaluate(`document.getElementById("deltas").textContent`), /Against sdpa_flash.*Against the previous run.*run 20261120T090000Z/s);
    const provenance = await page.evaluate(`document.getElementById("provenance").textContent`);
    for (const what of ["GPU", "driver", "Nsight Compute", "nvcc", "clocks", "commit", "phase SHA-256", "Sources", "Command line", "The phase as run", "timed at", "How to reproduce", "What is missing"]) assert.ok(provenance.includes(what), what);
  });
  await check("a variant shows what ncu's rules and sampler say, others have no such section", page, async () => {
    const opened = await page.evaluate(`(() => { const data = JSON.parse(document.getElementById("data").textContent); return data.variants.find((v) => v.advice).id; })()`);
    await choose(page, "Search", opened);
    await page.evaluate(`document.querySelector("#grid tbody tr:not(.pad)").click()`);
    assert.match(await page.evaluate(`document.getElementById("detail").textContent`), /Uncoalesced accesses.*at most 12.5 %.*Hottest instructions/s);
    await page.key("Escape");
    await choose(page, "Search", "sdpa_flash");
    await page.evaluate(`document.querySelector("#grid tbody tr:not(.pad)").click()`);
    assert.doesNotMatch(await page.evaluate(`document.getElementById("detail").textContent`), /Nsight Compute's rules|Hottest/);
    await page.key("Escape");
    await choose(page, "Search", "");
  });
  await check("the theme switches and every text has contrast in both", page, async () => {
    const ground = () => page.evaluate(`getComputedStyle(document.body).backgroundColor`);
    const faint = () => page.evaluate(`(${faintTexts})()`);
    const light = await ground();
    assert.deepEqual(await faint(), []);
    await page.evaluate(`document.getElementById("theme").click()`);
    assert.notEqual(await ground(), light);
    assert.deepEqual(await faint(), []);
    assert.equal(await page.evaluate(`getComputedStyle(document.querySelector("svg text.ink")).fill`), "rgb(222, 226, 232)");
    await page.evaluate(`document.getElementById("theme").click()`);
    assert.equal(await ground(), light);
  });
  await check("print shows every row and no controls", page, async () => {
    await page.send("Emulation.setEmulatedMedia", { media: "print" });
    await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
    assert.equal((await cells(page, 1)).length, await count(page));
    assert.equal(await page.evaluate(`getComputedStyle(document.querySelector(".filters")).display`), "none");
    assert.ok(await page.evaluate(`[...document.querySelectorAll("details.rung, #provenance details")].every((d) => d.open)`));
    // The table of variants is printed in landscape.
    const beyond = (width, what) => page.evaluate(`[...document.querySelectorAll(${JSON.stringify(what)})].filter((n) => n.checkVisibility() && n.getBoundingClientRect().right > ${width} + 1).map((n) => n.closest("section,figure")?.id + " " + n.tagName)`);
    for (const [width, what] of [[700, "section:not(#variants) :is(table,svg,pre,dl)"], [1046, "#variants table"]]) {
      await page.send("Emulation.setDeviceMetricsOverride", { width, height: 1000, deviceScaleFactor: 1, mobile: false });
      assert.deepEqual(await beyond(width, what), [], `wider than a page of ${width} px`);
    }
    await page.send("Emulation.clearDeviceMetricsOverride", {});
    const { data } = await page.send("Page.printToPDF", {});
    assert.ok(data.length > 10_000);
  });
  quiet(page);
  await check(process.env.AXE ? "axe-core finds no barrier" : "axe-core was not run (AXE names no axe.min.js)", page, async () => {
    await page.send("Emulation.setEmulatedMedia", { media: "" });
    assert.deepEqual(await barriers(page), []);
    await page.evaluate(`document.querySelector("#grid tbody tr").click()`);
    assert.deepEqual(await barriers(page), []);
  });
  await page.close();

  page = await open("p90", { scheme: "dark" });
  await check("a dark system gets a dark page", page, async () => {
    assert.equal(await page.evaluate(`getComputedStyle(document.body).backgroundColor`), "rgb(21, 24, 28)");
  });
  quiet(page);
  await page.close();

  page = await open("p90", { width: 390, height: 844 });
  await unfold(page);
  await check("nothing is wider than a telephone", page, async () => {
    assert.equal(await page.evaluate(`document.documentElement.scrollWidth`), 390);
    assert.deepEqual(await barriers(page), []);
  });
  quiet(page);
  await page.close();

  page = await open("hostile");
  await check("hostile names stay text", page, async () => {
    assert.equal(await page.evaluate(`document.querySelectorAll("img").length`), 0);
    assert.equal(await page.evaluate(`document.scripts.length`), 2);
    assert.match(await page.evaluate(`document.querySelector("h1").textContent`), /<\/script><img src=x onerror=alert\(1\)>/);
    assert.ok((await page.evaluate(`document.getElementById("grid").textContent + document.title`)).length > 0);
    assert.ok(await page.evaluate(`document.querySelector("#provenance details details pre").textContent.includes("{{ 7 * 7 }}")`));
    await page.evaluate(`document.querySelector("#grid tbody tr").click()`);
    assert.equal(await page.evaluate(`document.querySelectorAll("#detail img, #detail script").length`), 0);
    assert.equal(await page.evaluate(`document.documentElement.scrollWidth <= innerWidth`), true);
  });
  quiet(page);
  await page.close();

  page = await open("p1000");
  await check("the last row is in sight after End, whatever the height of a row", page, async () => {
    await page.evaluate(`document.getElementById("grid").focus()`);
    await page.key("End");
    await page.evaluate(`new Promise((r) => setTimeout(r, 200))`);
    const [grid, row] = await page.evaluate(
      `["#grid", "#grid tr.cursor"].map((at) => { const b = document.querySelector(at).getBoundingClientRect(); return [b.top, b.bottom]; })`,
    );
    assert.ok(row[0] >= grid[0] && row[1] <= grid[1] + 1, `row ${row} in grid ${grid}`);
  });
  await check("mark and rank stay in sight when the table is scrolled sideways", page, async () => {
    await page.evaluate(`[...document.querySelectorAll("#filters .check input")][0].click()`);
    await page.evaluate(`document.getElementById("grid").scrollLeft = 900`);
    await page.evaluate(`new Promise((r) => setTimeout(r, 100))`);
    const [grid, cell] = await page.evaluate(
      `["#grid", "#grid tbody tr[data-at] td:nth-child(2)"].map((at) => document.querySelector(at).getBoundingClientRect().left)`,
    );
    assert.ok(Math.abs(cell - grid - 38) < 3, `${cell} in ${grid}`);
  });
  quiet(page);
  await page.close();

  page = await open("p90");
  await check("order, pair and search are in the address, and a page that is opened with it shows them", page, async () => {
    await clickHead(page, await head(page, "Latency p50"));
    await page.evaluate(`document.getElementById("grid").focus()`);
    for (const key of ["Home", " ", "ArrowDown", " "]) await page.key(key);
    const address = await page.evaluate(`location.hash`);
    assert.match(address, /^#sort=.*pair=.*&pair=/);
    const pair = await page.evaluate(`document.querySelector("#pair thead").textContent`);
    await page.evaluate(`void setTimeout(() => location.reload(), 50)`);
    await new Promise((loaded) => setTimeout(loaded, 2000));
    assert.equal(await page.evaluate(`document.querySelector("#pair thead").textContent`), pair);
    assert.equal(await page.evaluate(`location.hash`), address);
    assert.equal(await page.evaluate(`document.querySelector("#grid th[aria-sort=ascending]").textContent.startsWith("Latency p50")`), true);
  });
  quiet(page, 2); // it was loaded twice
  await page.close();

  page = await open("p90");
  await check("a table is copied as Markdown", page, async () => {
    await page.evaluate(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (window.copied = text) } })`);
    await page.evaluate(`document.querySelector("#gates .copy").click()`);
    await page.evaluate(`new Promise((r) => setTimeout(r, 50))`);
    const lines = (await page.evaluate(`window.copied`)).trim().split("\n");
    assert.match(lines[0], /^\|  \| gate \| requires \| measured /);
    assert.match(lines[1], /^\|( --- \|)+$/);
    assert.equal(lines.length - 2, await page.evaluate(`document.querySelector("#gates > .scroll > table").tBodies[0].rows.length`));
  });
  quiet(page);
  await page.close();

  page = await open("p90");
  await check("filters and the open variant are in the address, and a page that is opened with it shows them", page, async () => {
    await choose(page, "REGCAP", "64");
    await choose(page, "Gates", "fail");
    await choose(page, "Metric", "0");
    await choose(page, "Value", "1000");
    await page.evaluate(`[...document.querySelectorAll("#filters label")].find((l) => l.textContent === "all metrics").querySelector("input").click()`);
    await page.evaluate(`document.querySelector("#grid tbody tr[data-at]").click()`);
    const shown = () => page.evaluate(`[document.getElementById("count").textContent, document.getElementById("detail-title").textContent, document.querySelectorAll("#grid thead th").length]`);
    const [before, address] = [await shown(), await page.evaluate(`location.hash`)];
    for (const part of ["p.REGCAP=64", "gates=fail", "metric=latency_p50", "bound=1000", "all=1", "open="]) assert.ok(address.includes(part), `${part} in ${address}`);
    await page.evaluate(`void setTimeout(() => location.reload(), 50)`);
    await new Promise((loaded) => setTimeout(loaded, 2000));
    assert.deepEqual(await shown(), before);
    assert.ok(await page.evaluate(`document.getElementById("detail").open`));
    await page.key("Escape");
    assert.ok(!(await page.evaluate(`location.hash`)).includes("open="), "a variant that is closed is not in the address");
  });
  quiet(page, 2);
  await page.close();

  page = await open("p90");
  await unfold(page);
  await check("the command that measures one variant is copied", page, async () => {
    await page.evaluate(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (window.copied = text) } })`);
    await page.evaluate(`document.querySelector("#grid tbody tr[data-at]").click()`);
    await page.evaluate(`document.querySelector("#detail .command").click()`);
    await page.evaluate(`new Promise((r) => setTimeout(r, 50))`);
    assert.match(await page.evaluate(`window.copied`), /^ncugate run \S+\.toml --source gpu --filter 'REGCAP=.*'$/);
    await page.key("Escape");
  });
  await check("a point says variant, metrics and units to the pointer, and opens its variant", page, async () => {
    const mark = `[...document.querySelectorAll("#svg-latency-occupancy circle")].find((c) => c.closest("g:not([transform])")).closest("g")`;
    await page.evaluate(`document.querySelectorAll("details").forEach((d) => (d.open = true))`);
    await page.evaluate(`${mark}.scrollIntoView({ block: "center", behavior: "instant" })`);
    await page.evaluate(`new Promise((r) => setTimeout(r, 100))`);
    const [x, y] = await page.evaluate(`(() => { const b = ${mark}.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`);
    await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
    await page.evaluate(`new Promise((r) => setTimeout(r, 100))`);
    const lines = await page.evaluate(`[...document.getElementById("tip").children].map((c) => c.textContent)`);
    assert.ok(/^REGCAP=|^sdpa/.test(lines[0]) && /^Achieved occupancy .* %$/.test(lines[1]) && /^Latency p50 .* µs$/.test(lines[2]), JSON.stringify(lines));
    const [tip, screen] = await page.evaluate(`(() => { const b = document.getElementById("tip").getBoundingClientRect(); return [[b.left, b.top, b.right, b.bottom], [innerWidth, innerHeight]]; })()`);
    assert.ok(tip[0] >= 0 && tip[1] >= 0 && tip[2] <= screen[0] && tip[3] <= screen[1], `${tip} in ${screen}`);
    await page.send("Input.dispatchMouseEvent", { type: "mousePressed", x, y, button: "left", clickCount: 1 });
    await page.send("Input.dispatchMouseEvent", { type: "mouseReleased", x, y, button: "left", clickCount: 1 });
    assert.ok(await page.evaluate(`document.getElementById("detail").open`));
    await page.key("Escape");
  });
  await check("keys reach every point of a chart, and the tip names variant, metric and unit", page, async () => {
    const drawing = `document.querySelector("#chart-gate-metrics .drawing")`;
    const titles = await page.evaluate(`[...${drawing}.querySelectorAll("g > title")].map((t) => t.textContent)`);
    const tip = () => page.evaluate(`[...document.getElementById("tip").children].map((c) => c.textContent)`);
    // the pointer is not over a chart that scrolls below it
    await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: 1, y: 1 });
    await page.evaluate(`${drawing}.focus()`);
    await page.evaluate(`new Promise((r) => setTimeout(r, 100))`);
    let last = "";
    await page.key("Home");
    const told = [];
    for (let at = 0; at < titles.length; at += 1) {
      let text = (await tip()).join("|");
      // a busy machine draws later; no two neighbours have the same tip
      for (let wait = 0; wait < 100 && text === last; wait += 1) text = (await tip()).join("|");
      told.push((last = text));
      await page.key("ArrowRight");
    }
    assert.ok(titles.length > 100 && new Set(told).size === new Set(titles).size, `not reached: ${titles.filter((t) => !told.includes(t.replace(": ", "|"))).slice(0, 3)}; ${told.slice(0, 2)}; ${told.slice(-2)}`);
    assert.ok(told.some((text) => /^REGCAP=\S+.*\|Latency p50 [\d.]+ µs$/.test(text)), told[0]);
    await page.key("Home");
    assert.equal((await tip()).join("|"), told[0]);
    await page.key("ArrowDown");
    assert.notEqual((await tip()).join("|"), told[0]);
    await page.key("Home");
    await page.evaluate(`document.querySelector("#chart-latency-occupancy .drawing").focus()`);
    while (!(await tip())[0]?.startsWith("REGCAP=")) await page.key("ArrowRight");
    const name = (await tip())[0];
    await page.key("Enter");
    assert.equal(await page.evaluate(`document.getElementById("detail-title").textContent`), name);
    await page.key("Escape");
    assert.ok(await page.evaluate(`document.activeElement.closest("#chart-latency-occupancy") !== null`), "the focus is back at the chart");
    await page.key("Escape");
    assert.deepEqual(await tip(), []);
  });
  await check("headings link to themselves", page, async () => {
    const links = await page.evaluate(`[...document.querySelectorAll("section[id] > h2")].map((h) => [h.querySelector("a.anchor")?.getAttribute("href"), "#" + h.parentElement.id])`);
    assert.ok(links.length >= 3 && links.every(([href, id]) => href === id), JSON.stringify(links));
  });
  await check("sections of the page are in the order of its navigation", page, async () => {
    const [nav, sections] = await page.evaluate(`[[...document.querySelectorAll("nav a")].map((a) => a.getAttribute("href").slice(1)), [...document.querySelectorAll("section[id]")].map((s) => s.id)]`);
    assert.deepEqual(sections.filter((id) => nav.includes(id)), nav);
  });
  await check("a variant that fails has a dot a gate, whose form and name say the verdict", page, async () => {
    const dots = await page.evaluate(`(() => { const d = document.querySelector("#grid .dots"); return [d.getAttribute("aria-label"), [...d.children].map((i) => [i.className, i.title])]; })()`);
    assert.ok(dots[0].length > 5 && dots[1].length === 8 && dots[1].some(([c]) => c === "dot fail"), JSON.stringify(dots));
    assert.ok(dots[1].every(([, title]) => title.includes(": ")), JSON.stringify(dots));
  });
  quiet(page);
  await page.close();

  page = await open("p1000");
  await check("the name of a variant stays in sight when the table is scrolled sideways", page, async () => {
    await page.evaluate(`[...document.querySelectorAll("#filters .check input")][0].click()`);
    await page.evaluate(`document.getElementById("grid").scrollLeft = 900`);
    await page.evaluate(`new Promise((r) => setTimeout(r, 100))`);
    const [grid, rank, name] = await page.evaluate(
      `["#grid", "#grid tbody tr[data-at] td:nth-child(2)", "#grid tbody tr[data-at] td.name"].map((at) => { const b = document.querySelector(at).getBoundingClientRect(); return [b.left, b.right]; })`,
    );
    assert.ok(name[0] >= grid[0] && Math.abs(name[0] - rank[1]) < 2, `${name} behind ${rank} in ${grid}`);
  });
  quiet(page);
  await page.close();

  page = await open("p1000");
  await check("on paper every page of the table has its head", page, async () => {
    await page.send("Emulation.setEmulatedMedia", { media: "print" });
    await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
    // The browser does not repeat a table head with buttons or sticky cells.
    const head = await page.evaluate(`(() => { const thead = document.querySelector("#grid thead"), cells = [...thead.querySelectorAll("th")].slice(1); return [getComputedStyle(thead).display, thead.querySelector("button"), cells.every((c) => getComputedStyle(c).position === "static" && c.textContent)]; })()`);
    assert.deepEqual(head, ["table-header-group", null, true]);
    const beside = await page.evaluate(`(() => { const [a, b] = [...document.querySelectorAll("#grid tbody tr[data-at] td")].slice(1, 3).map((c) => c.getBoundingClientRect()); return b.left >= a.right - 1; })()`);
    assert.ok(beside, "the rank lies over the verdict");
    const { data } = await page.send("Page.printToPDF", { preferCSSPageSize: true });
    const pages = (Buffer.from(data, "base64").toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length;
    assert.ok(pages > 5, `${pages} pages`);
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    assert.ok(await page.evaluate(`document.querySelectorAll("#grid thead button").length`) > 5);
  });
  await page.close();

  for (const name of ["p90", "p1000", "hostile", "index", "compare", ...["deep", "full1", "defects", "g1200"].map((name) => `kernels-${name}`)]) {
    page = await open(name);
    await check(`labels of the charts of ${name} do not overlap and stay inside`, page, async () => {
      assert.deepEqual(await page.evaluate(`(${crossedLabels})()`), []);
    });
    await page.close();
  }

  for (const name of ["kernels-deep", "kernels-torch_nvtx", "kernels-full1", "kernels-defects", "kernels-g1200", "kernels-compared", "compare", "compare-hostile"]) {
    for (const [width, scheme] of forms) {
      page = await open(name, { width, height: 900, scheme });
      await check(`${name} at ${width} px, ${scheme}: fits, has contrast, lists its rows`, page, async () => {
        assert.ok(await page.evaluate(`document.documentElement.scrollWidth <= ${width}`), "wider than the screen");
        if (width === 1440) {
          const height = await page.evaluate(`document.documentElement.scrollHeight`);
          assert.ok(height <= 6000, `${height} px high`);
          await page.evaluate(`document.querySelectorAll("details").forEach((d) => (d.open = true))`);
          assert.deepEqual(await page.evaluate(`(${clippedTables})()`), []);
        }
        assert.deepEqual(await page.evaluate(`(${faintTexts})()`), []);
        assert.ok(await page.evaluate(`document.querySelectorAll("table.kernels tbody tr:not([hidden])").length`) >= 1);
        assert.ok(await page.evaluate(`document.querySelectorAll("details.kernel").length`) >= 1);
        assert.equal(await page.evaluate(`document.querySelectorAll("img").length`), 0);
        const ground = () => page.evaluate(`getComputedStyle(document.body).backgroundColor`);
        const before = await ground();
        await page.evaluate(`document.getElementById("theme").click()`);
        assert.notEqual(await ground(), before, "the theme button does nothing");
        await page.evaluate(`document.getElementById("theme").click()`);
        assert.deepEqual(await barriers(page), []);
      });
      quiet(page);
      await page.close();
    }
  }

  page = await open("kernels-defects");
  const listed = (column) => page.evaluate(`[...document.querySelectorAll("table.kernels tbody tr:not([hidden])")].map((r) => r.cells[${column}].dataset.value ?? r.cells[${column}].querySelector("a").textContent)`);
  const sortHead = (title) => page.evaluate(`(() => { const th = [...document.querySelectorAll("table.kernels thead th")].find((th) => th.textContent === ${JSON.stringify(title)}); th.querySelector("button").click(); return [th.cellIndex, th.getAttribute("aria-sort")]; })()`);
  await check("kernels sort by any column both ways, and the head says which", page, async () => {
    for (const title of ["Median", "Registers"]) {
      const [column, first] = await sortHead(title);
      assert.equal(first, "descending");
      const down = (await listed(column)).map(Number);
      assert.deepEqual(down, [...down].sort((a, b) => b - a), title);
      assert.ok(down[0] > down.at(-1), title);
      assert.equal((await sortHead(title))[1], "ascending");
      const up = (await listed(column)).map(Number);
      assert.deepEqual(up, [...up].sort((a, b) => a - b), title);
    }
    await sortHead("Kernel");
    const names = await listed(0);
    assert.deepEqual(names, [...names].sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase())));
  });
  await check("the search box is reached by keyboard and filters rows and sections", page, async () => {
    const all = (await listed(0)).length;
    await page.evaluate(`document.querySelector("header.top button").focus()`);
    for (let tabs = 0; tabs < 5 && (await page.evaluate(`document.activeElement.id`)) !== "find"; tabs += 1) await page.key("Tab");
    assert.equal(await page.evaluate(`document.activeElement.id`), "find");
    const name = (await listed(0))[0];
    await page.evaluate(`(() => { const find = document.getElementById("find"); find.value = ${JSON.stringify(name)}; find.dispatchEvent(new Event("input", { bubbles: true })); })()`);
    const some = await listed(0);
    assert.ok(some.length >= 1 && some.length < all && some.every((found) => found.includes(name)), `${some} of ${all}`);
    assert.equal(await page.evaluate(`[...document.querySelectorAll("details.kernel")].filter((d) => !d.hidden).length`), some.length);
    assert.match(await page.evaluate(`document.getElementById("count").textContent`), new RegExp(`^${some.length} of `));
    await page.evaluate(`(() => { const find = document.getElementById("find"); find.value = "no such kernel"; find.dispatchEvent(new Event("input", { bubbles: true })); })()`);
    assert.deepEqual(await listed(0), []);
  });
  await page.close();

  const compared = pathToFileURL(`${folder}/compare/report.html`).href;
  page = await browser.open(compared);
  await check("an address names a section whose row is not shown, and the glossary, and they open", page, async () => {
    const last = await page.evaluate(`[...document.querySelectorAll("table.kernels tbody tr[data-section]")].at(-1).dataset.section`);
    const state = (id) => page.evaluate(`(() => { const part = document.getElementById(${JSON.stringify(id)}), at = part.getBoundingClientRect().top; return [part.hidden, (part.querySelector(":scope > details") ?? part).open, at < innerHeight]; })()`);
    assert.deepEqual((await state(last)).slice(0, 2), [true, false]);
    await page.evaluate(`document.querySelector('a[href="#glossary"]').click()`);
    assert.deepEqual((await state("glossary")).slice(0, 2), [false, true]);
    await page.close();
    page = await browser.open(`${compared}#${last}`);
    assert.deepEqual(await state(last), [false, true, true]);
  });
  await page.close();

  page = await open("kernels-full1");
  await check("a full set has a roofline with points and a memory chart", page, async () => {
    const points = await page.evaluate(`[...document.querySelectorAll("#svg-roofline g > title")].map((t) => t.textContent).filter((t) => t.includes("of the roof"))`);
    assert.deepEqual(points.map((text) => text.split(":")[0]), ["attn, FP32", "attn, FP16"]);
    assert.match(points[0], /87[89].*FLOP\/B.*2\.62.*TFLOP\/s.*of the roof 3\.9/);
    assert.match(await page.evaluate(`[...document.querySelectorAll(".scroll")].find((at) => at.getAttribute("aria-label") === "Memory").innerText.replaceAll(/\\s+/g, " ")`), /L1\/TEX cache hit rate 80\.2\d* %.*read 16\.7\d* MiB.*L2 cache hit rate 96\.[78]\d* %/);
  });
  await page.close();

  page = await open("kernels-torch_nvtx");
  await check("a missing roofline and memory chart say why, names are short and whole on demand", page, async () => {
    assert.match(await page.evaluate(`document.getElementById("roofline").textContent`), /No roofline: not collected: floating-point operations.*ncu --set full/s);
    const [label, whole] = await page.evaluate(`(() => { const row = [...document.querySelectorAll("table.kernels tbody th")].find((th) => th.title.includes("softmax")); return [row.textContent, row.title]; })()`);
    assert.ok(label.startsWith("softmax_warp_forward") && !label.includes("at::native"), label);
    assert.ok(whole.startsWith("void ") && whole.endsWith(")") && !whole.includes("…"), whole);
  });
  await page.close();

  for (const name of ["index", "index-hostile"]) {
    for (const [width, scheme] of forms) {
      page = await open(name, { width, height: 900, scheme });
      await check(`${name} at ${width} px, ${scheme}: fits, has contrast, runs nothing`, page, async () => {
        assert.ok(await page.evaluate(`document.documentElement.scrollWidth <= ${width}`), "wider than the screen");
        assert.deepEqual(await page.evaluate(`(${faintTexts})()`), []);
        assert.equal(await page.evaluate(`document.scripts.length`), name.startsWith("index") ? 1 : 0);
        assert.equal(await page.evaluate(`document.querySelectorAll("img").length`), 0);
        assert.ok(await page.evaluate(`document.querySelectorAll("table tbody tr").length`) >= 3);
        assert.deepEqual(await barriers(page), []);
      });
      quiet(page);
      await page.close();
    }
  }

  for (const [name, limit] of [["p1000", 1_000], ["p10000", 10_000]]) {
    const started = performance.now();
    page = await open(name);
    await check(`${name} is interactive in time and keeps few rows`, page, async () => {
      await clickHead(page, await head(page, "Latency p50"));
      const took = performance.now() - started;
      assert.ok(took < limit, `${took.toFixed(0)} ms`);
      assert.ok((await cells(page, 1)).length < 100);
      await page.evaluate(`document.getElementById("grid").focus()`);
      await page.key("End");
      await page.evaluate(`new Promise((r) => setTimeout(r, 100))`);
      assert.equal(Number(await page.evaluate(`document.querySelector("#grid tr.cursor").dataset.at`)), await count(page) - 1);
      console.log(`    ${took.toFixed(0)} ms to open and sort`);
    });
    quiet(page);
    await page.close();
  }
});
