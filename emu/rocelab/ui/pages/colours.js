// One palette. The same colour for the same label everywhere, as far as labels are known; read from the style sheet, so that both schemes have theirs.

const kKnown = { roce: "--c-roce", "roce+pfc": "--c-roce-pfc", irn: "--c-irn", "irn+pfc": "--c-irn-pfc" };
const kOthers = ["--c-1", "--c-2", "--c-3", "--c-4", "--c-5", "--c-6", "--c-7", "--c-8"];

export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A colour for each text: those of known labels first, no colour twice while there are enough. */
export function colours(labels) {
  const taken = new Set();
  const found = labels.map((label) => {
    const known = kKnown[label];
    if (!known || taken.has(known)) return null;
    taken.add(known);
    return known;
  });
  const spare = [...kOthers, ...Object.values(kKnown)].filter((name) => !taken.has(name));
  let next = 0;
  return found.map((name) => css(name ?? spare[next++ % spare.length]));
}

const kScheme = matchMedia("(prefers-color-scheme: dark)");

/** Calls `draw` when the scheme changes, until the page is left. */
export function onScheme(draw, signal) {
  kScheme.addEventListener("change", draw, { signal });
}
