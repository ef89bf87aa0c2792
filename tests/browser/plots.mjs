// Looks at plots that stand alone (report --svg), as programs other than a browser show them.
//
//   node plots.mjs DIRECTORY
//
// Each is painted by librsvg and by Chromium, on a light ground and on a dark one. Ends with "N passed, N failed".

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [directory] = process.argv.slice(2);
if (!directory) {
  console.error("usage: node plots.mjs DIRECTORY");
  process.exit(2);
}
let passed = 0;
const failures = [];
function check(holds, what) {
  if (holds) passed += 1;
  else failures.push(what);
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const plots = readdirSync(directory).filter((name) => name.endsWith(".svg"));
  check(plots.length > 0, `${directory} has plots`);
  for (const name of plots) {
    const path = join(directory, name);
    const svg = readFileSync(path);
    const painted = execFileSync("rsvg-convert", [path], { maxBuffer: 1 << 26 });
    const kinds = [
      ["librsvg", "light", `data:image/png;base64,${painted.toString("base64")}`],
      ["Chromium", "light", `data:image/svg+xml;base64,${svg.toString("base64")}`],
      ["Chromium", "dark", `data:image/svg+xml;base64,${svg.toString("base64")}`],
    ];
    for (const [painter, scheme, address] of kinds) await look(name, painter, scheme, address);
  }
} finally {
  await browser.close();
}
for (const failure of failures) console.error(`FAILED ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);

/** Most of a picture is its ground, of the right lightness, and what is drawn stands out from it in colours. */
async function look(name, painter, scheme, address) {
  const tab = await browser.newPage({ colorScheme: scheme });
  const found = await tab.evaluate(async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const light = (at) => (0.2126 * data[at] + 0.7152 * data[at + 1] + 0.0722 * data[at + 2]) / 255;
    const ground = light(0);
    let same = 0, apart = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (Math.abs(light(at) - ground) < 0.02) same += 1;
      if (Math.abs(light(at) - ground) > 0.35) apart += 1;
    }
    return { ground, opaque: data[3] === 255, same: same / (data.length / 4), apart };
  }, address);
  const where = `${name}, ${painter}, ${scheme}`;
  check(found.opaque, `${where}: it has a ground of its own`);
  check(scheme === "light" ? found.ground > 0.95 : found.ground < 0.15, `${where}: the ground is ${scheme}, not ${found.ground.toFixed(2)}`);
  check(found.same > 0.3, `${where}: the ground can be seen, at ${(found.same * 100).toFixed(0)} %`);
  check(found.apart > 300, `${where}: letters and lines stand out in ${found.apart} pixels`);
  await tab.close();
}
