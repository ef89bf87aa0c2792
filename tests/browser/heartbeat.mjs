// Looks at the page of `dropline heartbeat watch` in headless Chromium, with 64 live variables.
//
//   node heartbeat.mjs DROPLINE [SHOTS]
//
// Starts an aggregator, a sender and a watch on loopback, and ends them. Ends with "N passed, N failed".

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [dropline, shots] = process.argv.slice(2);
if (!dropline) {
  console.error("usage: node heartbeat.mjs DROPLINE [SHOTS]");
  process.exit(2);
}
if (shots) mkdirSync(shots, { recursive: true });

const states = (tab) => tab.$$eval(".cell", (cells) => cells.map((cell) => cell.dataset.state));
const values = (tab) => tab.$$eval(".cell", (cells) => cells.map((cell) => cell.dataset.value));

let passed = 0;
const failures = [];
function check(holds, what) {
  if (holds) passed += 1;
  else failures.push(what);
}

const children = [];
/** Starts a verb, and waits for a line of its output that begins with `word`; returns what follows. */
function start(words, stream, word) {
  const child = spawn(dropline, ["heartbeat", ...words], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  if (!word) return child;
  return new Promise((resolve, reject) => {
    createInterface({ input: child[stream] }).on("line", (line) => line.startsWith(word) && resolve(line.slice(word.length)));
    child.on("exit", (code) => reject(new Error(`${words.join(" ")} ended with ${code}`)));
    child.on("error", reject);
  });
}

let browser;
try {
  const aggregator = await start(["serve", "--listen", "127.0.0.1:0"], "stdout", "listening udp ");
  const sender = start(["send", aggregator, "--variables", "0-63", "--every", "500ms", "--value", "count"]);
  const page = await start(["watch", aggregator, "--every", "200ms", "--silent-after", "3s", "--page", "127.0.0.1:0"], "stderr", "page at ");
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) await look(page, scheme, width);
  }
  await silence(page, sender, aggregator);
} finally {
  await browser?.close();
  for (const child of children) child.kill("SIGINT");
}
for (const failure of failures) console.error(`FAILED: ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);

async function open(page, scheme, width) {
  const tab = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  tab.complaints = [];
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && tab.complaints.push(message.text()));
  tab.on("pageerror", (error) => tab.complaints.push(String(error)));
  tab.on("request", (request) => new URL(request.url()).origin !== new URL(page).origin && !request.url().startsWith("data:") && tab.complaints.push(request.url()));
  await tab.goto(page);
  return tab;
}

/** 64 cells that live, fit, can be read, and be stepped through. */
async function look(page, scheme, width) {
  const where = `${scheme}, ${width} px`;
  const tab = await open(page, scheme, width);
  await tab.waitForFunction(() => document.querySelectorAll(".cell[data-state=alive]").length === 64, null, { timeout: 20000 });
  check((await tab.textContent("h1")) === "64 of 64 variables are alive", `${where}: the answer is the first thing said`);
  const before = await values(tab);
  const moved = tab.waitForFunction((before) => [...document.querySelectorAll(".cell")].every((cell, at) => cell.dataset.value !== before[at]), before, { timeout: 20000 });
  check(await moved.then(() => true, () => false), `${where}: every value goes on`);
  const lines = await tab.$$eval(".cell path", (paths) => paths.map((path) => path.getAttribute("d")));
  check(lines.every((line) => line.startsWith("M") && !line.includes("NaN")), `${where}: every history is drawn`);
  const ages = await tab.$$eval(".cell .age", (ages) => ages.map((age) => age.textContent));
  check(ages.every((age) => /\d+ s/.test(age)), `${where}: every age is said`);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(wide <= 0, `${where}: the page is ${wide} px wider than the window`);
  await tab.focus(".cell[data-variable='0']");
  await tab.keyboard.press("ArrowRight");
  check((await tab.textContent("#say")).startsWith("variable 1: value "), `${where}: arrows step through the variables`);
  check((await tab.$$("#history tbody tr")).length > 0, `${where}: the history has numbers`);
  const worst = await tab.evaluate(() => {
    const light = (color) => {
      const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = light(getComputedStyle(document.documentElement).backgroundColor);
    const ratio = (color) => (Math.max(light(color), ground) + 0.05) / (Math.min(light(color), ground) + 0.05);
    return Math.min(...["h1", ".lead", ".cell b", ".cell .name", ".cell .age", "th"].map((kind) => ratio(getComputedStyle(document.querySelector(kind)).color)));
  });
  check(worst >= 4.5, `${where}: text stands out by ${worst.toFixed(1)} to 1`);
  check(tab.complaints.length === 0, `${where}: the console is silent, not ${tab.complaints}`);
  if (shots) await tab.screenshot({ path: join(shots, `heartbeat-${scheme}-${width}.png`), fullPage: true });
  await tab.close();
}

/** When the sender dies all fall silent; one heartbeat brings one back. */
async function silence(page, sender, aggregator) {
  const tab = await open(page, "light", 1280);
  sender.kill("SIGINT");
  await tab.waitForFunction(() => document.querySelectorAll(".cell[data-state=silent]").length === 64, null, { timeout: 30000 });
  check((await tab.textContent("h1")).startsWith("64 of 64 variables are silent"), "silence is the answer");
  check((await tab.title()).startsWith("! "), "the title of the window warns");
  check((await tab.$$("#events tbody tr")).length > 0, "what happened is listed");
  if (shots) await tab.screenshot({ path: join(shots, "heartbeat-silent.png"), fullPage: true });
  spawnSync(dropline, ["heartbeat", "send", aggregator, "--variables", "5", "--value", "200", "--once"]);
  const back = tab.waitForFunction(() => document.querySelector(".cell[data-variable='5']").dataset.state === "alive", null, { timeout: 20000 });
  check(await back.then(() => true, () => false), "a heartbeat brings its variable back");
  check((await states(tab)).filter((state) => state === "silent").length === 63, "and only that one");
  check(tab.complaints.length === 0, `the console is silent, not ${tab.complaints}`);
  await tab.close();
}
