// The run that is under way: its network up to the present, until its result takes over.
import { go, link, note } from "./address.js";
import { get } from "./api.js";
import { chart } from "./chart.js";
import { css } from "./colours.js";
import { field, h, put, select, timeUnit } from "./dom.js";
import { progress } from "./runs.js";
import { Watch } from "./watch.js";

const kAsk = 1000; // ms between two looks
const kModes = [["load", "utilisation"], ["pause", "pauses"], ["queue", "queues"]];

export async function nowPage(page, query, signal) {
  const number = Number(query.get("now"));
  const state = h("div", { role: "status" });
  const body = h("div");
  put(page, h("h1", {}, "Watch"), state, body);
  let view = null;
  for (;;) {
    const { entry, network } = await get("now", { number }, signal);
    if (signal.aborted) return;
    if (entry.ended_at !== null) return ended(entry, state, signal);
    put(state, h("p", {}, h("a", { href: "#runs" }, `Run ${number}`), `: ${entry.result}, ${entry.scenario}, ${entry.engine}`), progress(entry));
    if (network.nodes.length && network.end_ps > 0) {
      const same = view && view.network.run === network.run;
      if (same) view.update(network);
      else {
        view?.leave();
        view = new NowView(page, { network, query, number, mode: view?.mode, signal });
        put(body, network.notes.map((text) => h("p", { class: "warn" }, text)), view.elements());
        view.begin();
      }
    }
    await new Promise((done) => setTimeout(done, kAsk));
    while (document.hidden && !signal.aborted) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true, signal }));
    if (signal.aborted) return;
  }
}

/** The result has everything: all moments, causes and packets. */
async function ended(entry, state, signal) {
  const results = await get("results", {}, signal);
  if (entry.state === "done" && results.some((r) => r.name === entry.result)) return go("watch", { result: entry.result });
  return put(state, h("p", { class: "bad" }, `Run ${entry.number} has ended: ${entry.state}. `, h("a", { href: "#runs" }, "Its output is on the page Runs"), results.some((r) => r.name === entry.result) ? [", ", h("a", { href: link("watch", { result: entry.result }) }, "what it saved is here")] : "", "."));
}

class NowView extends Watch {
  constructor(page, { network, query, number, mode, signal }) {
    super(page, { result: null, run: network.run, network, query, signal });
    Object.assign(this, { number, mode: mode ?? this.mode, keepsUp: true, bin: this.frames.bins - 1 });
    this.gone = new AbortController();
    signal.addEventListener("abort", () => this.gone.abort());
  }

  leave() {
    this.gone.abort();
  }

  elements() {
    this.slider = h("input", { type: "range", min: 0, max: this.frames.bins - 1, value: this.bin, "aria-label": "Experiment time", oninput: (e) => this.look(Number(e.target.value)) });
    this.present = h("input", { type: "checkbox", checked: true, onchange: (e) => this.keepUp(e.target.checked) });
    this.clock = h("output", { class: "clock" });
    this.now = h("p", { class: "note", "aria-live": "off" });
    return [
      h(
        "section",
        { "aria-label": "Network" },
        h("div", { class: "bar player" }, h("label", { class: "check" }, this.present, "Follow the present"), this.slider, this.clock, field("Links by", select(kModes, this.mode, (mode) => this.setMode(mode)))),
        h("p", { class: "note" }, `${this.network.label}, seed ${this.network.seed}, up to the present. Moments, causes of pauses and packets come with the result.`),
        this.topology.svg,
        this.key(),
        this.now,
      ),
      this.panel,
      this.ports(),
    ];
  }

  portsCaption() {
    return "Ports, up to the present";
  }

  begin() {
    this.draw();
    return this.port ? this.pick(this.port, false) : put(this.panel, h("p", { class: "note" }, "Choose a line of the picture or a port of the table to see its queue, rate and pauses."));
  }

  update(network) {
    const at = this.bin * this.network.bin_ps;
    this.network = network;
    this.frames.renew(network);
    this.topology.measure(network);
    this.slider.max = this.frames.bins - 1;
    this.bin = this.keepsUp ? this.frames.bins - 1 : Math.min(this.frames.bins - 1, Math.floor(at / network.bin_ps));
    this.draw();
    this.renew();
    if (this.port) this.charts();
  }

  look(bin) {
    this.keepUp(bin === this.frames.bins - 1);
    this.seek(bin);
  }

  keepUp(on) {
    this.keepsUp = this.present.checked = on;
    if (on) this.seek(this.frames.bins - 1);
  }

  remember() {
    note("watch", { now: this.number, port: this.port, mode: this.mode === "load" ? null : this.mode });
  }

  async pick(port, remember = true) {
    this.port = port;
    this.drawn = null;
    this.topology.show([port], "chosen");
    this.list?.pick(port);
    if (remember) this.remember();
    this.charts();
  }

  charts() {
    const specs = chartsOf(this, this.port);
    if (!this.drawn) {
      this.drawn = specs.map((spec) => chart(spec, this.gone.signal));
      put(this.panel, h("div", { class: "bar" }, h("h2", {}, `Port ${this.port}`), h("p", { class: "note" }, this.rateText(this.port))), h("div", { class: "charts" }, this.drawn.map((c) => c.figure)));
    } else specs.forEach((spec, i) => this.drawn[i].set(spec));
  }
}

/** Of what the picture is drawn from: a value for each stretch of time. */
function chartsOf(view, port) {
  const { network, frames } = view;
  const index = view.topology.byPort.get(port);
  const unit = timeUnit(Math.max(1, network.end_ps));
  const x = Array.from({ length: frames.bins }, (_, bin) => (bin * network.bin_ps) / unit[1]);
  const of = (name, scale) => Array.from({ length: frames.bins }, (_, bin) => frames.at(bin)[name][index] * scale);
  const present = network.end_ps / unit[1];
  const paused = of("paused", 1 / 1000);
  const width = network.bin_ps / unit[1];
  const spans = paused.flatMap((share, bin) => (share ? [{ from: x[bin], to: Math.min(present, x[bin] + width), strength: share }] : []));
  const common = { x: `time (${unit[0]})`, spans, range: [0, present], link: "now" };
  const link = network.links[index];
  const whole = (y) => y.map((v, bin) => (bin === frames.bins - 1 ? v * (width / Math.max(1e-9, Math.min(width, present - x[bin]))) : v));
  return [
    { ...common, title: `Longest queue at ${port}`, y: "KB", lines: [{ label: "longest queue of a class", colour: css("--c-1"), x, y: of("queue", 1e-3), kind: "step" }] },
    { ...common, title: `Rate of ${port}`, y: "Gb/s", lines: [{ label: "sent", colour: css("--c-1"), x, y: whole(of("bytes", 8e3 / network.bin_ps)), kind: "step" }], limits: [{ y: (link?.rate_bps ?? 0) / 1e9, label: "link" }] },
  ];
}
