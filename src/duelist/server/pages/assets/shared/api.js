// The one place that speaks to the server. Errors have the server's words; a server that cannot be reached is an error of its own.

const BASE = "/api/v1";
let csrf = null;
let sessionOf = null; // the study whose rater's cookie this page goes by, or null for the owner's

export class ApiError extends Error {
  constructor(status, { code, message, hint, field } = {}) {
    super(message ?? `The server answered ${status}.`);
    const [kind] = (code ?? "unknown").split("."); // what follows the dot tells hints apart, which the server has written
    Object.assign(this, { status, code: kind, hint: hint ?? null, field: field ?? null });
  }

  get sentence() {
    return this.hint ? `${this.message} ${this.hint}` : this.message;
  }

  /** Whether the same request may go well later. */
  get passing() {
    return this.status === 429 || this.status >= 500 || this.status === 401;
  }
}

export class Unreachable extends Error {
  sentence = "The server cannot be reached.";
  passing = true;
}

export const sentenceOf = (error) => error.sentence ?? String(error.message ?? error);

async function request(method, path, { body, form, raw, headers = {} } = {}) {
  const sent = { Accept: "application/json", ...headers };
  if (method !== "GET" && csrf) sent["X-Duelist-CSRF"] = csrf;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  try {
    return await fetch(BASE + path, {
      method,
      headers: sent,
      cache: "no-store",
      credentials: "same-origin",
      body: body === undefined ? (form ?? raw) : JSON.stringify(body),
    });
  } catch {
    throw new Unreachable("the server cannot be reached");
  }
}

async function problem(response) {
  const said = await response.json().catch(() => ({}));
  return new ApiError(response.status, said.error);
}

/** The JSON that the server answers; null for none. */
export async function call(method, path, options = {}) {
  let response = await request(method, path, options);
  if (response.status === 403 && method !== "GET" && !options.again) {
    const error = await problem(response);
    if (error.code !== "csrf") throw error;
    await session(sessionOf);
    return call(method, path, { ...options, again: true });
  }
  if (!response.ok) throw await problem(response);
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch {
    throw new Unreachable("the answer was cut off");
  }
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, { body });
export const patch = (path, body) => call("PATCH", path, { body });

const kept = new Map();

/** A reading, and whether it is another than the last time: what has not changed is not sent again. */
export async function reading(path) {
  const before = kept.get(path);
  const response = await request("GET", path, { headers: before ? { "If-None-Match": before.etag } : {} });
  if (response.status === 304) return { data: before.data, changed: false };
  if (!response.ok) throw await problem(response);
  const data = await response.json();
  const etag = response.headers.get("ETag");
  if (etag) kept.set(path, { etag, data });
  return { data, changed: true };
}

/** Who I am here; `study` asks for the rater's session of that study. */
export async function session(study = null) {
  sessionOf = study;
  const found = await get(study === null ? "/session" : `/session?study=${encodeURIComponent(study)}`);
  csrf = found.csrf;
  return found;
}

export async function signIn(token) {
  const found = await post("/session", { token });
  csrf = found.csrf;
  return found;
}

/** Sign in with the key in the address, if there is one, which then leaves the address bar and the browser's history. */
export async function signInByLink() {
  const written = location.hash.slice(1);
  if (!written) return null;
  let key = written;
  try {
    key = decodeURIComponent(written);
  } catch {
    // A broken key is refused by the server, in its words.
  }
  const found = await signIn(key);
  history.replaceState(null, "", location.pathname + location.search);
  return found;
}

export const signOut = (study = null) =>
  call("DELETE", study === null ? "/session" : `/session?study=${encodeURIComponent(study)}`);

export async function register(study, name) {
  const found = await post(`/studies/${study}/register`, name ? { name } : {});
  csrf = found.csrf;
  sessionOf = study;
  return found;
}

/** The owner's session, or the page to sign in, which comes back here. */
export async function owner() {
  try {
    return await session();
  } catch (error) {
    if (error.status !== 401) throw error;
    location.replace(`/signin?next=${encodeURIComponent(location.pathname + location.hash)}`);
    return new Promise(() => {}); // the page is leaving
  }
}

/** The number of the study in the address. */
export const studyHere = () => decodeURIComponent(location.pathname.split("/")[2] ?? "");
