// The network's picture: each direction of a link a line, coloured by what it carries or whether it is paused; switches by their queues.
import { s } from "./dom.js";
import { fit, wire } from "./sketch.js";

const kWidth = 1000;
const kLevels = 6;
const kBend = 0.24; // of arcs, as a share of their width

/** `network` as /api/network gives it. `onpick(port)`, `onnode(name)`. */
export class Topology {
  constructor(network, onpick, onnode) {
    this.network = network;
    this.big = network.nodes.length > 60;
    this.height = heightFor(network.nodes);
    this.nodes = network.nodes.map((n) => [n.name, n.x, -n.y]);
    this.index = new Map(network.nodes.map((n, i) => [n.name, i]));
    const place = fit(this.nodes.map(([, x, y]) => [x, y]), kWidth, this.height, this.big ? 24 : 60);
    const above = this.arcs(place);
    this.place = (i) => [place(i)[0], place(i)[1] + above];
    this.height += above;
    this.links = network.links.map((link) => this.drawLink(link, onpick));
    this.shapes = network.nodes.map((node, i) => this.drawNode(node, i, onnode));
    this.portsOf = network.nodes.map((n) => network.links.flatMap((link, i) => (link.from === n.name ? [i] : [])));
    this.byPort = new Map(network.links.map((link, i) => [link.port, i]));
    this.chosen = s("g");
    this.svg = s(
      "svg",
      { viewBox: `0 0 ${kWidth} ${this.height}`, class: this.big ? "network big" : "network", role: "img", "aria-label": `Topology: ${network.nodes.length} nodes, ${network.links.length} ports. The table of ports has the same in words.` },
      this.links.map((l) => l.group),
      this.chosen,
      this.shapes.map((n) => n.group),
    );
    this.measure(network);
  }

  /** Colours of queues are by the longest of the run; those of loads by the width of a stretch. */
  measure(network) {
    this.network = network;
    this.longest = 1;
    for (const q of network.frames.queue) if (q > this.longest) this.longest = q;
    for (const link of this.links) link.state = "";
  }

  drawLink(link, onpick) {
    const [a, b] = [this.index.get(link.from), this.index.get(link.to)];
    const [p, q] = this.lane(a, b);
    const d = wire(p, q, this.nodes, a, b, a < b ? kBend : kBend - 0.05);
    const line = s("path", { d, class: "lane u0" });
    const [x, y] = along(p, q, this.big ? 0.12 : 0.2);
    const hit = this.big ? null : s("path", { d, class: "hit" });
    const group = s("g", { onclick: () => onpick(link.port) }, line, hit, s("title", {}, `${link.port}: ${link.from} → ${link.to}`));
    return { group, line, x, y, pause: null, spark: null, d, state: "" };
  }

  /** Room above the nodes for the highest arc: a quadratic curve comes half as high as its control point. */
  arcs(place) {
    let highest = 0;
    for (const { from, to } of this.network.links) {
      const [a, b] = [this.index.get(from), this.index.get(to)];
      const [, , ay] = this.nodes[a];
      if (ay !== this.nodes[b][2]) continue;
      const top = place(a)[1] - (Math.abs(place(a)[0] - place(b)[0]) * kBend) / 2;
      highest = Math.max(highest, 16 - top);
    }
    return highest;
  }

  /** A line beside the middle, so that both directions are seen. */
  lane(a, b) {
    const [x0, y0] = this.place(a);
    const [x1, y1] = this.place(b);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [dx, dy] = [(-(y1 - y0) / length) * (this.big ? 1 : 3.5), ((x1 - x0) / length) * (this.big ? 1 : 3.5)];
    return [[x0 + dx, y0 + dy], [x1 + dx, y1 + dy]];
  }

  drawNode(node, i, onnode) {
    const [x, y] = this.place(i);
    const size = this.big ? (node.host ? 3 : 7) : node.host ? 11 : 17;
    const wide = this.big ? size : Math.max(size, 4.6 * node.name.length);
    const shape = node.host
      ? s("circle", { cx: x, cy: y, r: size, class: "host" })
      : s("rect", { x: x - wide, y: y - size, width: 2 * wide, height: 2 * size, rx: 3, class: "switch q0" });
    const name = this.big ? null : s("text", { x, y: node.host ? (y > this.height / 2 ? y + size + 16 : y - size - 6) : y + 4, class: node.host ? (this.network.nodes.length > 30 ? "name small" : "name") : "name on" }, node.name);
    return { group: s("g", { onclick: () => onnode(node.name) }, shape, name, s("title", {}, node.name)), shape, host: node.host, level: 0 };
  }

  /** `frame`: bytes, queue, paused (thousandths), drops by index of the port, of one stretch; `mode`: load, pause or queue. */
  draw(frame, mode) {
    this.links.forEach((link, i) => {
      const capacity = (this.network.links[i].rate_bps * this.network.bin_ps) / 8e12;
      const share = mode === "pause" ? frame.paused[i] / 1000 : mode === "queue" ? frame.queue[i] / this.longest : frame.bytes[i] / capacity;
      const level = share <= 0.001 ? 0 : Math.min(kLevels - 1, 1 + Math.floor(share * (kLevels - 1)));
      const state = `lane ${mode === "pause" ? "p" : mode === "queue" ? "k" : "u"}${level}${frame.paused[i] >= 500 ? " stopped" : ""}`;
      const drops = frame.drops[i];
      const key = `${state}${frame.paused[i] > 0}${drops}`;
      if (key === link.state) return;
      link.state = key;
      link.line.setAttribute("class", state);
      if (frame.paused[i] > 0 || link.pause) bars(link).setAttribute("class", frame.paused[i] > 0 ? "bars on" : "bars");
      if (drops || link.spark) spark(link).setAttribute("r", drops ? Math.min(14, 3 + 2 * Math.log2(1 + drops)) / (this.big ? 4 : 1) : 0);
    });
    this.shapes.forEach((node, i) => {
      if (node.host) return;
      let queue = 0;
      for (const port of this.portsOf[i]) queue = Math.max(queue, frame.queue[port]);
      const level = queue ? Math.min(kLevels - 1, 1 + Math.floor((queue / this.longest) * (kLevels - 1))) : 0;
      if (level !== node.level) node.shape.setAttribute("class", `switch q${level}`);
      node.level = level;
    });
  }

  /** Draws these ports over the others: the chosen one, or a chain of pauses; `kind`: chosen, chain or circle. */
  show(ports, kind) {
    const paths = ports.map((port) => this.links[this.byPort.get(port)]).filter(Boolean);
    this.chosen.replaceChildren(...paths.map((l) => s("path", { d: l.d, class: `over ${kind}` })));
  }
}

/** Marks of a link are made when they are needed: most links never are paused. */
function bars(link) {
  const { x, y } = link;
  link.pause ??= link.group.appendChild(s("path", { d: `M${x - 3} ${y - 5}v10M${x + 3} ${y - 5}v10`, class: "bars" }));
  return link.pause;
}

function spark(link) {
  link.spark ??= link.group.appendChild(s("circle", { cx: link.x, cy: link.y, r: 0, class: "spark" }));
  return link.spark;
}

function heightFor(nodes) {
  const tiers = new Set(nodes.map((n) => n.y)).size;
  return nodes.length > 60 ? 360 : Math.min(460, Math.max(300, tiers * 120));
}

function along([x0, y0], [x1, y1], share) {
  return [x0 + (x1 - x0) * share, y0 + (y1 - y0) * share];
}

const kColumns = ["bytes", "queue", "paused", "drops", "marks"];

/** Rows of the overview by stretch: `at(bin)` gives each column by index of the port, `totals()` those of the whole run. */
export class Frames {
  constructor(network) {
    this.renew(network);
  }

  renew(network) {
    this.frames = network.frames;
    this.ports = network.links.length;
    this.bins = network.bins;
    this.first = new Int32Array(this.bins + 1).fill(this.frames.bin.length);
    for (let i = this.frames.bin.length - 1; i >= 0; i--) this.first[this.frames.bin[i]] = i;
    for (let b = this.bins - 1; b >= 0; b--) this.first[b] = Math.min(this.first[b], this.first[b + 1]);
  }

  at(bin) {
    const frame = {};
    for (const name of kColumns) frame[name] = new Float64Array(this.ports);
    for (let i = this.first[bin]; i < this.first[bin + 1]; i++) {
      const port = this.frames.port[i];
      if (port < 0) continue;
      for (const name of kColumns) frame[name][port] = this.frames[name][i];
    }
    return frame;
  }

  totals() {
    const sums = {};
    for (const name of kColumns) sums[name] = new Float64Array(this.ports);
    this.frames.port.forEach((port, i) => {
      if (port < 0) return;
      for (const name of kColumns) sums[name][port] = name === "queue" ? Math.max(sums.queue[port], this.frames.queue[i]) : sums[name][port] + this.frames[name][i];
    });
    return sums;
  }
}
