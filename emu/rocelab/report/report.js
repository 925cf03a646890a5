"use strict";
// Pictures: values under the pointer, zoom along x by dragging, labels hidden by a click on their name. Places are in points of a picture
// (its viewBox); data-scales of an axes group says which values they stand for (style.py).
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const NEAR = 12, SHORTEST = 6;  // points: how far a value is found, what is no click but a stretch to zoom into
  const hidden = new Set();
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "tip";

  // Between values and places of one scale, whose ends lie at the places a and b.
  function makeScale([low, high, kind, title], a, b) {
    const flat = kind === "log" ? Math.log10 : (v) => v, back = kind === "log" ? (v) => 10 ** v : (v) => v;
    const from = flat(low), to = flat(high);
    const [, name, unit] = /^(.*?)\s*(?:\[(.*)\].*)?$/.exec(title);
    return {
      kind, name, unit: unit || "",
      place: (value) => a + ((flat(value) - from) / (to - from)) * (b - a),
      value: (place) => back(from + ((place - a) / (b - a)) * (to - from)),
    };
  }

  const shown = (value) => (Math.abs(value) >= 1e5 ? value.toExponential(3) : String(Number(value.toPrecision(4))));

  // Some five round values in [low, high].
  function ticks(low, high, kind) {
    if (kind === "log" && high / low > 8) {
      const found = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e)
        for (const m of high / low > 1000 ? [1] : [1, 2, 5]) found.push(m * 10 ** e);
      return found.filter((v) => v >= low && v <= high);
    }
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high; ++i) found.push(i * step);
    return found;
  }

  // Lines, areas and marks of an artist, with their places without zoom.
  function partsOf(series) {
    const parts = [];
    for (const use of series.querySelectorAll("use"))
      if (Number(use.getAttribute("x")) !== 0)
        parts.push({ use, points: [[Number(use.getAttribute("x")), Number(use.getAttribute("y"))]] });
    const area = series.querySelector("use[x='0'], use[x='0.0']");
    for (const path of series.querySelectorAll("path")) {
      if (path.closest("defs") && !area) continue;  // the shape of a mark
      const down = path.closest("defs") ? Number(area.getAttribute("y")) : 0;
      const words = path.getAttribute("d").match(/[A-Za-z]|-?[\d.]+(?:e-?\d+)?/g) || [];
      const points = [];
      for (let i = 0; i < words.length; ++i)
        if (!/[A-Za-z]/.test(words[i])) points.push([Number(words[i]), Number(words[++i]) + down]);
      const filled = !/fill:\s*none/.test((area || path).getAttribute("style") || "");
      parts.push({ path, words, points, filled });
    }
    return parts;
  }

  class Panel {
    constructor(groups) {
      const [x, y, box] = JSON.parse(groups[0].dataset.scales);
      [this.left, this.top, this.right, this.bottom] = box;
      this.x = makeScale(x, this.left, this.right);
      this.view = [this.left, this.right];
      this.axis = groups[0].querySelector("[id^='matplotlib.axis_']");
      this.series = groups.flatMap((group) => {
        const own = makeScale(JSON.parse(group.dataset.scales)[1], this.bottom, this.top);
        return [...group.querySelectorAll(".series")].map((node) => ({ label: node.dataset.label, y: own, parts: partsOf(node) }));
      });
    }

    contains([x, y]) { return x >= this.left && x <= this.right && y >= this.top && y <= this.bottom; }
    moved(x) { return this.left + ((x - this.view[0]) / (this.view[1] - this.view[0])) * (this.right - this.left); }
    unmoved(x) { return this.view[0] + ((x - this.left) / (this.right - this.left)) * (this.view[1] - this.view[0]); }

    zoom(from, to) {
      this.view = [from, to];
      for (const part of this.series.flatMap((s) => s.parts)) {
        if (part.use) { part.use.setAttribute("x", this.moved(part.points[0][0])); continue; }
        let i = 0, isX = true;
        const words = part.words.map((word) => {
          if (/[A-Za-z]/.test(word)) return word;
          isX = !isX;
          return isX ? word : this.moved(part.points[i++][0]).toFixed(3);
        });
        part.path.setAttribute("d", words.join(" "));
      }
      this.drawTicks(from === this.left && to === this.right);
    }

    drawTicks(whole) {
      const own = [...this.axis.querySelectorAll(":scope > [id^='xtick_']")];
      for (const tick of own) tick.style.display = whole ? "" : "none";
      for (const made of this.axis.querySelectorAll(".made")) made.remove();
      const model = own.find((tick) => tick.querySelector("text"));
      if (whole || !model) return;
      const at = Number(model.querySelector("use").getAttribute("x"));
      for (const value of ticks(this.x.value(this.view[0]), this.x.value(this.view[1]), this.x.kind)) {
        const tick = this.axis.appendChild(model.cloneNode(true));
        tick.setAttribute("class", "made");
        tick.style.display = "";
        tick.setAttribute("transform", `translate(${this.moved(this.x.place(value)) - at} 0)`);
        for (const line of tick.querySelectorAll("[clip-path]")) line.removeAttribute("clip-path");
        tick.querySelector("text").textContent = shown(value);
      }
    }

    // The value that is nearest to a place.
    nearest([px, py]) {
      let best = null, least = NEAR ** 2;
      for (const s of this.series) {
        if (hidden.has(s.label)) continue;
        for (const part of s.parts)
          for (const [x0, y] of part.points) {
            if (part.filled && y > this.bottom - 0.5) continue;  // where an area begins
            const x = this.moved(x0), distance = (x - px) ** 2 + (y - py) ** 2;
            if (distance < least && x >= this.left - 1 && x <= this.right + 1) [least, best] = [distance, { s, x, x0, y }];
          }
      }
      return best;
    }
  }

  function panelsOf(svg) {
    const byBox = new Map();
    for (const group of svg.querySelectorAll(".axes")) {
      const box = JSON.stringify(JSON.parse(group.dataset.scales)[2]);
      byBox.set(box, [...(byBox.get(box) || []), group]);
    }
    return [...byBox.values()].map((groups) => new Panel(groups)).filter((panel) => panel.series.length);
  }

  function follow(svg) {
    const panels = panelsOf(svg);
    if (!panels.length) return;
    const mark = svg.appendChild(document.createElementNS(NS, "circle"));
    const band = svg.appendChild(document.createElementNS(NS, "rect"));
    mark.setAttribute("r", 3);
    mark.setAttribute("class", "mark");
    band.setAttribute("class", "band");
    let start = null;
    const placeOf = (event) => {
      const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [p.x, p.y];
    };
    const hide = () => { tip.style.display = mark.style.display = "none"; };
    const show = (event, panel, place) => {
      const found = panel.nearest(place);
      if (!found) return hide();
      const y = found.s.y, words = [`${panel.x.name} ${shown(panel.x.value(found.x0))} ${panel.x.unit}`];
      if (y.name || y.unit) words.push(`${y.name} ${shown(y.value(found.y))} ${y.unit}`);
      tip.textContent = `${found.s.label}: ${words.map((w) => w.trim()).join(", ")}`;
      tip.style.display = mark.style.display = "block";
      tip.style.left = `${Math.min(event.pageX + 14, document.documentElement.scrollWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${event.pageY + 14}px`;
      mark.setAttribute("cx", found.x);
      mark.setAttribute("cy", found.y);
    };
    const stretch = ([x]) => [start.x, Math.min(Math.max(x, start.panel.left), start.panel.right)].sort((a, b) => a - b);
    svg.addEventListener("pointerdown", (event) => {
      const place = placeOf(event), panel = panels.find((p) => p.contains(place));
      if (panel && event.button === 0) { start = { panel, x: place[0] }; svg.setPointerCapture(event.pointerId); }
    });
    svg.addEventListener("pointermove", (event) => {
      const place = placeOf(event);
      if (!start) {
        const panel = panels.find((p) => p.contains(place));
        return panel ? show(event, panel, place) : hide();
      }
      hide();
      const [from, to] = stretch(place);
      const at = { x: from, y: start.panel.top, width: to - from, height: start.panel.bottom - start.panel.top };
      for (const [name, value] of Object.entries(at)) band.setAttribute(name, value);
    });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const panel = start.panel, [from, to] = stretch(placeOf(event));
      start = null;
      band.setAttribute("width", 0);
      if (to - from > SHORTEST) panel.zoom(panel.unmoved(from), panel.unmoved(to));
    });
    svg.addEventListener("pointercancel", () => { start = null; band.setAttribute("width", 0); });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("dblclick", (event) => {
      const place = placeOf(event), panel = panels.find((p) => p.contains(place));
      if (panel) panel.zoom(panel.left, panel.right);
    });
  }

  function toggle(label) {
    if (!hidden.delete(label)) hidden.add(label);
    for (const node of document.querySelectorAll("[data-label]"))
      if (node.dataset.label === label) node.classList.toggle("off", hidden.has(label));
  }

  for (const key of document.querySelectorAll(".key, .label[data-label]")) {
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.addEventListener("click", () => toggle(key.dataset.label));
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle(key.dataset.label);
    });
  }
  document.querySelectorAll("figure svg").forEach(follow);
  document.body.classList.add("live");
})();
