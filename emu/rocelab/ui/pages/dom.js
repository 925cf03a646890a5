// Elements without markup in strings: whatever a scenario or a result says is text.

/** An element: h("p", {class: "note", onclick: f}, child, "text", [more]). null children are left out. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** Puts children in the place of those that an element has. What had the focus has it again, if it is there under the same name. */
export function put(element, ...children) {
  const held = document.activeElement;
  element.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  if (held && !held.isConnected) [...element.querySelectorAll(held.localName)].find((e) => nameOf(e) === nameOf(held))?.focus({ preventScroll: true });
  return element;
}

function nameOf(element) {
  return element.getAttribute("aria-label") ?? element.textContent;
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** A labelled field: its label's text is the accessible name. */
export function field(label, input) {
  return h("label", { class: "field" }, h("span", {}, label), input);
}

export function select(options, value, onchange, attributes = {}) {
  return h(
    "select",
    { ...attributes, onchange: (e) => onchange(e.target.value) },
    options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text)),
  );
}

let telling = 0;

/** A line at the foot of the page that goes by itself, and that screen readers say. */
export function tell(text, bad = false) {
  const place = document.getElementById("told");
  put(place, h("p", { class: bad ? "bad" : "" }, text));
  clearTimeout(telling);
  telling = setTimeout(() => put(place), bad ? 12000 : 5000);
}

const kUnits = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]];

/** Picoseconds in the unit that suits them. */
export function time(ps, digits = 4) {
  if (ps === null || ps === undefined) return "–";
  if (ps === 0) return "0 s";
  const size = Math.abs(ps);
  const [unit, scale] = kUnits.find(([, scale]) => size >= scale) ?? ["ps", 1];
  return `${significant(ps / scale, digits)} ${unit}`;
}

/** Unit and divisor for an axis that ends at `ps`. */
export function timeUnit(ps) {
  return kUnits.find(([, scale]) => ps >= 2 * scale) ?? ["ps", 1];
}

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  for (const [unit, scale] of [["GB", 1e9], ["MB", 1e6], ["KB", 1e3]]) if (Math.abs(n) >= scale) return `${significant(n / scale, 4)} ${unit}`;
  return `${n} B`;
}

export function rate(bps) {
  for (const [unit, scale] of [["Gb/s", 1e9], ["Mb/s", 1e6], ["Kb/s", 1e3]]) if (bps >= scale) return `${significant(bps / scale, 4)} ${unit}`;
  return `${Math.round(bps)} b/s`;
}

export function count(n) {
  return n === null || n === undefined ? "–" : n.toLocaleString("en").replaceAll(",", "\u2009");
}

/** "1 seed", "2 seeds", "3 switches". */
export function plural(n, what) {
  return `${count(n)} ${what}${n === 1 ? "" : /(s|x|ch|sh)$/.test(what) ? "es" : "s"}`;
}

export function significant(value, digits) {
  return String(Number(value.toPrecision(digits)));
}
