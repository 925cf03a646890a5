// Requests to the server, which checks the cookie and the origin of each.

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** GET with parameters; a list gives the parameter several times. */
export function get(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) query.append(name, one);
  }
  const text = query.toString();
  return ask(`/api/${path}${text ? `?${text}` : ""}`, { signal });
}

export function post(path, body) {
  return ask(`/api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function ask(address, options) {
  let answer;
  try {
    answer = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "the server does not answer: has ./rocelab ui ended?");
  }
  if (answer.status === 401) throw new ApiError(401, "this page's sign-in has ended: open the address that ./rocelab ui prints");
  const type = answer.headers.get("Content-Type") ?? "";
  if (!type.startsWith("application/json")) throw new ApiError(answer.status, (await answer.text()).trim());
  const value = await answer.json();
  if (!answer.ok) throw new ApiError(answer.status, value.error ?? `status ${answer.status}`);
  return value;
}
