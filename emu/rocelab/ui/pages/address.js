// The address as the state of a view: whoever gets the link sees the same.

/** "#page?name=value&..." without empty values. */
export function link(page, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  const text = query.toString();
  return `#${page}${text ? `?${text}` : ""}`;
}

/** Changes the address without opening the page anew. */
export function note(page, parameters) {
  history.replaceState(null, "", link(page, parameters));
}

export function go(page, parameters) {
  location.hash = link(page, parameters);
}
