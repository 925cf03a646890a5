// The pages' frame: which page the address names, and what runs meanwhile.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { link } from "./address.js";
import { get } from "./api.js";
import { comparePage } from "./compare.js";
import { h, put } from "./dom.js";
import { editorPage } from "./editor.js";
import { flowPage } from "./flow.js";
import { galleryPage } from "./gallery.js";
import { nowPage } from "./now.js";
import { runsPage } from "./runs.js";
import { sweepsPage } from "./sweeps.js";
import { watchPage } from "./watch.js";

const kPages = {
  gallery: { title: "Gallery", open: galleryPage },
  edit: { title: "Scenario", open: editorPage, hidden: true },
  runs: { title: "Runs", open: runsPage },
  watch: { title: "Watch", open: (page, query, signal) => (query.has("now") ? nowPage : watchPage)(page, query, signal) },
  flow: { title: "Flow", open: flowPage },
  compare: { title: "Compare", open: comparePage },
  sweeps: { title: "Sweeps", open: sweepsPage },
};

/** Page and parameters of the address, which is the whole state of a view. */
function place() {
  const [name, query] = location.hash.slice(1).split("?");
  return { name: kPages[name] ? name : "gallery", query: new URLSearchParams(query ?? "") };
}

let leave = () => {};
let shown = "";

async function show() {
  const { name, query } = place();
  leave();
  const controller = new AbortController();
  leave = () => controller.abort();
  put(
    document.getElementById("nav"),
    Object.entries(kPages)
      .filter(([key, page]) => !page.hidden || key === name)
      .map(([key, page]) => h("a", { href: `#${key}`, "aria-current": key === name ? "page" : null }, page.title)),
  );
  document.title = `${kPages[name].title} · rocelab`;
  const page = document.getElementById("page");
  const moved = shown !== "" && shown !== name;
  shown = name;
  put(page, h("p", { class: "note" }, "Loading …"));
  try {
    await kPages[name].open(page, query, controller.signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    put(page, h("h1", {}, kPages[name].title), h("p", { class: "bad", role: "alert" }, error.message));
  }
  if (moved) page.focus({ preventScroll: true });
}

/** While something runs, every second; else only when one comes back to the window. */
let asking = 0;

export async function watchQueue() {
  clearTimeout(asking);
  let runs = [];
  try {
    runs = await get("queue");
  } catch {
    put(document.getElementById("state"), h("span", { class: "bad" }, "no server"));
    return;
  }
  const active = runs.filter((r) => !r.ended_at);
  const now = active.find((r) => r.state !== "waiting");
  put(
    document.getElementById("state"),
    now
      ? h("a", { href: now.state === "running" ? link("watch", { now: now.number }) : "#runs" }, `${now.state} ${now.result}`, now.progress ? ` · ${now.progress.run + 1} of ${now.progress.runs}` : "", active.length > 1 ? ` · ${active.length - 1} waiting` : "")
      : null,
  );
  document.dispatchEvent(new CustomEvent("queue", { detail: runs }));
  if (active.length && !document.hidden) asking = setTimeout(watchQueue, 1000);
}

window.addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => document.hidden || watchQueue());
document.addEventListener("queue-changed", watchQueue);
show();
watchQueue();
