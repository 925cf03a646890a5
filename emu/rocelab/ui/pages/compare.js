// Labels, seeds and results side by side: one table with intervals, and charts on linked axes.
import { link, note } from "./address.js";
import { get } from "./api.js";
import { chart } from "./chart.js";
import { colours } from "./colours.js";
import { button, count, field, h, plural, put, tell, timeUnit } from "./dom.js";
import { cell, download } from "./export.js";
import { numbers } from "./gallery.js";
import { table } from "./table.js";

export async function comparePage(page, query, signal) {
  const results = await get("results", {}, signal);
  if (!results.length) return put(page, h("h1", {}, "Compare"), h("p", {}, "There are no results yet: run a scenario of the ", h("a", { href: "#gallery" }, "gallery"), "."));
  const first = results.find((r) => r.name === query.get("result")) ?? results[0];
  const given = query.getAll("set");
  const sets = given.length ? given : first.labels.slice(0, 8).map((label) => `${first.name}|${label}|`);
  const state = { page, results, sets, signal, hidden: new Set(query.getAll("hide")), added: new Set(query.getAll("show")), sort: query.get("sort") ?? "", find: query.get("find") ?? "", off: new Set(query.getAll("off")) };
  state.chooser = h("section", { class: "panel", "aria-label": "What is compared" });
  state.body = h("div");
  put(page, h("div", { class: "bar" }, h("h1", {}, "Compare"), button("Copy a link to this view", copyLink)), state.chooser, state.body);
  await load(state);
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    tell("the link is copied");
  } catch {
    tell("the browser does not let the page copy: the address is the link");
  }
}

async function load(state) {
  remember(state);
  drawChooser(state);
  if (!state.sets.length) return put(state.body, h("p", { class: "note" }, "Choose something to compare."));
  state.data = await get("compare", { set: state.sets, points: 500 }, state.signal);
  state.keys = state.data.sets.map((s, i) => state.sets[i]);
  draw(state);
}

function remember(state) {
  note("compare", { set: state.sets, hide: [...state.hidden], show: [...state.added], sort: state.sort, find: state.find, off: [...state.off] });
}

function names(sets) {
  const several = new Set(sets.map((s) => s.result)).size > 1;
  return sets.map((s) => (several ? `${s.result}: ${s.label}` : s.label) + (s.partial ? ` (seeds ${s.seeds.join(", ")})` : ""));
}

function drawChooser(state) {
  const chosen = new Set(state.sets);
  const change = (key, on) => {
    state.sets = on ? [...state.sets, key] : state.sets.filter((k) => k !== key);
    load(state).catch((error) => tell(error.message, true));
  };
  const byResult = new Map();
  for (const key of state.sets) byResult.set(key.split("|")[0], [...(byResult.get(key.split("|")[0]) ?? []), key]);
  const open = [...byResult.keys()];
  const others = state.results.filter((r) => !byResult.has(r.name));
  put(
    state.chooser,
    open.map((name) => {
      const result = state.results.find((r) => r.name === name);
      if (!result) return h("p", { class: "bad" }, `There is no result ${name}. `, button("Leave it out", () => ((state.sets = state.sets.filter((k) => !k.startsWith(`${name}|`))), load(state))));
      const seeds = byResult.get(name)[0].split("|")[2];
      return h(
        "fieldset",
        {},
        h("legend", {}, `${name} `, h("small", {}, `${result.engine}, ${new Date(result.written_at * 1000).toLocaleString()}`)),
        result.labels.map((label) => {
          const key = `${name}|${label}|${seeds}`;
          return h("label", { class: "check" }, h("input", { type: "checkbox", checked: chosen.has(key), onchange: (e) => change(key, e.target.checked) }), label);
        }),
        seedsField(state, name, result, seeds),
      );
    }),
    others.length
      ? field("Add a result", h("select", { onchange: (e) => addResult(state, e.target.value) }, h("option", { value: "" }, "choose …"), others.map((r) => h("option", { value: r.name }, `${r.name} (${plural(r.labels.length, "label")})`))))
      : null,
  );
}

function seedsField(state, name, result, seeds) {
  if (result.seeds.length < 2) return null;
  const input = h("input", {
    class: "short",
    value: seeds || result.seeds.join(","),
    onchange: (e) => {
      try {
        const chosen = numbers(e.target.value, result.seeds).join(",");
        state.sets = state.sets.map((key) => (key.startsWith(`${name}|`) ? `${key.split("|").slice(0, 2).join("|")}|${chosen}` : key));
        load(state).catch((error) => tell(error.message, true));
      } catch (error) {
        tell(error.message, true);
      }
    },
  });
  return field("Seeds", input);
}

function addResult(state, name) {
  const result = state.results.find((r) => r.name === name);
  if (!result) return;
  state.sets = [...state.sets, ...result.labels.slice(0, 6).map((label) => `${name}|${label}|`)];
  load(state).catch((error) => tell(error.message, true));
}

function draw(state) {
  const { sets, metrics } = state.data;
  for (const s of sets) s.partial = state.results.find((r) => r.name === s.result)?.seeds.length !== s.seeds.length;
  const title = names(sets);
  const palette = colours(sets.map((s) => s.label));
  const shown = sets.map((s, i) => ({ ...s, name: title[i], colour: palette[i], key: state.keys[i] }));
  const visible = () => shown.filter((s) => !state.off.has(s.key));
  const charts = h("div", { class: "charts" });
  const redraw = () => put(charts, chartsOf(visible()).map((spec) => chart(spec, state.signal).figure));
  put(
    state.body,
    shown.flatMap((s) => s.errors.map((text) => h("p", { class: "bad" }, `${s.name}: ${text}`))),
    metricTable(state, metrics, shown),
    h("div", { class: "bar" }, h("h2", {}, "Charts"), shown.map((s) => toggle(state, s, redraw))),
    charts,
  );
  redraw();
}

function toggle(state, s, redraw) {
  const swatch = h("i", { class: "swatch" });
  swatch.style.background = s.colour;
  const change = (on) => {
    on ? state.off.delete(s.key) : state.off.add(s.key);
    remember(state);
    redraw();
  };
  return h("label", { class: "check" }, h("input", { type: "checkbox", checked: !state.off.has(s.key), onchange: (e) => change(e.target.checked) }), swatch, s.name);
}

/** A row for each set, a column for each metric: mean ± half width of the 95 % interval. */
function metricTable(state, metrics, sets) {
  const columns = [
    { key: "name", title: "label", left: true, show: (s) => h("a", { href: link("watch", { result: s.result, run: s.run }) }, s.name) },
    { key: "complete", title: "seeds", show: (s) => (s.complete === s.seeds.length ? String(s.complete) : `${s.complete} of ${s.seeds.length}`) },
    ...metrics.map((m) => ({ key: m.name, title: m.unit ? `${m.title} (${m.unit})` : m.title, help: m.text, show: (s) => interval(s.metrics[m.name], m, sets), unusual: !m.usual })),
  ];
  const wanted = () => columns.filter((c) => c.key === "name" || (shows(state, c) && c.title.toLowerCase().includes(state.find.toLowerCase())));
  const place = h("div");
  const value = (s, key) => (key in s ? s[key] : s.metrics[key]?.mean);
  const onorder = ({ key, descending }) => {
    state.sort = `${key} ${descending ? "down" : "up"}`;
    remember(state);
  };
  const build = () => {
    const [key, way] = state.sort.split(" ");
    put(place, table({ caption: "Means over seeds, ± half width of their 95 % confidence interval", columns: wanted(), rows: sets, value, sort: key ? { key, descending: way === "down" } : undefined, onorder }).element);
  };
  const hide = h(
    "details",
    { class: "hide" },
    h("summary", {}, "Columns"),
    columns.slice(1).map((c) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: shows(state, c), onchange: (e) => (turn(state, c, e.target.checked), remember(state), build()) }), c.title),
    ),
  );
  const filter = h("input", { type: "search", value: state.find, placeholder: "FCT, pause …", oninput: (e) => ((state.find = e.target.value), remember(state), build()) });
  build();
  return h("section", { "aria-label": "Metrics" }, h("div", { class: "bar" }, h("h2", {}, "Metrics"), field("Only columns with", filter), button("CSV", () => download("compare.csv", "text/csv", tableCsv(metrics, sets)), { title: "Download this table as CSV" })), hide, place);
}

function shows(state, column) {
  return column.unusual ? state.added.has(column.key) : !state.hidden.has(column.key);
}

function turn(state, column, on) {
  const [set, present] = column.unusual ? [state.added, on] : [state.hidden, !on];
  present ? set.add(column.key) : set.delete(column.key);
}

/** Mean ± half width of its interval, with digits that suit all of `sets`. */
export function interval(estimate, m, sets) {
  if (estimate?.mean === null || estimate?.mean === undefined) return "–";
  const most = Math.max(...sets.map((s) => Math.abs(s.metrics[m.name]?.mean ?? 0))) * m.scale;
  const digits = most === 0 || most >= 1000 || (m.counted && most >= 50) ? 0 : m.counted ? 1 : Math.max(0, 3 - Math.floor(Math.log10(most)));
  const number = (v) => (digits === 0 ? count(Math.round(v)) : v.toFixed(Math.min(digits, 6)));
  const spread = estimate.ci95 === null ? null : h("small", {}, ` ±${estimate.ci95 ? number(estimate.ci95 * m.scale) : "0"}`);
  return h("span", {}, number(estimate.mean * m.scale), spread);
}

function tableCsv(metrics, sets) {
  const head = ["result", "label", "seeds", ...metrics.flatMap((m) => [m.name, `${m.name} ci95`])];
  const rows = sets.map((s) => [s.result, s.label, s.seeds.join(" "), ...metrics.flatMap((m) => [s.metrics[m.name]?.mean ?? "", s.metrics[m.name]?.ci95 ?? ""])]);
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function chartsOf(sets) {
  const longest = Math.max(0, ...sets.map((s) => s.cdf.fct_s.at(-1) ?? 0)) * 1e12;
  const shortest = Math.min(Infinity, ...sets.map((s) => s.cdf.fct_s[0] ?? Infinity)) * 1e12;
  const unit = timeUnit(longest);
  const of = (f, kind, dash) => sets.map((s) => ({ label: s.name, colour: s.colour, kind, dash, ...f(s) }));
  const end = Math.max(0, ...sets.map((s) => s.over_time.time_ps.at(-1) ?? 0));
  const clock = timeUnit(end);
  const over = (name, scale) => of((s) => ({ x: s.over_time.time_ps.map((t) => t / clock[1]), y: s.over_time[name].map((v) => v / scale) }), "step");
  const timed = { x: `time (${clock[0]}), of the first seed`, link: "compare-time", range: [0, end / clock[1]] };
  const sized = sets.some((s) => s.sizes.size.length > 1);
  const slow = (name, dash) => sets.filter((s) => s.sizes.size.length).map((s) => ({ label: `${s.name}, ${name === "p99" ? "99th %" : "median"}`, colour: s.colour, dash, x: s.sizes.size.map((v) => v / 1e3), y: s.sizes[name] }));
  return [
    { title: "Flow completion time", x: `FCT (${unit[0]})`, y: "share of flows", log: longest > 30 * shortest, lines: of((s) => ({ x: s.cdf.fct_s.map((v) => (v * 1e12) / unit[1]), y: s.cdf.share }), "step") },
    sized ? { title: "Slowdown by flow size", x: "flow size up to (KB)", y: "slowdown", log: true, lines: [...slow("median"), ...slow("p99", [4, 3])] } : null,
    end ? { ...timed, title: "Rate into all hosts", y: "Gb/s", lines: over("bps", 1e9) } : null,
    end ? { ...timed, title: "Longest queue of any port", y: "KB", lines: over("queue", 1e3) } : null,
    end && sets.some((s) => s.over_time.paused.some((v) => v)) ? { ...timed, title: "Ports paused", y: "ports", lines: over("paused", 1) } : null,
    end && sets.some((s) => s.over_time.drops.some((v) => v)) ? { ...timed, title: "Frames dropped", y: "frames", lines: over("drops", 1) } : null,
  ].filter(Boolean);
}
