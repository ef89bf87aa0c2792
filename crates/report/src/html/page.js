const figures = [...document.querySelectorAll("figure")];
const marksOf = svg => svg.dataset.marks.split(" ").filter(Boolean).map(mark => mark.split(",").map(Number));
const trialOf = row => /^trial (\d+):/.exec(row.dataset.say)?.[1];
const draw = (svg, kind, values) => {
  const shape = document.createElementNS(svg.namespaceURI, kind);
  for (const [name, value] of Object.entries(values)) shape.setAttribute(name, value);
  svg.append(shape);
  return shape;
};
const choose = chosen => {
  for (const figure of figures) {
    const rows = [...figure.querySelectorAll("tbody tr")];
    for (const svg of figure.querySelectorAll("svg[data-marks]")) {
      svg.querySelectorAll(".chosen").forEach(old => old.remove());
      const rings = marksOf(svg).filter((_, mark) => chosen.has(trialOf(rows[mark])));
      const circles = rings.map(([x, y]) => `M${x - 6} ${y}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0`);
      if (circles.length) draw(svg, "path", { class: "chosen", d: circles.join("") });
    }
  }
  for (const row of document.querySelectorAll("tr[data-trial]")) row.classList.toggle("chosen", chosen.has(row.dataset.trial));
};
const brushes = document.querySelectorAll("figure[data-plot=search-time]").length === 1;
for (const figure of figures) {
  const say = figure.querySelector(".say");
  const rows = figure.querySelectorAll("tbody tr");
  const brushed = brushes && figure.dataset.plot === "search-time";
  for (const svg of figure.querySelectorAll("svg[data-marks]")) {
    const marks = marksOf(svg);
    const ring = draw(svg, "circle", { class: "cursor", r: 8 });
    ring.remove();
    let at = -1, from = null, anchor = -1, band = null;
    const show = mark => {
      at = mark;
      if (mark < 0) {
        ring.remove();
        say.textContent = "";
        return;
      }
      ring.setAttribute("cx", marks[mark][0]);
      ring.setAttribute("cy", marks[mark][1]);
      svg.append(ring);
      say.textContent = rows[mark].dataset.say;
    };
    const take = inside => {
      const chosen = new Set([...rows].filter((_, mark) => inside(mark)).map(trialOf));
      choose(chosen);
      if (chosen.size) say.textContent = `${chosen.size} ${chosen.size === 1 ? "trial is" : "trials are"} marked in all plots; Escape unmarks`;
    };
    const place = event => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    };
    svg.onpointermove = event => {
      const [x, y] = place(event);
      if (from !== null && Math.abs(x - from) > 4) {
        band ??= draw(svg, "rect", { class: "brush", y: 0, height: svg.viewBox.baseVal.height });
        band.setAttribute("x", Math.min(from, x));
        band.setAttribute("width", Math.abs(x - from));
        return;
      }
      let near = -1, best = 40;
      marks.forEach(([left, top], mark) => {
        const far = Math.hypot(left - x, top - y);
        if (far < best) [near, best] = [mark, far];
      });
      if (near !== at) show(near);
    };
    svg.onpointerdown = event => {
      svg.onpointermove(event);
      if (!brushed) return;
      from = place(event)[0];
      svg.setPointerCapture(event.pointerId);
    };
    svg.onpointerup = event => {
      if (band) {
        const [low, high] = [from, place(event)[0]].sort((a, b) => a - b);
        show(-1);
        take(mark => marks[mark][0] >= low && marks[mark][0] <= high);
      }
      band?.remove();
      from = band = null;
    };
    svg.onpointercancel = () => {
      band?.remove();
      from = band = null;
    };
    svg.onpointerleave = event => {
      if (event.pointerType === "mouse" && at >= 0) show(-1);
    };
    svg.onblur = () => show(-1);
    svg.onkeydown = event => {
      const last = marks.length - 1;
      const next = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
      if (next === undefined || last < 0) return;
      event.preventDefault();
      if (!event.shiftKey) anchor = next;
      show(next);
      if (next < 0) choose(new Set());
      else if (event.shiftKey && brushed) take(mark => mark >= Math.min(anchor, next) && mark <= Math.max(anchor, next));
    };
  }
}
document.querySelectorAll(".hint").forEach(hint => hint.hidden = false);
for (const table of document.querySelectorAll("table.sort")) {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => head.querySelector("button").onclick = () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      return (up ? 1 : -1) * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(order));
  });
}
const words = cell => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("br").forEach(end => end.replaceWith(" "));
  copy.querySelectorAll("svg").forEach(drawing => drawing.remove());
  return copy.textContent.replace(/[\u202f\u2007\u2008]/g, "").replace(/\u2212/g, "-").replace(/\s+/g, " ").trim().replace(/^[=@]/, "'$&");
};
for (const table of document.querySelectorAll("table")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy table";
  button.onclick = async () => {
    const text = [...table.rows].map(row => [...row.cells].map(words).join("\t")).join("\n");
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied, for a spreadsheet";
  };
  (table.closest(".scroll") ?? table).after(button);
}
for (const link of document.querySelectorAll("a[data-plain]")) link.onclick = async event => {
  if (!window.DecompressionStream) return;
  event.preventDefault();
  const bytes = Uint8Array.from(atob(link.href.split(",")[1]), sign => sign.charCodeAt(0));
  const save = document.createElement("a");
  save.href = URL.createObjectURL(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).blob());
  save.download = link.dataset.plain;
  save.click();
};
