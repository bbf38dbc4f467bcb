// Pictures of the first screens: node pictures.mjs PAGES FOLDER; see pictures.sh.
import { readdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [, , pages, folder] = process.argv;
const PICTURES = [
  ["run", "page", 1280, 860, 0.8],
  ["run", "page-phone", 390, 844, 0.8],
  ["report", "page-report", 1280, 860, 0.6],
  ["history", "page-history", 1280, 860, 0.6],
];
const browser = await launch(process.env.CHROMIUM ?? "chromium");
for (const [name, picture, width, height, scale] of PICTURES) {
  const file = readdirSync(`${pages}/${name}`).find((file) => file.endsWith(".html"));
  const page = await browser.open(pathToFileURL(`${pages}/${name}/${file}`).href, { width, height });
  writeFileSync(`${folder}/${picture}.png`, await page.shot({ x: 0, y: 0, width, height, scale }));
  await page.close();
}
await browser.close();
