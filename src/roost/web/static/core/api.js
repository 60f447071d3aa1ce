// Asking the node: JSON in, JSON out, and for everything that is wrong one sentence that says what to do.

/** An answer that was a refusal, or none at all (status 0). */
export class Trouble extends Error {
  constructor(status, message, more = {}) {
    super(message);
    this.status = status;
    this.line = more.line ?? null;
    this.column = more.column ?? null;
  }
}

const MAX_TRIES = 3;
const listeners = new Set();
const tags = new WeakMap();

/** Have something done whenever the node wants to know who asks. */
export function onUnauthorized(listener) {
  listeners.add(listener);
}

/** Read: get("/streams", {match: "temp", limit: 100}). Lists in parameters are repeated. */
export function get(path, parameters = {}, signal = undefined) {
  return ask("GET", path + query(parameters), undefined, signal);
}

/** Change something: POST, PUT or DELETE. */
export function send(method, path, body = undefined, signal = undefined, headers = {}) {
  return ask(method, path, body, signal, headers);
}

/** The tag of an answer: with it, what somebody else has changed meanwhile is not overwritten. */
export function tagOf(answer) {
  return tags.get(answer) ?? "*";
}

/** Read a table, page by page: the text of up to `most` pages, and whether there would have been more. */
export async function tables(path, parameters, type, signal = undefined, most = 10) {
  const pages = [];
  let after = undefined;
  do {
    const response = await answered("GET", path + query({ ...parameters, after }), undefined, signal, { Accept: type });
    pages.push(await response.text());
    after = response.headers.get("Roost-Next") ?? undefined;
  } while (after !== undefined && pages.length < most);
  return { pages, isCut: after !== undefined };
}

/** Read up to `most` items of a list, page by page. */
export async function all(path, parameters = {}, signal = undefined, most = 1000) {
  const items = [];
  let after = undefined;
  do {
    const page = await get(path, { ...parameters, limit: Math.min(1000, most - items.length), after }, signal);
    items.push(...page.items);
    after = page.next ?? undefined;
  } while (after !== undefined && items.length < most);
  return items;
}

function query(parameters) {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(key, String(each));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}

async function ask(method, path, body, signal, more = {}) {
  const response = await answered(method, path, body, signal, more);
  return response.status === 204 ? null : read(response);
}

async function answered(method, path, body, signal, more = {}) {
  for (let tries = 1; ; tries += 1) {
    const response = await fetched(method, path, body, signal, more);
    if (response.ok) return response;
    const said = await problem(response);
    if (response.status === 429 && method === "GET" && tries < MAX_TRIES) {
      await pause(1000 * Math.min(5, Number(response.headers.get("Retry-After")) || 1), signal);
      continue;
    }
    if (response.status === 401) for (const each of listeners) each(said);
    throw said;
  }
}

async function fetched(method, path, body, signal, more) {
  const headers = { Accept: "application/json", "X-Requested-With": "roost", ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(0, "The node does not answer. Is it running, and is this device on its network?");
  }
}

async function read(response) {
  const type = response.headers.get("Content-Type") ?? "";
  if (!type.startsWith("application/json")) return response.text();
  const answer = await response.json();
  const tag = response.headers.get("ETag");
  if (tag && typeof answer === "object" && answer !== null) tags.set(answer, tag);
  return answer;
}

async function problem(response) {
  let said = {};
  try {
    said = await response.json();
  } catch {
    // A proxy between may answer without JSON.
  }
  const sentence = typeof said.error === "string" ? said.error : `The node answered with status ${response.status}.`;
  return new Trouble(response.status, sentence, said);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    });
  });
}
