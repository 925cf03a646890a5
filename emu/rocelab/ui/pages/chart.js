// Charts over uPlot: series with times of their own, spans behind them, a marker, linked cursors and zoom, and downloads.
import uPlot from "uplot";
import { css } from "./colours.js";
import { button, h, put, significant } from "./dom.js";
import { download, toCsv, toPng, toSvg } from "./export.js";

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} colour
 * @property {number[]} x
 * @property {(number|null)[]} y
 * @property {"line"|"step"|"points"} [kind] step: a value holds until the next
 * @property {number[]} [dash]
 * @property {number} [size] of points
 * @property {(number|null)[]} [spread] half widths of intervals around y, drawn as bars
 *
 * @typedef {object} Spec
 * @property {string} title
 * @property {string} x axis title with its unit
 * @property {string} y axis title with its unit
 * @property {Line[]} lines
 * @property {[number, number]} [range] of x
 * @property {boolean} [log] x is logarithmic
 * @property {string[]} [names] of x = 0, 1, ...: values that are no numbers
 * @property {{from: number, to: number, strength: number}[]} [spans] behind the lines
 * @property {{y: number, label: string}[]} [limits] horizontal lines
 * @property {string} [link] charts of the same link share cursor and zoom
 * @property {(x: number) => void} [onpick] a click at x
 */

const kHeight = 170;
const links = new Map();

/** A figure with its title, downloads and a chart that fills its width. `set(spec)` draws anew, `mark(x)` moves the marker. */
export function chart(spec, signal) {
  const body = h("div", { class: "chart" });
  const title = h("figcaption");
  const key = h("div", { class: "key" });
  const figure = h("figure", {}, h("div", { class: "bar" }, title, downloads(() => current)), key, body);
  let current = spec;
  let plot = null;
  let marker = null;

  function draw() {
    plot?.destroy();
    put(title, current.title);
    put(key, current.lines.map((line) => h("span", {}, swatch(line.colour, line.dash), line.label)));
    body.setAttribute("role", "img");
    body.setAttribute("aria-label", describe(current));
    const width = Math.max(240, body.clientWidth || figure.clientWidth || 600);
    plot = new uPlot(options(current, width, () => marker), table(current.lines), body);
    if (current.link) join(current.link, plot);
  }
  const observer = new ResizeObserver(() => {
    const width = body.clientWidth;
    if (!plot && width) draw();
    else if (plot && width && Math.abs(width - plot.width) > 1) plot.setSize({ width, height: kHeight });
  });
  observer.observe(body);
  signal?.addEventListener("abort", () => {
    observer.disconnect();
    links.get(current.link)?.delete(plot);
    plot?.destroy();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot && draw(), { signal });
  return {
    figure,
    set(next) {
      links.get(current.link)?.delete(plot);
      current = next;
      if (body.clientWidth) draw();
    },
    mark(x) {
      marker = x;
      plot?.redraw(false);
    },
  };
}

function swatch(colour, dash) {
  const mark = h("i");
  mark.style.background = dash ? `repeating-linear-gradient(90deg, ${colour} 0 4px, transparent 4px 7px)` : colour;
  return mark;
}

function describe(spec) {
  const parts = spec.lines.map((line) => {
    const values = line.y.filter((v) => v !== null);
    if (!values.length) return `${line.label}: nothing`;
    let [least, most] = [Infinity, -Infinity];
    for (const v of values) [least, most] = [Math.min(least, v), Math.max(most, v)];
    return `${line.label}: ${significant(least, 3)} to ${significant(most, 3)}`;
  });
  return `${spec.title}. ${spec.y} over ${spec.x}. ${parts.slice(0, 12).join("; ")}`;
}

/** One table of all lines: their points at the times of all. */
function table(lines) {
  const nonempty = lines.map((line) => [line.x, line.y]);
  return nonempty.length ? uPlot.join(nonempty, nonempty.map(() => [0, 1])) : [[]];
}

function join(link, plot) {
  if (!links.has(link)) links.set(link, new Set());
  links.get(link).add(plot);
}

/** What one chart zooms to, all of its link do. */
function follow(link, from, min, max) {
  for (const other of links.get(link) ?? []) {
    if (other !== from && (other.scales.x.min !== min || other.scales.x.max !== max)) other.setScale("x", { min, max });
  }
}

function options(spec, width, marker) {
  const soft = css("--soft");
  const grid = { stroke: css("--line"), width: 1 };
  const axis = { stroke: soft, grid, ticks: { stroke: css("--line"), size: 4 }, font: "11px system-ui", labelFont: "11px system-ui", labelGap: 0 };
  return {
    width,
    height: kHeight,
    legend: { show: false },
    cursor: { sync: spec.link ? { key: spec.link, scales: ["x", null] } : undefined, drag: { x: true, y: false }, points: { size: 6 }, bind: binding(spec) },
    scales: { x: { time: false, distr: spec.log ? 3 : 1, range: spec.log ? undefined : (u, min, max) => zoomed(u, spec, min, max) }, y: { range: (u, min, max) => fromZero(...withIntervals(spec, min, max)) } },
    axes: [
      { ...axis, ...named(spec), label: spec.x, labelSize: 16, size: 26, values: spec.names ? (u, splits) => splits.map((v) => spec.names[v] ?? "") : (u, splits) => splits.map((v) => (v === null ? "" : significant(v, 6))) },
      { ...axis, label: spec.y, labelSize: 16, size: 50 },
    ],
    series: [{}, ...spec.lines.map(lineOptions)],
    hooks: {
      drawClear: [(u) => drawSpans(u, spec)],
      draw: [(u) => drawMarks(u, spec, marker())],
      setCursor: [(u) => readOut(u, spec)],
      setScale: [(u, key) => key === "x" && spec.link && follow(spec.link, u, u.scales.x.min, u.scales.x.max)],
    },
  };
}

function named({ names }) {
  return names ? { splits: () => names.map((_, i) => i) } : {};
}

/** The range of values and their intervals. */
function withIntervals(spec, min, max) {
  if (max === null || max === undefined) return [min, max];
  for (const { y, spread } of spec.lines) {
    spread?.forEach((half, i) => {
      if (y[i] === null) return;
      [min, max] = [Math.min(min, y[i] - (half ?? 0)), Math.max(max, y[i] + (half ?? 0))];
    });
  }
  return [min, max];
}

function zoomed(u, spec, min, max) {
  if (spec.range && u.data[0]?.length && (min === u.data[0][0]) && max === u.data[0].at(-1)) return spec.range;
  if (min === null || min === undefined) return spec.range ?? [0, 1];
  return min === max ? [min - 0.5, max + 0.5] : [min, max];
}

function fromZero(min, max) {
  if (max === null || max === undefined) return [0, 1];
  const top = max > 0 ? max * 1.06 : 1;
  return [Math.min(0, min), top];
}

function lineOptions(line) {
  const points = line.kind === "points";
  return {
    label: line.label,
    stroke: line.colour,
    width: points ? 0 : 1.25,
    dash: line.dash,
    spanGaps: true,
    points: { show: points, size: line.size ?? 4, fill: line.colour, width: 0 },
    paths: points ? () => null : line.kind === "step" ? uPlot.paths.stepped({ align: 1 }) : undefined,
  };
}

/** A click that is no drag picks a time. */
function binding(spec) {
  if (!spec.onpick) return {};
  let down = null;
  return {
    mousedown: (u, target, handler) => (e) => {
      down = e.clientX;
      handler(e);
    },
    mouseup: (u, target, handler) => (e) => {
      if (down !== null && Math.abs(e.clientX - down) < 3) spec.onpick(u.posToVal(u.cursor.left, "x"));
      down = null;
      handler(e);
    },
  };
}

function drawSpans(u, spec) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = css("--pause");
  for (const span of spec.spans ?? []) {
    const from = Math.max(bbox.left, u.valToPos(span.from, "x", true));
    const to = Math.min(bbox.left + bbox.width, u.valToPos(span.to, "x", true));
    if (to < bbox.left || from > bbox.left + bbox.width) continue;
    ctx.globalAlpha = 0.12 + 0.3 * span.strength;
    ctx.fillRect(from, bbox.top, Math.max(1, to - from), bbox.height);
  }
  ctx.restore();
}

function drawMarks(u, spec, marker) {
  const { ctx, bbox } = u;
  ctx.save();
  for (const each of spec.lines) if (each.spread) drawIntervals(u, each);
  ctx.setLineDash([4, 4]);
  ctx.strokeStyle = ctx.fillStyle = css("--soft");
  ctx.font = `${11 * devicePixelRatio}px system-ui`;
  for (const limit of spec.limits ?? []) {
    if (limit.y > u.scales.y.max) continue;
    const y = u.valToPos(limit.y, "y", true);
    line(ctx, bbox.left, y, bbox.left + bbox.width, y);
    ctx.textAlign = "right";
    ctx.fillText(limit.label, bbox.left + bbox.width - 4, y - 3);
  }
  if (marker !== null && marker >= u.scales.x.min && marker <= u.scales.x.max) {
    ctx.setLineDash([]);
    ctx.strokeStyle = css("--ink");
    const x = u.valToPos(marker, "x", true);
    line(ctx, x, bbox.top, x, bbox.top + bbox.height);
  }
  ctx.restore();
}

function drawIntervals(u, { x, y, spread, colour }) {
  const { ctx } = u;
  ctx.strokeStyle = colour;
  x.forEach((v, i) => {
    if (y[i] === null || !spread[i]) return;
    const [at, low, high] = [u.valToPos(v, "x", true), u.valToPos(y[i] - spread[i], "y", true), u.valToPos(y[i] + spread[i], "y", true)];
    line(ctx, at, low, at, high);
    for (const end of [low, high]) line(ctx, at - 4, end, at + 4, end);
  });
}

function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

/** Values under the cursor, in the key. */
function readOut(u, spec) {
  const key = u.root.closest("figure")?.querySelector(".key");
  if (!key) return;
  const at = u.cursor.idx;
  [...key.children].forEach((entry, i) => {
    const value = at === null || at === undefined ? null : valueAt(u.data[i + 1], at, spec.lines[i].kind);
    entry.dataset.value = value === null || value === undefined ? "" : ` ${significant(value, 4)}`;
  });
}

function valueAt(values, at, kind) {
  for (let i = at; values && i >= 0; i--) {
    if (values[i] !== null && values[i] !== undefined) return values[i];
    if (kind === "points") return null;
  }
  return null;
}

function downloads(spec) {
  const name = () => spec().title.replaceAll(/[^A-Za-z0-9]+/g, "-").toLowerCase();
  return h(
    "span",
    { class: "downloads" },
    button("SVG", () => download(`${name()}.svg`, "image/svg+xml", toSvg(spec())), { title: "Download this chart as SVG" }),
    button("PNG", async () => download(`${name()}.png`, "image/png", await toPng(toSvg(spec()))), { title: "Download this chart as PNG" }),
    button("CSV", () => download(`${name()}.csv`, "text/csv", toCsv(spec())), { title: "Download this chart's numbers as CSV" }),
  );
}
