// One run: its network over time, what a port did, which pause caused which.
import { go, link, note } from "./address.js";
import { get } from "./api.js";
import { onScheme } from "./colours.js";
import { button, bytes, count, field, h, put, rate, select, tell, time } from "./dom.js";
import { portPanel } from "./port.js";
import { table } from "./table.js";
import { Frames, Topology } from "./topology.js";

const kModes = [["load", "utilisation"], ["pause", "pauses"], ["queue", "queues"]];
const kFrame = 60; // ms, of playback
const kMostPorts = 300; // rows of the table

/** A bar that chooses result and run; calls nothing, goes there. */
export async function runBar(name, query, signal, extra = {}) {
  const results = await get("results", {}, signal);
  if (!results.length) return { bar: h("p", {}, "There are no results yet: run a scenario of the ", h("a", { href: "#gallery" }, "gallery"), "."), result: null };
  const result = query.get("result") ?? results[0].name;
  const runs = await get("runs", { result }, signal);
  const run = Number(query.get("run") ?? runs[0].run);
  if (!runs.some((r) => r.run === run)) throw new Error(`${result} has no run ${run}`);
  const bar = h(
    "div",
    { class: "bar" },
    field("Result", select(results.map((r) => [r.name, r.name]), result, (value) => go(name, { result: value }))),
    field("Run", select(runs.map((r) => [r.run, `${r.label}, seed ${r.seed}${r.complete ? "" : " (incomplete)"}`]), run, (value) => go(name, { result, run: value }))),
    Object.entries(extra).map(([text, page]) => h("a", { href: link(page, { result, run }) }, text)),
  );
  return { bar, result, run, runs, title: results.find((r) => r.name === result)?.title };
}

export async function watchPage(page, query, signal) {
  const early = query.get("result") && query.get("run") ? get("network", { result: query.get("result"), run: query.get("run") }, signal) : null;
  early?.catch(() => {}); // it is awaited below
  const { bar, result, run, runs, title } = await runBar("watch", query, signal, { "Its flows": "flow" });
  if (!result) return put(page, h("h1", {}, "Watch"), bar);
  const network = await (early ?? get("network", { result, run }, signal));
  const intro = [h("h1", {}, title || "Watch"), bar, network.error ? h("p", { class: "bad" }, network.error) : null, network.notes.map((text) => h("p", { class: "warn" }, text, text.startsWith("events") ? otherRun(runs, run, result) : ""))];
  if (!network.nodes.length) return put(page, intro);
  const view = new Watch(page, { result, run, network, query, signal });
  put(page, intro, view.elements());
  return view.begin();
}

function momentText(m) {
  const size = m.bytes ? ` ${bytes(m.bytes)}` : "";
  const lasted = m.lasted_ps ? `, ${time(m.lasted_ps)}` : "";
  return m.what === "longest waiting flow" ? `${time(m.lasted_ps)} ${m.text}` : m.text + size + lasted;
}

function otherRun(runs, run, result) {
  const label = runs.find((r) => r.run === run)?.label;
  const first = runs.find((r) => r.label === label && r.events);
  return first ? [" – ", h("a", { href: link("watch", { result, run: first.run }) }, `seed ${first.seed}`)] : "";
}

export class Watch {
  constructor(page, { result, run, network, query, signal }) {
    Object.assign(this, { page, result, run, network, signal });
    this.frames = new Frames(network);
    this.topology = new Topology(network, (port) => this.pick(port), (node) => this.pickNode(node));
    this.mode = query.get("mode") ?? "load";
    this.bin = Math.min(this.frames.bins - 1, Math.floor(Number(query.get("t") ?? -1) / network.bin_ps));
    if (this.bin < 0) this.bin = this.busiest();
    this.port = query.get("port");
    this.timer = 0;
    this.panel = h("section", { class: "panel", "aria-label": "The chosen port" });
    signal.addEventListener("abort", () => clearInterval(this.timer));
    onScheme(() => this.draw(), signal);
  }

  elements() {
    const { network } = this;
    this.momentList = h("div", { "aria-live": "polite" }, h("p", { class: "note" }, "Loading …"));
    this.slider = h("input", { type: "range", min: 0, max: this.frames.bins - 1, value: this.bin, "aria-label": "Experiment time", oninput: (e) => this.seek(Number(e.target.value)) });
    this.play = button("Play", () => this.toggle(), { class: "main" });
    this.clock = h("output", { class: "clock" });
    this.now = h("p", { class: "note", "aria-live": "off" });
    const active = network.bin_ps * this.frames.bins;
    const rest = network.end_ps > active * 1.02 ? h("p", { class: "note" }, `Nothing changes from ${time(active)} until the end at ${time(network.end_ps)}.`) : null;
    return [
      h(
        "div",
        { class: "watch" },
        h(
          "section",
          { "aria-label": "Network" },
          h("div", { class: "bar player" }, this.play, this.slider, this.clock, field("Links by", select(kModes, this.mode, (mode) => this.setMode(mode)))),
          this.topology.svg,
          this.key(),
          this.now,
          rest,
          this.deadlocks(),
        ),
        h("section", { "aria-label": "Moments" }, h("h2", {}, "Moments"), this.momentList),
      ),
      this.panel,
      this.ports(),
    ];
  }

  begin() {
    this.draw();
    get("moments", { result: this.result, run: this.run }, this.signal)
      .then((moments) => put(this.momentList, this.moments(moments)))
      .catch((error) => error.name === "AbortError" || put(this.momentList, h("p", { class: "bad" }, error.message)));
    return this.port ? this.pick(this.port, false) : this.hint();
  }

  hint() {
    put(this.panel, h("p", { class: "note" }, "Choose a moment, a line of the picture or a port of the table to see its queue, rate and pauses over time."));
  }

  key() {
    const steps = [0, 1, 2, 3, 4, 5].map((i) => h("i", { class: `step s${i}` }));
    this.scale = h("span");
    this.legend = h("p", { class: "note legend" }, this.scale, " ", steps, " · ", h("b", { class: "pausemark" }, "‖"), " paused · ", h("b", { class: "dropmark" }, "●"), " drops · squares: switches, by their longest queue");
    return this.legend;
  }

  busiest() {
    const { frames } = this.network;
    const sums = new Float64Array(this.frames.bins);
    frames.bin.forEach((bin, i) => (sums[bin] += frames.queue[i] + frames.paused[i] * 10));
    return sums.reduce((best, value, i) => (value > sums[best] ? i : best), 0);
  }

  setMode(mode) {
    this.mode = mode;
    this.draw();
    this.remember();
  }

  toggle() {
    if (this.timer) return this.pause();
    if (this.bin >= this.frames.bins - 1) this.bin = 0;
    this.play.textContent = "Pause";
    this.timer = setInterval(() => (this.bin >= this.frames.bins - 1 ? this.pause() : this.seek(this.bin + 1, false)), kFrame);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
    this.remember();
  }

  seek(bin, remember = true) {
    this.bin = Math.max(0, Math.min(this.frames.bins - 1, bin));
    this.draw();
    if (remember && !this.timer) this.remember();
  }

  seekTime(ps) {
    this.seek(Math.floor(ps / this.network.bin_ps));
  }

  remember() {
    note("watch", { result: this.result, run: this.run, t: this.bin * this.network.bin_ps, port: this.port, mode: this.mode === "load" ? null : this.mode });
  }

  draw() {
    const frame = this.frames.at(this.bin);
    this.topology.draw(frame, this.mode);
    const at = this.bin * this.network.bin_ps;
    this.slider.value = this.bin;
    this.slider.setAttribute("aria-valuetext", time(at));
    put(this.clock, `${time(at)} of ${time(this.network.end_ps)}`);
    this.legend.dataset.mode = this.mode;
    put(this.scale, `Links: ${kModes.find(([m]) => m === this.mode)[1]}, none to ${this.mode === "queue" ? bytes(this.topology.longest) : "100 %"}`);
    const paused = frame.paused.reduce((n, p) => n + (p > 0), 0);
    const drops = frame.drops.reduce((a, b) => a + b, 0);
    const queue = frame.queue.reduce((a, b) => Math.max(a, b), 0);
    put(this.now, `In this ${time(this.network.bin_ps)}: longest queue ${bytes(queue)}, ${count(paused)} ports paused, ${count(drops)} frames dropped, ${count(frame.marks.reduce((a, b) => a + b, 0))} marked.`);
    this.chart?.mark(at);
  }

  moments(moments) {
    if (!moments.length) return h("p", { class: "note" }, "This result has no events of this run.");
    return h(
      "dl",
      { class: "moments" },
      moments.map((m) => [
        h("dt", {}, button(m.what, () => this.moment(m))),
        h("dd", {}, `${time(m.time_ps, 6)} at ${m.port ?? "?"}`, m.flow !== null ? [" · ", h("a", { href: link("flow", { result: this.result, run: this.run, flow: m.flow }) }, `flow ${m.flow}`)] : null, h("br"), momentText(m)),
      ]),
    );
  }

  moment(m) {
    this.pause();
    this.seekTime(m.time_ps);
    if (m.port) this.pick(m.port, true, m.time_ps, m.what.includes("pause") || m.what === "deadlock");
  }

  deadlocks() {
    return this.network.deadlocks.map((d) =>
      h(
        "p",
        { class: "bad" },
        `Deadlock of class ${d.tc} from ${time(d.since_ps, 6)} to ${time(d.until_ps, 6)}: ${[...d.ports, d.ports[0]].join(" → ")} `,
        button("Draw its circle", () => {
          this.seekTime(d.since_ps);
          this.topology.show(d.ports, "circle");
        }),
      ),
    );
  }

  portRows() {
    const { bytes: sent, queue, paused, drops, marks } = this.frames.totals();
    const capacity = (l) => (l.rate_bps * this.network.bin_ps * this.frames.bins) / 8e12;
    return this.network.links.map((l, i) => ({ port: l.port, way: `${l.from} → ${l.to}`, load: sent[i] / capacity(l), queue: queue[i], paused_ps: (paused[i] / 1000) * this.network.bin_ps, drops: drops[i], marks: marks[i] }));
  }

  portsCaption() {
    return "Ports, over the whole run";
  }

  ports() {
    let rows = this.portRows();
    let find = "";
    const columns = [
      { key: "port", title: "port", left: true },
      { key: "way", title: "direction", left: true },
      { key: "load", title: "load", show: (r) => `${(100 * r.load).toFixed(1)} %`, help: "wire bytes that it sent / what its link could carry in the time in which something happened" },
      { key: "queue", title: "longest queue", show: (r) => bytes(r.queue) },
      { key: "paused_ps", title: "paused", show: (r) => time(r.paused_ps), help: "time in which the neighbour did not let it send" },
      { key: "drops", title: "drops", show: (r) => count(r.drops) },
      { key: "marks", title: "marks", show: (r) => count(r.marks) },
    ];
    const sort = { key: rows.some((r) => r.paused_ps) ? "paused_ps" : "queue", descending: true };
    const shown = () => rows.filter((r) => `${r.port} ${r.way}`.includes(find)).sort((a, b) => b[sort.key] - a[sort.key]).slice(0, kMostPorts);
    this.list = table({ caption: this.portsCaption(), columns, rows: shown(), sort, picked: this.port, onpick: (r) => this.pick(r.port) });
    this.renew = () => ((rows = this.portRows()), this.list.renew(shown()));
    const more = rows.length > kMostPorts ? h("p", { class: "note" }, `The ${kMostPorts} most affected of ${count(rows.length)} ports that match.`) : null;
    const search = h("input", { type: "search", value: "", placeholder: "s1, h3 …", oninput: (e) => ((find = e.target.value.trim()), this.list.set(shown())) });
    return h("section", { "aria-label": "Ports" }, h("div", { class: "bar" }, h("h2", {}, "Ports"), field("Find", search)), more, this.list.element);
  }

  pickNode(node) {
    const ports = this.network.links.filter((l) => l.from === node);
    const now = this.frames.at(this.bin);
    const score = (l) => now.queue[this.topology.byPort.get(l.port)] + now.paused[this.topology.byPort.get(l.port)];
    if (ports.length) this.pick([...ports].sort((a, b) => score(b) - score(a))[0].port);
  }

  async pick(port, remember = true, at = null, chain = false) {
    this.port = port;
    this.topology.show([port], "chosen");
    this.list?.pick(port);
    if (remember) this.remember();
    try {
      const panel = await portPanel(this, port);
      if (this.port !== port) return;
      this.chart = panel;
      put(this.panel, panel.elements);
      panel.mark(this.bin * this.network.bin_ps);
      if (chain) await this.follow(port, at);
    } catch (error) {
      if (error.name !== "AbortError") tell(error.message, true);
    }
  }

  /** From a pause to the port that caused it. */
  async follow(port, at = this.bin * this.network.bin_ps) {
    const found = await get("chain", { result: this.result, run: this.run, port, time: Math.round(at) }, this.signal);
    if (!found.steps.length) return tell(found.notes.join("; "));
    this.topology.show(found.steps.map((step) => step.port), found.circle === null ? "chain" : "circle");
    return this.chart.chain(found);
  }

  rateText(port) {
    const l = this.network.links[this.topology.byPort.get(port)];
    return l ? `${l.from} → ${l.to}, ${rate(l.rate_bps)}` : "";
  }
}
