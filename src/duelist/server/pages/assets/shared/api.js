// The HTTP client: every request of every page goes through this file.

const BASE = "/api/v1";
let csrfToken = null;
let sessionStudy = null; // the study whose rater cookie applies; null for an owner's session

/** An error response. `code` may be dotted, from the class of error to the case: "limit_reached.per_rater". */
export class ApiError extends Error {
  constructor(status, { code, message, hint, field } = {}) {
    super(message ?? `The server responded with status ${status}.`);
    this.status = status;
    this.code = code ?? "unknown";
    this.hint = hint ?? null;
    this.field = field ?? null;
  }

  isA(errorClass) {
    return this.code.split(".")[0] === errorClass;
  }
}

/** The server could not be reached, or its response was cut off. */
class NetworkError extends Error {
  status = 0;
  code = "network";
  isA = (errorClass) => errorClass === this.code;
}

/** The entry for an error's full code, or for its class; undefined if the table has neither. */
export function byCode(table, error) {
  const code = error.code ?? "";
  const key = [code, code.split(".")[0]].find((each) => Object.hasOwn(table, each));
  return key === undefined ? undefined : table[key];
}

async function send(method, path, { body, form, raw, headers = {} } = {}) {
  const allHeaders = { Accept: "application/json", ...headers };
  if (method !== "GET" && csrfToken) allHeaders["X-Duelist-CSRF"] = csrfToken;
  if (body !== undefined) allHeaders["Content-Type"] = "application/json";
  try {
    return await fetch(BASE + path, {
      method,
      headers: allHeaders,
      cache: "no-store",
      credentials: "same-origin",
      body: body === undefined ? (form ?? raw) : JSON.stringify(body),
    });
  } catch {
    throw new NetworkError("The server cannot be reached.");
  }
}

async function errorFrom(response) {
  const parsed = await response.json().catch(() => ({}));
  return new ApiError(response.status, parsed.error);
}

/** Send a request and return the JSON of its response; null if the response is empty. */
export async function call(method, path, options = {}) {
  const response = await send(method, path, options);
  if (response.status === 403 && method !== "GET" && !options.isRetry) {
    const error = await errorFrom(response);
    if (!error.isA("csrf")) throw error;
    await getSession(sessionStudy); // the token has changed, after signing in again in another tab
    return call(method, path, { ...options, isRetry: true });
  }
  if (!response.ok) throw await errorFrom(response);
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch {
    throw new NetworkError("The response was cut off.");
  }
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, { body });
export const patch = (path, body) => call("PATCH", path, { body });

const cache = new Map();

/** Fetch with the ETag of the last response: unchanged data is not sent again. Returns `{ data, changed }`. */
export async function getCached(path) {
  const cached = cache.get(path);
  const response = await send("GET", path, { headers: cached ? { "If-None-Match": cached.etag } : {} });
  if (response.status === 304) return { data: cached.data, changed: false };
  if (!response.ok) throw await errorFrom(response);
  const data = await response.json();
  const etag = response.headers.get("ETag");
  if (etag) cache.set(path, { etag, data });
  return { data, changed: true };
}

const sessionPath = (study) => (study === null ? "/session" : `/session?study=${encodeURIComponent(study)}`);

/** The owner's session, or with `study` the rater's session of that study. */
export async function getSession(study = null) {
  sessionStudy = study;
  const session = await get(sessionPath(study));
  csrfToken = session.csrf;
  return session;
}

export async function signIn(token) {
  const session = await post("/session", { token });
  csrfToken = session.csrf;
  return session;
}

/** Sign in with the token after the # of the address, if any, then remove it from the address bar and the history. */
export async function signInFromLink() {
  const fragment = location.hash.slice(1);
  if (!fragment) return null;
  let token = fragment;
  try {
    token = decodeURIComponent(fragment);
  } catch {
    // Not valid percent-encoding: the server rejects the token.
  }
  const session = await signIn(token);
  history.replaceState(null, "", location.pathname + location.search);
  return session;
}

export const signOut = (study = null) => call("DELETE", sessionPath(study));

/** Join a study with open registration. */
export async function register(study, name, parameters = {}) {
  const session = await post(`/studies/${study}/register`, { ...(name ? { name } : {}), parameters });
  csrfToken = session.csrf;
  sessionStudy = study;
  return session;
}

/** The owner's session. Without one, go to the sign-in page, which returns here. */
export async function requireOwner() {
  try {
    return await getSession();
  } catch (error) {
    if (error.status !== 401) throw error;
    location.replace(`/signin?next=${encodeURIComponent(location.pathname + location.hash)}`);
    return new Promise(() => {}); // never resolves: the browser is leaving the page
  }
}

/** The id of the study, from the address. */
export const studyIdFromAddress = () => decodeURIComponent(location.pathname.split("/")[2] ?? "");
