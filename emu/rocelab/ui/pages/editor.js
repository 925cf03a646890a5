// A scenario's text, with what its reader says at the line.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { go, link } from "./address.js";
import { get, post } from "./api.js";
import { button, field, h, plural, put, tell } from "./dom.js";
import { runForm } from "./gallery.js";

const kPause = 700; // ms after the last key

const kColours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)" },
  { tag: tags.string, color: "var(--c-irn)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--c-irn-pfc)" },
  { tag: tags.propertyName, color: "var(--ink)", fontWeight: "600" },
]);

export async function editorPage(page, query, signal) {
  const path = query.get("path");
  if (!path) return put(page, h("h1", {}, "Scenario"), h("p", {}, "Choose one in the ", h("a", { href: "#gallery" }, "gallery"), "."));
  const [opened, session] = await Promise.all([get("scenario", { path }, signal), get("session", {}, signal)]);
  const said = h("div", { class: "said", role: "status", "aria-live": "polite" });
  const form = h("div");
  const name = h("input", { value: path, "aria-label": "Save as" });
  let digest = opened.digest;
  let saved = opened.text;
  let read = null;
  let waiting = 0;

  const view = new EditorView({
    state: EditorState.create({
      doc: opened.text,
      extensions: [
        EditorView.cspNonce.of(document.querySelector("meta[name=style-nonce]").content),
        lineNumbers(),
        lintGutter(),
        history(),
        StreamLanguage.define(toml),
        syntaxHighlighting(kColours),
        // Tab leaves the editor, as in any field.
        keymap.of([{ key: "Mod-s", run: () => (save(), true), preventDefault: true }, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": `Text of ${path}` }),
        EditorView.updateListener.of((update) => update.docChanged && later()),
      ],
    }),
  });
  const text = () => view.state.doc.toString();

  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(check, kPause);
  }

  async function check() {
    const asked = text();
    try {
      read = await post("check", { path, text: asked });
    } catch (error) {
      return put(said, h("p", { class: "bad" }, error.message));
    }
    if (asked !== text()) return null;
    view.dispatch(setDiagnostics(view.state, read.error ? [diagnostic(read.error)] : []));
    return put(said, read.error ? problem(read.error) : summary(read));
  }

  function diagnostic({ line, column, text }) {
    const at = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
    const from = Math.min(at.to, at.from + Math.max(0, column - 1));
    return { from, to: Math.max(from, at.to), severity: "error", message: text };
  }

  function problem({ line, column, text }) {
    const jump = () => {
      const at = diagnostic({ line, column, text }).from;
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    };
    return h("p", { class: "bad" }, button(`line ${line}:${column}`, jump), ` ${text}`);
  }

  async function save() {
    const target = name.value.trim();
    try {
      const done = await post("scenario", { path: target, text: text(), digest: target === path ? digest : null });
      if (target !== path) return go("edit", { path: target });
      [digest, saved] = [done.digest, text()];
      return tell(`${path} is saved`);
    } catch (error) {
      return tell(error.message, true);
    }
  }

  function run() {
    if (text() !== saved) return tell("save the text first: what runs is the file", true);
    if (!read || read.error) return tell("this text cannot be read: see the line that is named", true);
    const close = () => put(form);
    put(form, runForm({ ...read, path }, { session }, close));
    return form.querySelector("select").focus();
  }

  signal.addEventListener("abort", () => {
    clearTimeout(waiting);
    view.destroy();
  });
  put(
    page,
    h("p", {}, h("a", { href: link("gallery") }, "Gallery"), " / ", h("code", {}, path)),
    h("h1", {}, "Scenario"),
    h("div", { class: "bar" }, field("File", name), h("p", { class: "buttons" }, button("Save", save, { class: "main" }), button("Run …", run))),
    form,
    said,
    h("div", { class: "editor" }, view.dom),
    h("p", { class: "note" }, "Another file name saves a copy. Ctrl-S saves; Tab leaves the text. All keys are in docs/reference/scenarios.md."),
  );
  await check();
}

function summary(read) {
  return [
    h("p", { class: "good" }, `reads well: ${plural(read.labels.length, "label")} (${read.labels.slice(0, 6).join(", ")}${read.labels.length > 6 ? " …" : ""}), ${plural(read.seeds.length, "seed")}`),
    read.warnings.map((text) => h("p", { class: "warn" }, text)),
  ];
}
