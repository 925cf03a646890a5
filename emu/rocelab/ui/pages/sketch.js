// Small drawings: a topology, and the distribution of FCT of a result.
import { colours } from "./colours.js";
import { s } from "./dom.js";

/** Nodes [name, x, y] and links [a, b, n] as the gallery's sketch gives them. */
export function topologySketch(sketch, title) {
  const { nodes, links, hosts } = sketch;
  if (!nodes?.length) return null;
  const place = fit(nodes.map(([, x, y]) => [x, -y]), 200, 90, 10);
  const sinks = new Set(sketch.sinks?.length < hosts ? sketch.sinks : []);
  const many = nodes.length > 40;
  const wires = links.map(([a, b]) => wire(place(a), place(b), nodes, a, b));
  return s(
    "svg",
    { viewBox: wires.some((d) => d.includes("Q")) ? "0 -24 200 114" : "0 0 200 90", class: "sketch", role: "img", "aria-label": title },
    wires.map((d) => s("path", { d, class: many ? "wire thin" : "wire" })),
    nodes.map((node, i) => {
      const [x, y] = place(i);
      if (i < hosts) return s("circle", { cx: x, cy: y, r: many ? 1.6 : 4, class: sinks.has(i) ? "host sink" : "host" });
      const size = many ? 4 : 9;
      return s("rect", { x: x - size / 2, y: y - size / 2, width: size, height: size, rx: 1.5, class: "switch" });
    }),
  );
}

/** Straight, or an arc where a third node lies between two of the same height. */
export function wire([x0, y0], [x1, y1], nodes, a, b, bend = 0.22) {
  const [, ax, ay] = nodes[a];
  const [, bx, by] = nodes[b];
  const between = ay === by && nodes.some(([, x, y]) => y === ay && x > Math.min(ax, bx) && x < Math.max(ax, bx));
  if (!between) return `M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`;
  const lift = Math.abs(x1 - x0) * bend;
  return `M${x0.toFixed(1)} ${y0.toFixed(1)}Q${((x0 + x1) / 2).toFixed(1)} ${((y0 + y1) / 2 - lift).toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
}

/** Where node i is drawn in a box with a margin. */
export function fit(points, width, height, margin) {
  const range = (i) => {
    let [least, most] = [Infinity, -Infinity];
    for (const p of points) [least, most] = [Math.min(least, p[i]), Math.max(most, p[i])];
    return [least, most - least];
  };
  const [[x0, dx], [y0, dy]] = [range(0), range(1)];
  const at = (v, from, span, size) => (span ? margin + ((v - from) / span) * (size - 2 * margin) : size / 2);
  return (i) => [at(points[i][0], x0, dx, width), at(points[i][1], y0, dy, height)];
}

/** CDF of FCT by label, from quantiles. */
export function resultThumb(thumb, title) {
  const labels = Object.keys(thumb).filter((label) => thumb[label].length);
  const most = Math.max(0, ...labels.map((label) => thumb[label].at(-1)));
  if (!most) return null;
  const palette = colours(labels);
  const path = (values) => values.map((v, i) => `${i ? "L" : "M"}${(4 + (v / most) * 112).toFixed(1)} ${(56 - ((i + 1) / values.length) * 50).toFixed(1)}`).join("");
  return s(
    "svg",
    { viewBox: "0 0 120 60", class: "thumb", role: "img", "aria-label": title },
    s("path", { d: "M4 4V56H118", class: "frame" }),
    labels.map((label, i) => s("path", { d: path(thumb[label]), stroke: palette[i], class: "curve" })),
  );
}
