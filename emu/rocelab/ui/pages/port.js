// What one port did: queue, link rate, pauses, drops, marks and fair rate over time, on linked axes.
import { get } from "./api.js";
import { chart } from "./chart.js";
import { css } from "./colours.js";
import { button, bytes, h, plural, put, time, timeUnit } from "./dom.js";

/** `watch`: the page (result, run, network, signal). Resolves to {elements, mark(ps), chain(found)}. */
export async function portPanel(watch, port) {
  const end = Math.min(watch.network.end_ps, watch.network.bin_ps * watch.frames.bins);
  const state = { begin: 0, end };
  const unit = timeUnit(end);
  const onpick = (x) => watch.seekTime(x * unit[1]);
  const link = `port-${port}`;
  const load = () => get("port", { result: watch.result, run: watch.run, port, begin: Math.round(state.begin), end: Math.round(state.end), points: 800 }, watch.signal);
  let data = await load();
  const whole = chartsOf(data, unit, {}).map((spec) => spec.title);
  // While one looks closer, the same charts stay, also those that are empty there.
  const specs = (d) => chartsOf(d, unit, { link, onpick, range: [state.begin / unit[1], state.end / unit[1]] }, whole);
  const charts = specs(data).map((spec) => chart(spec, watch.signal));
  const causes = h("div", { class: "causes", "aria-live": "polite" });

  async function zoom(factor) {
    const middle = watch.bin * watch.network.bin_ps;
    const span = factor ? (state.end - state.begin) / factor : end;
    state.begin = factor ? Math.max(0, Math.min(end - span, middle - span / 2)) : 0;
    state.end = state.begin + span;
    data = await load();
    specs(data).forEach((spec, i) => charts[i].set(spec));
    charts.forEach((c) => c.mark(middle / unit[1]));
  }
  const paused = data.pauses.begin_ps.length > 0;
  const summary = `${watch.rateText(port)}${data.xoff ? ` · XOFF ${bytes(data.xoff)}, XON ${bytes(data.xon)}` : ""}${paused ? ` · paused ${plural(data.pauses.pauses.reduce((a, b) => a + b, 0), "time")} (shaded)` : " · never paused"}`;
  return {
    elements: [
      h("div", { class: "bar" }, h("h2", {}, `Port ${port}`), h("p", { class: "note" }, summary)),
      h(
        "p",
        { class: "buttons" },
        button("Zoom in at this time", () => zoom(5)),
        button("Whole run", () => zoom(0)),
        paused ? button("Who caused the pause?", () => watch.follow(port)) : null,
      ),
      causes,
      h("div", { class: "charts" }, charts.map((c) => c.figure)),
    ],
    mark: (ps) => charts.forEach((c) => c.mark(ps / unit[1])),
    chain: (found) => put(causes, chainOf(found, watch)),
  };
}

function chartsOf(data, unit, common, kept = []) {
  const x = `time (${unit[0]})`;
  const at = (times) => times.map((t) => t / unit[1]);
  // A queue holds its last length to the end.
  const held = (times, values) => (times.length ? { x: [...at(times), data.end_ps / unit[1]], y: [...values, values.at(-1)] } : { x: [], y: [] });
  const shades = ["--c-1", "--c-2", "--c-3", "--c-4", "--c-5", "--c-6", "--c-7", "--c-8"].map(css);
  const { begin_ps, end_ps, paused_ps } = data.pauses;
  const spans = begin_ps.map((b, i) => ({ from: b / unit[1], to: end_ps[i] / unit[1], strength: Math.min(1, paused_ps[i] / Math.max(1, end_ps[i] - b)) }));
  const classes = Object.entries(data.queues);
  const queues = classes.flatMap(([tc, q], i) => [
    { label: `queue, class ${tc}`, colour: shades[i], ...held(q.time_ps, q.most.map((v) => v / 1e3)), kind: "step" },
    ...(q.ingress.some((v) => v) ? [{ label: `from this port, class ${tc}`, colour: shades[(i + 4) % 8], ...held(q.time_ps, q.ingress.map((v) => v / 1e3)), kind: "step", dash: [4, 3] }] : []),
  ]);
  const base = { x, spans, ...common };
  const found = [
    { ...base, title: `Queue at ${data.port}`, y: "KB", lines: queues, limits: data.xoff && queues.some((q) => q.dash) ? [{ y: data.xoff / 1e3, label: "XOFF" }] : [] },
    { ...base, title: `Rate of ${data.port}`, y: "Gb/s", lines: rates(data, at, shades), limits: [{ y: data.rate_bps / 1e9, label: "link" }] },
    { ...base, title: `Drops and marks at ${data.port}`, y: "frames", lines: counts(data, at) },
  ];
  return found.filter((spec, i) => i === 1 || kept.includes(spec.title) || spec.lines.some((line) => line.x.length));
}

function rates(data, at, shades) {
  const lines = [{ label: "sent", colour: shades[0], x: at(data.rate.time_ps), y: data.rate.bps.map((v) => v / 1e9), kind: "step" }];
  if (data.fair_rate.bps.length) lines.push({ label: "fair rate", colour: shades[1], x: at(data.fair_rate.time_ps), y: data.fair_rate.bps.map((v) => v / 1e9), kind: "step", dash: [5, 3] });
  return lines;
}

function counts({ counts: c }, at) {
  return [
    { label: "dropped", colour: css("--bad"), x: at(c.drop.time_ps), y: c.drop.count, kind: "points", size: 5 },
    { label: "marked", colour: css("--c-2"), x: at(c.mark.time_ps), y: c.mark.count, kind: "points", size: 4 },
  ];
}

/** The steps from a pause to what caused it. */
function chainOf({ steps, circle, queue }, watch) {
  const go = (port, ps) => button(port, () => (watch.seekTime(ps), watch.pick(port)), { class: "pick" });
  const last = steps.at(-1);
  const end =
    circle !== null
      ? h("li", { class: "bad" }, `… and that is again the pause of ${steps[circle].port}: the ports wait for one another in a circle.`)
      : h(
          "li",
          {},
          queue
            ? [queue.capfc ? "CaPFC held it responsible for the queue of " : "No port of that switch was paused: the frames wait for ", go(queue.port, queue.time_ps), queue.capfc ? `, ${bytes(queue.bytes)} then. That port is the cause.` : `, whose queue was the longest there, ${bytes(queue.bytes)}. That port is the cause.`]
            : `No port of that switch was paused, and none had a queue when it was sampled: ${last.by} is where the chain begins.`,
        );
  return [
    h("h3", {}, "Who caused the pause"),
    h(
      "ol",
      {},
      steps.map((s, i) =>
        h("li", {}, go(s.port, s.begin_ps), ` was paused for ${time(s.end_ps - s.begin_ps)} from ${time(s.begin_ps, 6)} on, since `, h("b", {}, s.by), " asked for it (depth ", String(s.depth), ")", steps[i + 1] ? [": what it sends cannot go on by ", h("b", {}, steps[i + 1].port), ", which is paused, too"] : ""),
      ),
      end,
    ),
  ];
}
