// The queue: what waits, what runs and how far it is, what ended.
import { link } from "./address.js";
import { get, post } from "./api.js";
import { button, h, put, tell, time } from "./dom.js";

export async function runsPage(page, query, signal) {
  const list = h("div", { class: "runs" });
  const draw = (runs) => put(list, runs.length ? [...runs].reverse().map(entry) : h("p", { class: "note" }, "Nothing has been run from these pages yet. ", h("a", { href: "#gallery" }, "Choose a scenario"), "."));
  document.addEventListener("queue", (e) => keepFocus(list, () => draw(e.detail)), { signal });
  put(page, h("h1", {}, "Runs"), h("p", { class: "note" }, "One run at a time, in the order of the queue. Runs end with ./rocelab ui."), list);
  draw(await get("queue", {}, signal));
}

/** A button that is drawn anew keeps the focus. */
function keepFocus(list, draw) {
  const key = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const open = [...list.querySelectorAll("details[open]")].map((d) => d.dataset.key);
  draw();
  for (const details of list.querySelectorAll("details")) details.open ||= open.includes(details.dataset.key);
  if (key) list.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

function entry(run) {
  const ended = run.ended_at !== null;
  const took = run.began_at ? `${((run.ended_at ?? Date.now() / 1000) - run.began_at).toFixed(1)} s` : "";
  const again = ended && run.state === "done";
  return h(
    "article",
    { class: `run-entry ${run.state}` },
    h("h2", {}, `${run.number}. ${run.result} `, h("span", { class: "tag" }, run.state)),
    h("p", { class: "note" }, h("code", {}, run.scenario), ` · ${run.engine}${run.pcap ? ", captures" : ""} · ${took}`, run.overrides.length ? ` · ${run.overrides.join(", ")}` : ""),
    ended ? null : progress(run),
    h(
      "p",
      { class: "buttons" },
      ended ? null : button(run.state === "waiting" ? "Remove" : "Stop", () => stop(run), { "data-key": `stop${run.number}`, disabled: run.state === "stopping" }),
      run.state === "running" ? h("a", { href: link("watch", { now: run.number }), "data-key": `now${run.number}` }, "Watch") : null,
      again ? h("a", { href: link("watch", { result: run.result }) }, "Watch") : null,
      again ? h("a", { href: link("compare", { result: run.result }) }, "Compare") : null,
    ),
    run.lines.length ? h("details", { "data-key": `lines${run.number}`, open: run.state === "failed" }, h("summary", {}, "Output"), h("pre", { tabindex: 0 }, run.lines.join("\n"))) : null,
  );
}

/** Where a run is, in words. */
export function progress(run) {
  const at = run.progress;
  if (run.state === "stopping") return h("p", {}, "ends, and saves what it has");
  if (!at) return h("p", {}, run.state === "waiting" ? "waits" : "starts: packages and build are looked at first");
  const done = at.run + (at.phase === "start" ? 0 : at.phase === "collect" ? 0.9 : 0.5);
  const now = at.phase === "run" ? `${time(at.now_ps)} of experiment` : at.phase;
  const name = `${at.label}, seed ${at.seed}`;
  return h("p", {}, h("progress", { max: at.runs, value: done, "aria-label": `Progress of run ${run.number}` }), ` ${at.run + 1} of ${at.runs}: ${name} · ${now}`);
}

async function stop(run) {
  try {
    await post("stop", { number: run.number });
    document.dispatchEvent(new Event("queue-changed"));
  } catch (error) {
    tell(error.message, true);
  }
}
