// Screenshots of a page for visual review: node shots.mjs PAGE FOLDER [WIDTH] [light|dark]
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [, , file, folder, width = "1440", scheme = "light"] = process.argv;
const browser = await launch(process.env.CHROMIUM ?? "chromium");
const page = await browser.open(pathToFileURL(file).href, { width: Number(width), height: 900, scheme });
const height = await page.evaluate("document.documentElement.scrollHeight");
const step = Number(width) < 600 ? 2600 : 1800;
for (let y = 0, n = 0; y < height; y += step, n += 1) {
  const name = `${folder}/${width}-${scheme}-${n}.png`;
  writeFileSync(name, await page.shot({ x: 0, y, width: Number(width), height: Math.min(step, height - y) }));
}
await browser.close();
