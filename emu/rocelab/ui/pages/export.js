// Charts as files. The SVG is drawn anew from the numbers, so that it is lines and text, and not a picture of the canvas.
import { css } from "./colours.js";
import { s, significant } from "./dom.js";

const kWidth = 860;
const kHeight = 320;
const kLeft = 64;
const kRight = 16;
const kTop = 34;
const kBottom = 46;

export function download(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** A row per point: which line, x, y. */
export function toCsv(spec) {
  const spread = spec.lines.some((line) => line.spread);
  const rows = [["line", spec.x, spec.y, ...(spread ? ["half width"] : [])]];
  const at = (x) => spec.names?.[x] ?? x;
  for (const line of spec.lines) line.x.forEach((x, i) => line.y[i] !== null && rows.push([line.label, at(x), line.y[i], ...(spread ? [line.spread?.[i] ?? ""] : [])]));
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Quoted where it has to be; a text that a spreadsheet would take for a formula is kept a text. */
export function cell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value ?? "") ? `'${value}` : String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toSvg(spec) {
  const x = scale(spec.range ?? extent(spec.lines.flatMap((l) => l.x)), [kLeft, kWidth - kRight], spec.log);
  const [least, most] = extent(spec.lines.flatMap((l) => l.y.flatMap((v, i) => (v === null ? [] : [v - (l.spread?.[i] ?? 0), v + (l.spread?.[i] ?? 0)]))));
  const y = scale([Math.min(0, least), most > 0 ? most * 1.06 : 1], [kHeight - kBottom, kTop], false);
  const svg = s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${kWidth} ${kHeight}`, width: kWidth, height: kHeight, "font-family": "system-ui, sans-serif", "font-size": 12 },
    s("rect", { width: kWidth, height: kHeight, fill: css("--paper") }),
    s("text", { x: kLeft, y: 18, fill: css("--ink"), "font-weight": 600 }, spec.title),
    axes(x, y, spec),
    (spec.spans ?? []).map((span) => block(x, span)),
    spec.lines.map((line) => [drawn(line, x, y), intervals(line, x, y)]),
    legend(spec.lines),
  );
  return new XMLSerializer().serializeToString(svg);
}

export async function toPng(svg, factor = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * factor;
  canvas.height = image.height * factor;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function extent(values) {
  let [least, most] = [Infinity, -Infinity];
  for (const v of values) {
    if (v < least) least = v;
    if (v > most) most = v;
  }
  return least > most ? [0, 1] : least === most ? [least - 0.5, most + 0.5] : [least, most];
}

function scale([from, to], [a, b], log) {
  const f = log ? Math.log10 : (v) => v;
  const [lo, hi] = [f(log ? Math.max(from, 1e-12) : from), f(to)];
  const at = (v) => a + ((f(v) - lo) / (hi - lo || 1)) * (b - a);
  return Object.assign(at, { from, to, ticks: log ? decades(from, to) : steps(from, to) });
}

function steps(from, to) {
  const rough = (to - from) / 6 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((v) => v >= rough);
  const found = [];
  for (let v = Math.ceil(from / step) * step; v <= to + step * 1e-9; v += step) found.push(Number(v.toPrecision(12)));
  return found;
}

function decades(from, to) {
  const found = [];
  for (let e = Math.ceil(Math.log10(Math.max(from, 1e-12))); 10 ** e <= to; e++) found.push(10 ** e);
  return found.length ? found : [from, to];
}

function axes(x, y, spec) {
  const [ink, line] = [css("--soft"), css("--line")];
  const middle = (kLeft + kWidth - kRight) / 2;
  return [
    x.ticks.map((v) => [
      s("line", { x1: x(v), x2: x(v), y1: kTop, y2: kHeight - kBottom, stroke: line }),
      s("text", { x: x(v), y: kHeight - kBottom + 15, fill: ink, "text-anchor": "middle" }, spec.names ? (spec.names[v] ?? "") : significant(v, 6)),
    ]),
    y.ticks.map((v) => [
      s("line", { x1: kLeft, x2: kWidth - kRight, y1: y(v), y2: y(v), stroke: line }),
      s("text", { x: kLeft - 6, y: y(v) + 4, fill: ink, "text-anchor": "end" }, significant(v, 6)),
    ]),
    s("text", { x: middle, y: kHeight - 8, fill: ink, "text-anchor": "middle" }, spec.x),
    s("text", { x: 14, y: kTop + 80, fill: ink, "text-anchor": "middle", transform: `rotate(-90 14 ${kTop + 80})` }, spec.y),
  ];
}

function block(x, span) {
  const from = Math.max(kLeft, x(span.from));
  const to = Math.min(kWidth - kRight, x(span.to));
  return to < from ? null : s("rect", { x: from, y: kTop, width: Math.max(0.5, to - from), height: kHeight - kBottom - kTop, fill: css("--pause"), opacity: 0.12 + 0.3 * span.strength });
}

function drawn(line, x, y) {
  const points = line.x.map((v, i) => [v, line.y[i]]).filter(([v, w]) => w !== null && v >= x.from && v <= x.to);
  const at = ([v, w]) => [x(v).toFixed(1), y(w).toFixed(1)];
  if (line.kind === "points") return points.map(at).map(([cx, cy]) => s("circle", { cx, cy, r: (line.size ?? 4) / 2, fill: line.colour }));
  let path = "";
  points.forEach((point, i) => {
    const [px, py] = at(point);
    path += i === 0 ? `M${px} ${py}` : line.kind === "step" ? `H${px}V${py}` : `L${px} ${py}`;
  });
  return s("path", { d: path, fill: "none", stroke: line.colour, "stroke-width": 1.4, "stroke-dasharray": line.dash?.join(" ") });
}

function intervals(line, x, y) {
  return (line.spread ?? []).map((half, i) => {
    if (!half || line.y[i] === null) return null;
    const [at, low, high] = [x(line.x[i]), y(line.y[i] - half), y(line.y[i] + half)];
    return s("path", { d: `M${at} ${low}V${high}M${at - 4} ${low}h8M${at - 4} ${high}h8`, stroke: line.colour, fill: "none" });
  });
}

function legend(lines) {
  let x = kWidth - kRight;
  return [...lines].reverse().slice(0, 8).map((line) => {
    x -= line.label.length * 6.6 + 26;
    return [s("rect", { x, y: 9, width: 10, height: 10, fill: line.colour }), s("text", { x: x + 14, y: 18, fill: css("--ink") }, line.label)];
  });
}
