// Sweeps: which there are and how far each is; one as a table and a chart of a metric over an axis; one label with all of its seeds.
import { go, link, note } from "./address.js";
import { get, post } from "./api.js";
import { chart } from "./chart.js";
import { colours, css, onScheme } from "./colours.js";
import { interval } from "./compare.js";
import { button, count, field, h, plural, put, select, tell, timeUnit } from "./dom.js";
import { table } from "./table.js";

const kAsk = 2000; // ms between two looks at a sweep that runs

export function sweepsPage(page, query, signal) {
  const name = query.get("name");
  if (name && query.get("label")) return labelPage(page, name, query.get("label"), signal);
  return name ? sweepPage(page, name, query, signal) : listPage(page, signal);
}

/** Draws anew while something runs. */
async function repeat(load, draw, signal) {
  for (;;) {
    if (!(await draw(await load())) || signal.aborted) return;
    await new Promise((done) => setTimeout(done, kAsk));
    while (document.hidden && !signal.aborted) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true, signal }));
    if (signal.aborted) return;
  }
}

function listPage(page, signal) {
  const list = h("div", { class: "runs" });
  const none = h("p", { class: "note" }, "There are no sweeps in this folder of results yet. ", h("code", {}, "./rocelab sweep SCENARIO --seeds 1-5"), " makes one; it is seen here while it runs.");
  put(page, h("h1", {}, "Sweeps"), list);
  return repeat(
    () => get("sweeps", {}, signal),
    (sweeps) => {
      put(list, sweeps.length ? sweeps.map(entry) : none);
      return sweeps.some((s) => s.running);
    },
    signal,
  );
}

function entry(sweep) {
  const state = sweep.running ? "running" : sweep.finished === sweep.points ? "done" : sweep.failures ? "failed" : "";
  return h(
    "article",
    { class: `run-entry ${state}` },
    h("h2", {}, h("a", { href: link("sweeps", { name: sweep.name }) }, sweep.name), " ", h("span", { class: "tag" }, stateText(sweep))),
    h("p", {}, sweep.title || sweep.scenario),
    progress(sweep),
  );
}

function stateText(sweep) {
  return sweep.running ? "running" : sweep.finished === sweep.points ? "complete" : "not complete";
}

function progress(sweep) {
  const failed = sweep.failures ? `, ${count(sweep.failures)} failed` : "";
  return h("p", { class: "note" }, h("progress", { max: Math.max(1, sweep.points), value: sweep.finished, "aria-label": `Progress of ${sweep.name}` }), ` ${count(sweep.finished)} of ${plural(sweep.points, "point")}${failed} · ${new Date(sweep.began_at * 1000 || Date.now()).toLocaleString()}`);
}

async function sweepPage(page, name, query, signal) {
  const view = { name, metric: query.get("metric"), axis: query.get("axis"), chart: null };
  const [head, controls, body] = [h("div"), h("div", { class: "bar" }), h("div")];
  put(page, head, controls, body);
  const remember = () => note("sweeps", { name, metric: view.metric, axis: view.axis });
  let sweep = null;
  const show = () => {
    const axis = sweep.axes.find((a) => a.name === view.axis) ?? null;
    const metric = sweep.metrics.find((m) => m.name === view.metric) ?? null;
    if (metric) put(body, failures(sweep), plotted(sweep, metric, axis, view, signal), valueTable(sweep, metric, axis));
    else put(body, failures(sweep), h("p", { class: "note" }, "No point is finished yet."));
  };
  onScheme(() => sweep && show(), signal);
  let drawn = "";
  return repeat(
    () => get("sweep", { name }, signal),
    (found) => {
      sweep = found;
      const usual = sweep.metrics.filter((m) => m.usual);
      if (!sweep.metrics.some((m) => m.name === view.metric)) view.metric = (sweep.metrics.find((m) => m.name === "avg_slowdown") ?? usual[0] ?? sweep.metrics[0])?.name ?? null;
      if (!sweep.axes.some((a) => a.name === view.axis)) view.axis = sweep.axes.find((a) => a.values.length > 1)?.name ?? null;
      put(head, h("h1", {}, sweep.title || sweep.name), h("p", { class: "note" }, h("a", { href: "#sweeps" }, "All sweeps"), ` · ${sweep.name} · `, h("code", {}, sweep.file), sweep.overrides.length ? ` · ${sweep.overrides.join(", ")}` : ""), progress(sweep));
      const choices = JSON.stringify([sweep.metrics.map((m) => m.name), sweep.axes.map((a) => a.name)]);
      if (choices !== drawn) {
        drawn = choices;
        const metrics = [...usual, ...sweep.metrics.filter((m) => !m.usual)].map((m) => [m.name, heading(m)]);
        put(
          controls,
          metrics.length ? field("Metric", select(metrics, view.metric, (value) => ((view.metric = value), remember(), show()))) : null,
          sweep.axes.length ? field("Over", select(sweep.axes.map((a) => [a.name, a.name]), view.axis, (value) => ((view.axis = value), remember(), show()))) : null,
        );
      }
      show();
      return sweep.running;
    },
    signal,
  );
}

function heading(m) {
  return m.unit ? `${m.title} (${m.unit})` : m.title;
}

function failures(sweep) {
  return sweep.failed.map((f) => h("p", { class: "bad" }, `${f.label}, seed ${f.seed}: ${f.error}`));
}

/** Labels that differ in this axis alone are one line, one row: [name, label by value of the axis]. */
function series(sweep, axis) {
  const found = new Map();
  for (const label of sweep.labels) {
    const others = Object.entries(label.axes).filter(([name]) => name !== axis?.name);
    const name = [label.series, ...others.map(([key, value]) => `${key}=${value}`)].join(", ");
    if (!found.has(name)) found.set(name, new Map());
    found.get(name).set(axis ? label.axes[axis.name] : "", label);
  }
  return [...found];
}

function plotted(sweep, metric, axis, view, signal) {
  if (!axis || axis.values.length < 2) return null;
  const lines = series(sweep, axis);
  const palette = colours(lines.map(([name]) => name));
  const at = axis.numbers ?? axis.values.map((_, i) => i);
  const order = axis.values.map((value, i) => [at[i], value]).sort((a, b) => a[0] - b[0]);
  const estimate = (label) => label?.metrics[metric.name] ?? { mean: null, ci95: null };
  const spec = {
    title: `${metric.title} over ${axis.name}`,
    x: axis.unit ? `${axis.name} (${axis.unit})` : axis.name,
    y: metric.unit || metric.title,
    names: axis.numbers ? undefined : axis.values,
    lines: lines.map(([name, by], i) => ({
      label: name,
      colour: palette[i],
      x: order.map(([x]) => x),
      y: order.map(([, value]) => scaled(estimate(by.get(value)).mean, metric)),
      spread: order.map(([, value]) => scaled(estimate(by.get(value)).ci95, metric)),
    })),
  };
  if (view.chart?.isConnected && view.plot) view.plot.set(spec);
  else view.plot = chart(spec, signal);
  view.chart = view.plot.figure;
  return h("div", { class: "charts wide" }, view.plot.figure);
}

function scaled(value, metric) {
  return value === null || value === undefined ? null : value * metric.scale;
}

function number(value, metric) {
  const v = value * metric.scale;
  return metric.counted && Math.abs(v) >= 50 ? count(Math.round(v)) : String(Number(v.toPrecision(4)));
}

/** Each cell leads to its label, with all seeds. */
function valueTable(sweep, metric, axis) {
  const values = axis ? axis.values : [""];
  const rows = series(sweep, axis).map(([name, by]) => ({ name, by }));
  const cellOf = (label) => {
    if (!label) return "–";
    const estimate = label.metrics[metric.name];
    const missing = label.seeds.length < label.planned ? h("small", {}, ` ${label.seeds.length} of ${plural(label.planned, "seed")}`) : null;
    return [h("a", { href: link("sweeps", { name: sweep.name, label: label.label }) }, interval(estimate, metric, sweep.labels)), missing];
  };
  const columns = [
    { key: "name", title: "label", left: true },
    ...values.map((value) => ({ key: value || "all", title: axis ? `${axis.name}=${value}` : heading(metric), show: (row) => cellOf(row.by.get(value)) })),
  ];
  const value = (row, key) => (key === "name" ? row.name : row.by.get(axis ? key : "")?.metrics[metric.name].mean);
  return h("section", { "aria-label": "Values" }, table({ caption: `${heading(metric)}: mean over seeds, ± half width of its 95 % confidence interval`, columns, rows, value }).element, h("p", { class: "note" }, metric.text));
}

async function labelPage(page, name, label, signal) {
  const [cell, results] = await Promise.all([get("sweep-label", { name, label }, signal), get("results", {}, signal)]);
  const shown = cell.metrics.filter((m) => m.usual);
  const runs = cell.seeds.map((s) => ({ ...s, result: resultOf(name, label, s) }));
  const columns = [
    { key: "seed", title: "seed" },
    ...shown.map((m) => ({ key: m.name, title: heading(m), help: m.text, show: (s) => (s.metrics[m.name] === null || s.metrics[m.name] === undefined ? "–" : number(s.metrics[m.name], m)) })),
    { key: "key", title: "its run", fixed: true, show: (s) => runOf(s, cell, results) },
  ];
  put(
    page,
    h("h1", {}, `${label}`),
    h("p", { class: "note" }, h("a", { href: link("sweeps", { name }) }, name), ` · ${cell.title || cell.scenario} · `, h("code", {}, cell.file)),
    table({ caption: "Seeds", columns, rows: runs, value: (s, key) => s[key] ?? s.metrics[key] }).element,
    h("p", { class: "note" }, "A point keeps its metrics and the times of its flows. Its run gives the same to the picosecond, and then has the network over time, too."),
    h("div", { class: "charts wide" }, distribution(cell, signal)),
    parameters(cell),
  );
}

/** The name under which a point's run is kept. */
function resultOf(name, label, { seed, key }) {
  const text = `${name.replaceAll("/", "-")}.${label}.seed${seed}`;
  return text.length <= 100 ? text : `point-${key}`;
}

function runOf(point, cell, results) {
  if (results.some((r) => r.name === point.result)) return h("a", { href: link("watch", { result: point.result }) }, "Watch");
  if (!cell.path) return h("small", {}, "its scenario is in another folder");
  const overrides = cell.overrides.filter((text) => !/^\s*seeds\s*=/.test(text));
  const order = { scenario: cell.path, engine: "des", result: point.result, label: cell.label, seeds: [point.seed], overrides };
  const run = async () => {
    try {
      const { number: queued } = await post("queue", order);
      document.dispatchEvent(new Event("queue-changed"));
      go("watch", { now: queued });
    } catch (error) {
      tell(error.message, true);
    }
  };
  return button("Run it", run, { title: "Run this point in virtual time, to watch it" });
}

function distribution(cell, signal) {
  const seeds = cell.seeds.filter((s) => s.cdf.fct_s.length);
  if (!seeds.length) return h("p", { class: "note" }, "No flow of a finished point has a completion time.");
  const unit = timeUnit(Math.max(...seeds.map((s) => s.cdf.fct_s.at(-1))) * 1e12);
  const shortest = Math.min(...seeds.map((s) => s.cdf.fct_s[0]));
  const longest = Math.max(...seeds.map((s) => s.cdf.fct_s.at(-1)));
  const shades = seeds.map((_, i) => css(`--c-${(i % 8) + 1}`));
  const lines = seeds.map((s, i) => ({ label: `seed ${s.seed}`, colour: shades[i], x: s.cdf.fct_s.map((v) => (v * 1e12) / unit[1]), y: s.cdf.share, kind: "step" }));
  return chart({ title: "Flow completion time", x: `FCT (${unit[0]})`, y: "share of flows", log: longest > 30 * shortest, lines }, signal).figure;
}

function parameters(cell) {
  const rows = Object.entries(cell.parameters);
  if (!rows.length) return null;
  return h("details", {}, h("summary", {}, "Parameters"), h("dl", { class: "parameters" }, rows.map(([key, value]) => [h("dt", {}, h("code", {}, key)), h("dd", {}, h("code", {}, value))])));
}
