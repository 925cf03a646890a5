// Every scenario: what it shows, its topology, its last result; and the form that runs it.
import { link, note } from "./address.js";
import { get, post } from "./api.js";
import { onScheme } from "./colours.js";
import { button, field, h, plural, put, select, tell } from "./dom.js";
import { resultThumb, topologySketch } from "./sketch.js";

const kAsk = 400; // ms, while scenarios are being read

export async function galleryPage(page, query, signal) {
  const [session, scenarios, results] = await Promise.all([get("session", {}, signal), get("scenarios", {}, signal), get("results", {}, signal)]);
  const cards = h("div", { class: "cards" });
  const found = h("p", { class: "note", role: "status" });
  const state = { session, scenarios, results, find: query.get("find") ?? "", sketches: sketches(signal) };
  const search = h("input", { type: "search", value: state.find, placeholder: "incast, deadlock, rocc …", oninput: (e) => filter(e.target.value) });

  function filter(text) {
    state.find = text;
    note("gallery", { find: text });
    draw();
  }
  function draw() {
    const shown = state.scenarios.filter((entry) => matches(entry, state.find));
    put(found, `${shown.length} of ${plural(state.scenarios.length, "scenario")}`, state.scenarios.some((e) => e.pending) ? " · reading the others" : "");
    put(cards, shown.sort(byLast(state.results)).map((entry) => card(entry, state)));
  }
  put(page, h("div", { class: "bar" }, h("h1", {}, "Gallery"), field("Find", search)), found, cards);
  draw();
  onScheme(draw, signal);
  while (state.scenarios.some((entry) => entry.pending) && !signal.aborted) {
    await new Promise((done) => setTimeout(done, kAsk));
    if (document.hidden || page.querySelector("form, dialog[open]")) continue;
    state.scenarios = await get("scenarios", {}, signal);
    draw();
  }
}

/** Topologies are asked for once, and when they can be seen. */
function sketches(signal) {
  const known = new Map();
  const wanted = new WeakMap();
  const load = (place, entry) => {
    if (!known.has(entry.path)) known.set(entry.path, get("sketch", { path: entry.path }, signal));
    known.get(entry.path).then((drawn) => put(place, pictureOf(drawn, entry))).catch(() => known.delete(entry.path));
  };
  const observer = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      load(target, wanted.get(target));
    }
  }, { rootMargin: "300px" });
  signal.addEventListener("abort", () => observer.disconnect());
  return {
    show(place, entry) {
      if (known.has(entry.path)) return load(place, entry);
      wanted.set(place, entry);
      return observer.observe(place);
    },
  };
}

/** Those that have a result first, the newest ahead; then as they came. */
function byLast(results) {
  const when = (entry) => lastResult(entry, results)?.written_at ?? 0;
  return (a, b) => when(b) - when(a);
}

function matches(entry, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = `${entry.path} ${entry.title ?? ""} ${entry.about} ${(entry.labels ?? []).join(" ")}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

/** The name under which a scenario's result is kept when one says no other. */
export function resultName(path) {
  return path.replace(/\.toml$/, "").replaceAll("/", "-");
}

/** The newest result of a scenario. */
function lastResult(entry, results) {
  const own = resultName(entry.path);
  return results.find((r) => r.name === own) ?? results.find((r) => r.scenario === entry.name && r.title === entry.title && entry.name);
}

function card(entry, state) {
  const last = lastResult(entry, state.results);
  const sketch = h("div", { class: "picture" });
  if (!entry.pending && !entry.error) state.sketches.show(sketch, entry);
  const form = h("div");
  const run = button("Run …", () => toggleForm(form, entry, state, run), { "aria-expanded": "false" });
  return h(
    "article",
    { class: "card" },
    h("h2", {}, entry.title || entry.path),
    h("p", { class: "path" }, h("code", {}, entry.path), entry.labels ? ` · ${plural(entry.labels.length, "label")}, ${plural(entry.seeds.length, "seed")}` : ""),
    h("div", { class: "pictures" }, sketch, last ? resultPicture(last) : h("p", { class: "note" }, "no result yet")),
    h("p", { class: "about" }, entry.about.split("\n").join(" ") || null),
    entry.error ? h("p", { class: "bad" }, `line ${entry.error.line}: ${entry.error.text}`) : null,
    h("p", { class: "buttons" }, run, h("a", { href: link("edit", { path: entry.path }) }, "Edit"), last ? h("a", { href: link("watch", { result: last.name }) }, "Watch") : null, last ? h("a", { href: link("compare", { set: last.labels.map((l) => `${last.name}|${l}|`) }) }, "Compare") : null),
    form,
  );
}

function pictureOf(drawn, entry) {
  const size = drawn.hosts ? `${plural(drawn.hosts, "host")}, ${plural(drawn.switches, "switch")}` : "";
  return [topologySketch(drawn, `Topology of ${entry.path}: ${size}`), h("p", { class: "note" }, size)];
}

function resultPicture(last) {
  const when = new Date(last.written_at * 1000).toLocaleString();
  const text = `Completion times of ${last.name}: share of flows over time, a line for each label`;
  return h("div", { class: "picture" }, resultThumb(last.thumb, text), h("p", { class: "note" }, `${last.name}, ${last.engine}, ${when}${last.complete ? "" : ", incomplete"}`));
}

function toggleForm(place, entry, state, opener) {
  const open = !place.firstChild;
  opener.setAttribute("aria-expanded", String(open));
  put(place, open ? runForm(entry, state, () => toggleForm(place, entry, state, opener)) : null);
  if (open) place.querySelector("select").focus();
  else opener.focus();
}

/** Engine, labels, seeds and overrides of a run. */
export function runForm(entry, { session }, close) {
  let engine = "des";
  const transports = [...new Set((entry.labels ?? []).map((label) => label.split(",")[0]))];
  const chosen = new Set(transports);
  const seeds = h("input", { value: (entry.seeds ?? []).join(", "), inputmode: "numeric" });
  const overrides = h("textarea", { rows: 2, placeholder: "topology.rate=100Gb/s", spellcheck: "false" });
  const result = h("input", { value: resultName(entry.path) });
  const pcap = h("input", { type: "checkbox" });
  const engines = [["des", "des: virtual time"], ["live", session.root ? "live: real processes" : "live: needs root"]];
  const toggle = (label, on) => (on ? chosen.add(label) : chosen.delete(label));

  async function submit(event) {
    event.preventDefault();
    const body = {
      scenario: entry.path,
      engine,
      result: result.value.trim(),
      labels: chosen.size === transports.length ? [] : transports.filter((t) => chosen.has(t)),
      seeds: numbers(seeds.value, entry.seeds),
      overrides: overrides.value.split("\n").map((l) => l.trim()).filter(Boolean),
      pcap: pcap.checked,
    };
    try {
      if (!chosen.size && transports.length) throw new Error("choose a label at least");
      const run = await post("queue", body);
      document.dispatchEvent(new Event("queue-changed"));
      tell(`run ${run.number} is in the queue: its result will be ${run.result}`);
      close();
    } catch (error) {
      tell(error.message, true);
    }
  }
  return h(
    "form",
    { class: "run", onsubmit: submit },
    field("Engine", select(engines, engine, (value) => (engine = value))),
    h("fieldset", {}, h("legend", {}, "Labels"), transports.map((t) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, onchange: (e) => toggle(t, e.target.checked) }), t))),
    field("Seeds", seeds),
    field("Overrides, one a line", overrides),
    field("Result's name", result),
    h("label", { class: "check" }, pcap, "Captures (--pcap)"),
    h("p", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Run"), button("Cancel", close)),
  );
}

/** Whole numbers of a text like "1, 2-4"; nothing where they are the scenario's own. */
export function numbers(text, own = []) {
  const found = [];
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(word);
    if (!range) throw new Error(`seeds: ${word} is no number; write them as 1, 2, 5-8`);
    const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
    if (to - from > 1000) throw new Error(`seeds: ${word} are more than a thousand`);
    for (let n = from; n <= to; n++) found.push(n);
  }
  return found.join() === own.join() ? [] : found;
}
