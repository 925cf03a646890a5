// Flows of a run, and the life of one: posted, on its way, waiting, lost, retransmitted, in place.
import { link, note } from "./address.js";
import { get } from "./api.js";
import { chart } from "./chart.js";
import { css } from "./colours.js";
import { button, bytes, count, field, h, put, significant, tell, time, timeUnit } from "./dom.js";
import { table } from "./table.js";
import { runBar } from "./watch.js";

const kFlows = 100;

export async function flowPage(page, query, signal) {
  const { bar, result, run, title } = await runBar("flow", query, signal, { "Its network": "watch" });
  if (!result) return put(page, h("h1", {}, "Flow"), bar);
  const life = h("section", { "aria-label": "The chosen flow" });
  const view = { result, run, signal, life, sort: query.get("sort") ?? "wait_ps", descending: query.get("up") === null, find: query.get("find") ?? "", flow: query.get("flow") };
  const list = await flowList(view);
  put(page, h("h1", {}, title || "Flow"), bar, list, life);
  return view.flow ? show(view, view.flow) : put(life, h("p", { class: "note" }, "Choose a flow of the table."));
}

async function flowList(view) {
  const total = h("p", { class: "note", role: "status" });
  const load = async () => {
    const found = await get("flows", { result: view.result, run: view.run, sort: view.sort, descending: view.descending, find: view.find, limit: kFlows }, view.signal);
    put(total, found.total > found.flows.length ? `The first ${found.flows.length} of ${count(found.total)} flows in this order.` : `${count(found.total)} flows.`);
    return found.flows;
  };
  const reload = async () => {
    remember(view);
    view.table.element.setAttribute("aria-busy", "true");
    try {
      view.table.set(await load());
    } catch (error) {
      if (error.name !== "AbortError") tell(error.message, true);
    }
    view.table.element.removeAttribute("aria-busy");
  };
  const columns = [
    { key: "flow", title: "flow" },
    { key: "group", title: "workload", left: true, fixed: true },
    { key: "src", title: "from", left: true },
    { key: "dst", title: "to", left: true },
    { key: "size", title: "size", show: (f) => bytes(f.size) },
    { key: "start_ps", title: "start", show: (f) => time(f.start_ps) },
    { key: "fct_s", title: "FCT", show: (f) => (f.fct_s === null ? (f.completed ? "–" : "not completed") : time(f.fct_s * 1e12)) },
    { key: "slowdown", title: "slowdown", show: (f) => (f.slowdown === null ? "–" : significant(f.slowdown, 4)) },
    { key: "wait_ps", title: "mean wait", show: (f) => time(f.wait_ps), help: "of a packet at all switches together, over the packets whose hops are kept" },
    { key: "data_drops", title: "drops", show: (f) => count(f.data_drops) },
    { key: "retransmitted", title: "retransmitted", show: (f) => count(f.retransmitted) },
    { key: "timeout_retransmitted", title: "of these by timeout", show: (f) => count(f.timeout_retransmitted) },
  ];
  view.table = table({
    caption: "Flows",
    columns,
    rows: await load(),
    sort: { key: view.sort, descending: view.descending },
    picked: view.flow === null ? undefined : Number(view.flow),
    onsort: async ({ key, descending }) => {
      [view.sort, view.descending] = [key, descending];
      await reload();
    },
    onpick: (f) => show(view, f.flow, true),
  });
  const search = h("input", {
    type: "search",
    value: view.find,
    placeholder: "host, workload or number",
    onchange: async (e) => {
      view.find = e.target.value.trim();
      await reload();
    },
  });
  return h("section", { "aria-label": "Flows of the run" }, h("div", { class: "bar" }, field("Of", search), total), view.table.element);
}

function remember(view) {
  note("flow", { result: view.result, run: view.run, flow: view.flow, sort: view.sort, up: view.descending ? null : 1, find: view.find });
}

async function show(view, flow, picked = false) {
  view.flow = flow;
  view.table.pick(Number(flow));
  if (picked) remember(view);
  try {
    const life = await get("flow", { result: view.result, run: view.run, flow, points: 700 }, view.signal);
    put(view.life, lifeOf(life, view));
    if (picked) view.life.scrollIntoView({ block: "start" });
  } catch (error) {
    if (error.name !== "AbortError") tell(error.message, true);
  }
}

function lifeOf(life, view) {
  const f = life.flow;
  const unit = timeUnit(life.end_ps);
  const range = [life.begin_ps / unit[1], life.end_ps / unit[1]];
  const charts = [psnChart(life, unit, range), rateChart(life, unit, range)].filter(Boolean).map((spec) => chart(spec, view.signal));
  return [
    h("h2", {}, `Flow ${f.flow}: ${f.src} → ${f.dst}, ${f.op.toUpperCase()} of ${bytes(f.size)}`),
    life.notes.map((text) => h("p", { class: "warn" }, text)),
    facts(f, life),
    h("div", { class: "charts" }, charts.map((c) => c.figure)),
    h("div", { class: "columns" }, waits(life, view), why(life)),
    slowest(life),
    capture(life),
  ];
}

function facts(f, life) {
  const pairs = [
    ["posted", time(f.posted_ps, 7)],
    ["in place", time(f.placed_ps, 7)],
    ["last completion", time(f.cqe_ps, 7)],
    ["FCT", f.fct_s === null ? "–" : time(f.fct_s * 1e12)],
    ["alone it takes", time(f.alone_s * 1e12)],
    ["slowdown", f.slowdown === null ? "–" : significant(f.slowdown, 4)],
    ["packets", count(f.packets)],
    ["retransmitted", count(f.retransmitted)],
    ["dropped", count(f.data_drops)],
    ["workload", f.group],
  ];
  if (!f.completed) pairs.push(["completed", f.stopped ? "no, it was stopped" : "no"]);
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function psnChart(life, unit, range) {
  if (!life.arrived) return null;
  const at = (times) => times.map((t) => t / unit[1]);
  const again = (mark) => pickOf(life.retransmitted, (i) => (mark ? life.retransmitted.mark[i] > 0 : life.retransmitted.mark[i] === 0));
  const [nack, timeout] = [again(false), again(true)];
  const lines = [
    { label: "arrived (some)", colour: css("--c-irn"), x: at(life.arrived.time_ps), y: life.arrived.psn, size: 3 },
    { label: "dropped", colour: css("--bad"), x: at(life.dropped.time_ps), y: life.dropped.psn, size: 5 },
    { label: "retransmitted after NACK", colour: css("--c-2"), x: at(nack.time_ps), y: nack.psn, size: 4 },
    { label: "retransmitted after timeout", colour: css("--c-4"), x: at(timeout.time_ps), y: timeout.psn, size: 4 },
  ].map((line) => ({ ...line, kind: "points" }));
  return { title: `PSNs of flow ${life.flow.flow}`, x: `time (${unit[0]})`, y: "PSN, from its first", lines, range, link: "flow" };
}

function pickOf(events, wanted) {
  const rows = events.time_ps.map((_, i) => i).filter(wanted);
  return { time_ps: rows.map((i) => events.time_ps[i]), psn: rows.map((i) => events.psn[i]) };
}

function rateChart(life, unit, range) {
  if (!life.rate.time_ps.length) return null;
  const line = (label, colour, { time_ps, bps }) => ({ label, colour: css(colour), x: time_ps.map((t) => t / unit[1]), y: bps.map((v) => v / 1e9) });
  return { title: `Rate of flow ${life.flow.flow} at its receiver`, x: `time (${unit[0]})`, y: "Gb/s", range, link: "flow", lines: [line("frames received", "--c-irn-pfc", life.rate), ...(life.fair_rate?.bps.length ? [{ ...line("fair rate at its sender", "--c-2", life.fair_rate), kind: "step", dash: [5, 3] }] : [])] };
}

function waits(life, view) {
  if (!life.waits.length) return h("div", {}, h("h3", {}, "Where it waited"), h("p", { class: "note" }, "Of this flow no packets' hops are kept."));
  const rows = life.waits.map((w) => ({ ...w, mean: w.wait_ps / w.packets }));
  const columns = [
    { key: "port", title: "port", left: true, show: (w) => h("a", { href: link("watch", { result: view.result, run: view.run, port: w.port, t: w.longest_at_ps }) }, w.port) },
    { key: "packets", title: "packets seen" },
    { key: "mean", title: "mean wait", show: (w) => time(w.mean) },
    { key: "longest_ps", title: "longest", show: (w) => time(w.longest_ps) },
    { key: "longest_at_ps", title: "at", show: (w) => time(w.longest_at_ps, 6) },
  ];
  return h("div", {}, h("h3", {}, "Where it waited"), table({ caption: "Waits by port", columns, rows, sort: { key: "mean", descending: true } }).element);
}

function why(life) {
  if (!life.why.length) return h("div", {}, h("h3", {}, "What was lost and retransmitted"), h("p", { class: "note" }, life.arrived ? "Nothing." : "Not known."));
  const columns = [
    { key: "text", title: "what", left: true },
    { key: "where", title: "where", left: true },
    { key: "count", title: "packets", show: (w) => count(w.count) },
    { key: "first_ps", title: "first", show: (w) => time(w.first_ps, 6) },
    { key: "last_ps", title: "last", show: (w) => time(w.last_ps, 6) },
  ];
  return h("div", {}, h("h3", {}, "What was lost and retransmitted"), table({ caption: "Losses and retransmissions", columns, rows: life.why }).element);
}

function slowest(life) {
  if (!life.slowest.length) return null;
  return h(
    "details",
    {},
    h("summary", {}, `The ${life.slowest.length} packets that waited longest, hop by hop`),
    h(
      "ul",
      { class: "hops" },
      life.slowest.map((p) =>
        h(
          "li",
          {},
          `PSN ${p.psn}: `,
          p.hops.map((hop, i) => [i ? " → " : "", h("b", {}, hop.port ?? hop.node), ` ${time(hop.time_ps, 6)}`, hop.wait_ps === null ? "" : ` (waited ${time(hop.wait_ps)})`]),
        ),
      ),
    ),
  );
}

function capture(life) {
  if (!life.filter) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(life.filter);
    tell("the filter is copied");
  };
  return h(
    "div",
    {},
    h("h3", {}, "In a capture"),
    life.captures.length ? h("p", {}, "Captured in ", life.captures.map((c) => h("code", {}, c)), ". ") : h("p", { class: "note" }, "This run has no captures: choose Captures when you run it. "),
    h("p", {}, "Wireshark's display filter: ", h("code", {}, life.filter), " ", button("Copy", copy)),
  );
}
