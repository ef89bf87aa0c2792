// Looks at a report page in headless Chromium, as a reader would: light and dark, wide and narrow.
//
//   node check.mjs PAGE.html [RECORD.jsonl ...] [--shots DIR]
//   node check.mjs http://127.0.0.1:PORT/PAGE [--shots DIR] [--name NAME]
//
// With one record the page's answers and trials are compared with it, with several those of each search. Without
// a record only what holds for every page is checked. Ends with "N passed, N failed".

import { mkdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { shots: { type: "string" }, name: { type: "string" }, chromium: { type: "string", default: "/usr/bin/chromium" } },
});
const [page, ...recordPaths] = positionals;
if (!page) {
  console.error("usage: node check.mjs PAGE.html [RECORD.jsonl ...] [--shots DIR]");
  process.exit(2);
}
const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const records = recordPaths.map(readRecord);
const address = page.startsWith("http://127.0.0.1:") ? page : pathToFileURL(resolve(page)).href;
const title = flags.name ?? basename(page, ".html");
if (flags.shots) mkdirSync(flags.shots, { recursive: true });

let passed = 0;
const failures = [];
/** Counts a check; `what` says what must hold. */
function check(holds, what) {
  if (holds) passed += 1;
  else failures.push(what);
}

const browser = await chromium.launch({ executablePath: flags.chromium, args: ["--no-sandbox"] });
try {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) await look(scheme, width);
  }
  await print();
} finally {
  await browser.close();
}
for (const failure of failures) console.error(`FAILED ${title}: ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);

/** Header, trials and result of a record; a torn last line is left out. */
function readRecord(path) {
  const record = { header: null, trials: [], result: null };
  for (const text of readFileSync(path, "utf8").split("\n")) {
    if (!text.trim()) continue;
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      continue;
    }
    if (line.line === "header") record.header = line;
    if (line.line === "trial") record.trials.push(line);
    if (line.line === "result") record.result = line;
  }
  return record;
}

/** Opens the page as one reader sees it and checks everything. */
async function look(scheme, width) {
  const where = `${scheme}, ${width} px`;
  const tab = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  const complaints = [];
  const requests = [];
  tab.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  tab.on("pageerror", (error) => complaints.push(String(error)));
  tab.on("request", (request) => {
    if (request.url() !== address && !request.url().startsWith("data:")) requests.push(request.url());
  });
  await tab.goto(address);

  await drawn(tab, where);
  await fits(tab, where);
  await contrast(tab, where, scheme);
  await accessible(tab, where);
  if (records.length === 1) await sameNumbers(tab, where, records[0]);
  if (records.length > 1) await sameTrials(tab, where);
  await keyboard(tab, where);
  await pointer(tab, where);
  await sorting(tab, where);
  await numbers(tab, where);

  check(complaints.length === 0, `${where}: the console is silent, not ${JSON.stringify(complaints)}`);
  check(requests.length === 0, `${where}: nothing is requested, not ${requests}`);
  if (flags.shots) {
    await tab.reload();
    const name = `${title}-${scheme}-${width}.png`;
    await tab.screenshot({ path: join(flags.shots, name), fullPage: true });
  }
  await tab.close();
}

/** Every plot is drawn once, large enough, with words for who does not see it. */
async function drawn(tab, where) {
  const figures = await tab.$$eval("figure", (figures) =>
    figures.map((figure) => ({
      name: figure.dataset.plot,
      title: figure.querySelector("h2")?.textContent.trim(),
      shown: [...figure.querySelectorAll("svg")].map((svg) => {
        const box = svg.getBoundingClientRect();
        return {
          visible: getComputedStyle(svg).display !== "none" && box.width > 200 && box.height > 100,
          role: svg.getAttribute("role"),
          words: (svg.querySelector("title")?.textContent ?? "") !== "" && (svg.querySelector("desc")?.textContent ?? "") !== "",
          bad: /NaN|inf|undefined/i.test(svg.innerHTML.replace(/<(title|desc|text)[^>]*>[^<]*/g, "")),
          marks: (svg.dataset.marks ?? "").split(" ").filter(Boolean).length,
          paths: svg.querySelectorAll("path").length,
        };
      }),
      rows: figure.querySelectorAll("tbody tr").length,
    })),
  );
  check(figures.length > 0 || records.every((record) => record.trials.length === 0), `${where}: there are plots`);
  for (const figure of figures) {
    const at = `${where}, ${figure.name}`;
    check(!!figure.title, `${at}: it has a title`);
    check(figure.shown.filter((svg) => svg.visible).length === 1, `${at}: exactly one of two widths is shown`);
    for (const svg of figure.shown) {
      check(svg.role === "img" && svg.words, `${at}: role, title and desc are there`);
      check(!svg.bad, `${at}: every coordinate is a number`);
      check(svg.marks === figure.rows, `${at}: ${svg.marks} marks have ${figure.rows} rows of numbers`);
      check(svg.paths > 1, `${at}: lines are drawn`);
    }
  }
  const searches = records.filter((record) => record.header?.verb === "search" && record.trials.length > 0);
  const graphs = figures.filter((figure) => figure.name === "search-time");
  if (records.length > 0) check(graphs.length === searches.length, `${where}: a search-time graph a search`);
  searches.forEach((record, index) => {
    const marks = graphs[index]?.shown.map((svg) => svg.marks) ?? [];
    check(
      marks.every((count) => count === record.trials.length),
      `${where}: ${record.trials.length} trials are ${marks} marks`,
    );
  });
}

/** Nothing is wider than the window; labels of a plot do not lie on one another. */
async function fits(tab, where) {
  const wide = await tab.evaluate(() => {
    const window_ = document.documentElement.clientWidth;
    const scrolls = (element) => element.closest(".scroll") !== null;
    return {
      page: document.documentElement.scrollWidth - window_,
      elements: [...document.querySelectorAll("main *")]
        .filter((element) => !scrolls(element) && element.getClientRects().length > 0)
        .filter((element) => element.getBoundingClientRect().right > window_ + 1)
        .map((element) => `${element.tagName} ${element.textContent.slice(0, 40)}`),
    };
  });
  check(wide.page <= 0, `${where}: the page is ${wide.page} px wider than the window`);
  check(wide.elements.length === 0, `${where}: these stick out: ${wide.elements.slice(0, 5)}`);
  const cut = await tab.$$eval(".scroll", (all) =>
    all
      .filter((scroll) => !scroll.closest("details") && !scroll.querySelector(".trials, .attributes") && scroll.scrollWidth > scroll.clientWidth + 1)
      .map((scroll) => scroll.textContent.slice(0, 60)),
  );
  check(cut.length === 0, `${where}: no table that answers is cut at the edge: ${cut}`);
  const covered = await tab.$$eval("figure svg", (svgs) => {
    const pairs = [];
    for (const svg of svgs) {
      if (getComputedStyle(svg).display === "none") continue;
      const frame = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
      texts.forEach(([a, first], index) => {
        if (first.left < frame.left - 3 || first.right > frame.right + 3) pairs.push(`"${a}" leaves its plot`);
        for (const [b, second] of texts.slice(index + 1)) {
          const across = Math.min(first.right, second.right) - Math.max(first.left, second.left);
          const down = Math.min(first.bottom, second.bottom) - Math.max(first.top, second.top);
          if (across > 1 && down > 4) pairs.push(`"${a}" on "${b}"`);
        }
      });
    }
    return pairs;
  });
  check(covered.length === 0, `${where}: no label covers another: ${covered.slice(0, 6)}`);
}

/** The rules of WCAG A and AA, by axe-core, with every table open. */
async function accessible(tab, where) {
  await tab.evaluate(axe);
  const found = await tab.evaluate(async () => {
    const closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((details) => (details.open = true));
    const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "best-practice"] });
    closed.forEach((details) => (details.open = false));
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`);
  });
  check(found.length === 0, `${where}: axe finds nothing, not ${found}`);
}

/** Text of every kind stands out from the page by 4.5 to 1 (WCAG AA). */
async function contrast(tab, where, scheme) {
  const ratios = await tab.evaluate(() => {
    const parse = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number);
    const light = (color) => {
      const [r, g, b] = parse(color).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const page = light(getComputedStyle(document.documentElement).backgroundColor);
    const ratio = (color) => (Math.max(light(color), page) + 0.05) / (Math.min(light(color), page) + 0.05);
    const kinds = ["h1", "figcaption", "td", "dt", ".t0", ".t1", "summary"].map((kind) => document.querySelector(kind));
    const texts = [...document.querySelectorAll("figure svg text")].map((text) => getComputedStyle(text).fill);
    // The palest of an order is told apart by its label too.
    const drawn = [...document.querySelectorAll(".curve:not(.r0):not(.r1),.bound,.whisker,.cap,.disc,.tri,.after,.q0,.q1,.q2")];
    const marks = drawn.map((mark) => {
      const { fill, stroke } = getComputedStyle(mark);
      return ratio(fill === "none" ? stroke : fill);
    });
    return {
      page,
      mark: Math.min(...marks, 21),
      worst: Math.min(...kinds.filter(Boolean).map((element) => ratio(getComputedStyle(element).color)), ...texts.map(ratio)),
    };
  });
  check(scheme === "dark" ? ratios.page < 0.05 : ratios.page > 0.9, `${where}: the ground is ${scheme}`);
  check(ratios.mark >= 2.95, `${where}: marks stand out by ${ratios.mark.toFixed(1)} to 1`);
  check(ratios.worst >= 4.5, `${where}: text stands out by ${ratios.worst.toFixed(1)} to 1`);
}

/** The answers and every trial are those of the record, to the last digit. */
async function sameNumbers(tab, where, record) {
  const number = (text) => (text === undefined ? null : Number(text));
  if (record.header.verb === "search" && record.result) {
    const rows = await tab.$$eval("table.goals tbody tr", (rows) =>
      rows.map((row) => ({
        headline: row.querySelector("[data-headline-pps]")?.dataset.headlinePps,
        lower: row.querySelector("[data-lower-pps]")?.dataset.lowerPps,
        upper: row.querySelector("[data-upper-pps]")?.dataset.upperPps,
        result: row.querySelector("[data-result]").dataset.result,
        words: row.textContent,
      })),
    );
    check(rows.length === record.result.goals.length, `${where}: a row a goal`);
    record.result.goals.forEach((goal, index) => {
      const headline = headlineOf(goal);
      const row = rows[index];
      check(number(row?.headline) === headline, `${where}: goal ${index} finds ${headline}, not ${row?.headline}`);
      check(number(row?.lower) === goal.lower_pps, `${where}: goal ${index} from ${goal.lower_pps}, not ${row?.lower}`);
      check(number(row?.upper) === goal.upper_pps, `${where}: goal ${index} to ${goal.upper_pps}, not ${row?.upper}`);
      check(row?.result.startsWith(goal.result.replace("_", " ")), `${where}: goal ${index} is ${goal.result}`);
      check(
        !/\b(narrow|wide|regular|irregular)\b/.test(row?.words ?? ""),
        `${where}: how sure goal ${index} is stands in plain words`,
      );
    });
    const sentence = await tab.$$eval("h1 [data-headline-pps]", (spans) => spans.map((span) => [Number(span.dataset.goal), span.dataset.headlinePps, span.textContent]));
    for (const [goal, headline, words] of sentence) {
      const answer = record.result.goals[goal];
      const expected = headlineOf(answer);
      check(Number(headline) === expected, `${where}: the sentence says ${headline} for ${expected}`);
      // A doubted answer is a range, and no number.
      if (["regular", "narrow", "wide"].includes(answer.result) && !words.includes(" and ")) check(near(words, expected, answer.result === "regular"), `${where}: "${words}" is ${expected}`);
    }
  }
  if (record.header.verb === "trial" && record.trials.length > 0) {
    const trial = record.trials.at(-1);
    const counts = await tab.$$eval("[data-count]", (cells) => cells.map((cell) => [cell.dataset.count, cell.dataset.v]));
    for (const name of ["intended", "offered", "forwarded", "lost"]) {
      const shown = counts.find(([count]) => count === name)?.[1];
      check(number(shown) === (trial[name] === null ? null : Number(trial[name])), `${where}: ${name} is ${trial[name]}, not ${shown}`);
    }
  }
  if (record.header.verb === "search") await sameRows(tab, where, "table.trials", record);
}

/** The one load of an answer; an interval that is open at one end has none. */
function headlineOf(answer) {
  if (answer.result === "wide" && (answer.lower_pps === null || answer.upper_pps === null)) return null;
  return answer.median_pps ?? answer.conditional_throughput_pps ?? answer.lower_pps;
}

/** Each search's trials are those of its record. */
async function sameTrials(tab, where) {
  for (const [index, record] of records.entries()) {
    await sameRows(tab, `${where}, record ${index + 1}`, `[data-record="${index}"] table.trials`, record);
  }
}

async function sameRows(tab, where, table, record) {
  const rows = await tab.$$eval(`${table} tbody tr`, (rows) => rows.map((row) => ({ ...row.dataset })));
  const same = (row, trial) =>
    Number(row.trial) === trial.number &&
    Number(row.loadPps) === trial.intended_load_pps &&
    Number(row.lost) === Number(trial.lost) &&
    Number(row.offered) === Number(trial.offered);
  check(rows.length === record.trials.length, `${where}: a row a trial`);
  check(rows.every((row, index) => same(row, record.trials[index])), `${where}: the rows are the record's trials`);
}

/** Whether words such as "186.5 kpps" round the number, or a lower end down. */
function near(words, pps, isLowerEnd) {
  const scales = { pps: 1, kpps: 1e3, Mpps: 1e6, Gpps: 1e9 };
  const [, digits, unit] = words.match(/^([\d.\s\u202f]+)\u00a0(\w+)$/) ?? [];
  if (!digits || !(unit in scales)) return false;
  const plain = digits.replace(/[\s\u202f]/g, "");
  const last = 10 ** -(plain.split(".")[1]?.length ?? 0);
  const [beyond, step] = [pps - Number(plain) * scales[unit], last * scales[unit]];
  return isLowerEnd ? beyond > -1e-4 * step && beyond < 1.0001 * step : Math.abs(beyond) <= 0.5001 * step;
}

/** Arrows step through a plot's marks, the readout says them, Escape leaves. */
async function keyboard(tab, where) {
  for (const figure of await tab.$$("figure")) {
    const svg = await shownPlot(figure);
    if (!svg) continue;
    const said = () => figure.$eval(".say", (line) => line.textContent);
    const words = await figure.$$eval("tbody tr", (rows) => rows.map((row) => row.dataset.say));
    await svg.focus();
    await tab.keyboard.press("ArrowRight");
    check((await said()) === words[0], `${where}: the first mark is read out`);
    await tab.keyboard.press("End");
    check((await said()) === words.at(-1), `${where}: the last mark is read out`);
    check((await svg.$$(".cursor")).length === 1, `${where}: the mark has a ring`);
    await tab.keyboard.press("Escape");
    check((await said()) === "" && (await svg.$$(".cursor")).length === 0, `${where}: Escape leaves`);
  }
}

/** A mark under the pointer is read out. */
async function pointer(tab, where) {
  for (const figure of await tab.$$("figure")) {
    const svg = await shownPlot(figure);
    const marks = svg && (await svg.getAttribute("data-marks"));
    if (!marks) continue;
    const [x, y] = marks.split(" ")[0].split(",").map(Number);
    await svg.scrollIntoViewIfNeeded();
    const box = await svg.boundingBox();
    const scale = box.width / Number((await svg.getAttribute("viewBox")).split(" ")[2]);
    await tab.mouse.move(box.x + x * scale, box.y + y * scale);
    const said = await figure.$eval(".say", (line) => line.textContent);
    check(said !== "", `${where}: the mark under the pointer is read out`);
    await tab.mouse.move(0, 0);
  }
}

async function shownPlot(figure) {
  for (const svg of await figure.$$("svg[data-marks]")) if (await svg.isVisible()) return svg;
  return null;
}

/** Heads of the trials' table sort it, and say so. */
async function sorting(tab, where) {
  const table = await tab.$("table.sort");
  if (!table) return;
  await tab.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
  const loads = () => table.$$eval("tbody tr", (rows) => rows.map((row) => Number(row.dataset.loadPps)));
  const before = await loads();
  const head = (await table.$$("th"))[3];
  for (const [order, sign] of [["ascending", 1], ["descending", -1]]) {
    await (await head.$("button")).click();
    const sorted = [...before].sort((a, b) => sign * (a - b));
    check(JSON.stringify(await loads()) === JSON.stringify(sorted), `${where}: a click sorts by load, ${order}`);
    check((await head.getAttribute("aria-sort")) === order, `${where}: the head says ${order}`);
  }
  await tab.$$eval("details", (all) => all.forEach((details) => (details.open = false)));
}

/** The numbers below a plot open. */
async function numbers(tab, where) {
  for (const figure of await tab.$$("figure")) {
    const table = await figure.$("details table");
    check(!(await table.isVisible()), `${where}: the numbers are closed at first`);
    await (await figure.$("summary")).click();
    check(await table.isVisible(), `${where}: the numbers open`);
    await (await figure.$("summary")).click();
  }
}

/** On paper each drawing is there once, and no letter is smaller than 9 points. */
async function print() {
  const tab = await browser.newPage({ viewport: { width: 703, height: 900 } });
  await tab.goto(address);
  await tab.emulateMedia({ media: "print" });
  const shown = await tab.$$eval("figure", (figures) =>
    figures.map((figure) => [...figure.querySelectorAll("svg")].filter((svg) => getComputedStyle(svg).display !== "none").length),
  );
  check(shown.every((count) => count === 1), `print: exactly one of two widths is shown`);
  const letters = await tab.$$eval("figure svg", (svgs) =>
    svgs
      .filter((svg) => getComputedStyle(svg).display !== "none" && svg.querySelector("text"))
      .map((svg) => (parseFloat(getComputedStyle(svg.querySelector("text")).fontSize) * svg.getBoundingClientRect().width * 0.75) / svg.viewBox.baseVal.width),
  );
  check(Math.min(...letters, 99) >= 8.95, `print: letters have 9 pt at least, not ${Math.min(...letters).toFixed(1)}`);
  if (flags.shots) await tab.pdf({ path: join(flags.shots, `${title}.pdf`), format: "A4" });
  await tab.close();
}
