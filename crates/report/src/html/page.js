for (const figure of document.querySelectorAll("figure")) {
  const say = figure.querySelector(".say");
  const rows = figure.querySelectorAll("tbody tr");
  for (const svg of figure.querySelectorAll("svg[data-marks]")) {
    const marks = svg.dataset.marks.split(" ").filter(Boolean).map(mark => mark.split(",").map(Number));
    const ring = document.createElementNS(svg.namespaceURI, "circle");
    ring.setAttribute("class", "cursor");
    ring.setAttribute("r", 8);
    let at = -1;
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
    svg.onpointermove = event => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let near = -1, best = 40;
      marks.forEach(([left, top], mark) => {
        const far = Math.hypot(left - x, top - y);
        if (far < best) [near, best] = [mark, far];
      });
      if (near !== at) show(near);
    };
    svg.onpointerleave = svg.onblur = () => show(-1);
    svg.onkeydown = event => {
      const last = marks.length - 1;
      const next = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
      if (next === undefined || last < 0) return;
      event.preventDefault();
      show(next);
    };
  }
}
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
