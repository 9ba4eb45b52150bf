/*
 * Requests to /v1.
 *
 * A request resolves to the JSON of its answer, or rejects with an ApiError. Numbers that JavaScript
 * cannot hold exactly stay as they were written, see ExactNumber.
 */

/* A request that failed. `status` is 0 if no answer came. */
export class ApiError extends Error {
  constructor(status, code, message, retryAfter) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/* A number of JSON that a double cannot hold: an identifier above 2^53, or too many digits. */
export class ExactNumber {
  constructor(source) {
    this.source = source;
  }

  toString() {
    return this.source;
  }

  valueOf() {
    return Number(this.source);
  }
}

function reviveNumber(key, value, context) {
  if (typeof value !== 'number' || !context || context.source === undefined ||
    String(value) === context.source) {
    return value;
  }
  const digits = context.source.replace(/[eE].*$/, '').replace(/[-.]/g, '').replace(/^0+/, '');
  return digits.length > 15 ? new ExactNumber(context.source) : value;
}

export function parseJson(text) {
  return JSON.parse(text, reviveNumber);
}

/* Listeners of results: api.onResult(error or null) is called after each request. */
const watchers = new Set();

export function onResult(watcher) {
  watchers.add(watcher);
}

function tell(error) {
  for (const watcher of watchers) {
    watcher(error);
  }
}

function queryText(query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') {
        params.append(name, one);
      }
    }
  }
  const text = params.toString();
  return text ? '?' + text : '';
}

export function headers(more) {
  return { 'X-Requested-With': 'qlessd-console', Accept: 'application/json', ...more };
}

async function errorOf(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    /* an answer of a proxy, not of qlessd */
  }
  return new ApiError(response.status, error.code ?? 'HTTP',
    error.message ?? `The server answered with status ${response.status}`,
    Number(response.headers.get('Retry-After')) || 0);
}

/* Options: query, body, signal, and quiet, which keeps the result from the watchers. */
export async function request(method, path, options = {}) {
  const init = {
    method,
    headers: headers(options.body === undefined ? {} : { 'Content-Type': 'application/json' }),
    body: options.body === undefined ? undefined : JSON.stringify(options.body, writeExact),
    signal: options.signal,
    cache: 'no-store',
    credentials: 'same-origin',
  };
  let response;
  let text;
  try {
    response = await fetch('/v1' + path + queryText(options.query), init);
    text = response.ok ? await response.text() : null;
  } catch (error) {
    if (error.name === 'AbortError') {
      throw error;
    }
    const lost = new ApiError(0, 'LOST', 'No answer from the server');
    tell(lost);
    throw lost;
  }
  if (!response.ok) {
    const error = await errorOf(response);
    if (!options.quiet) {
      tell(error);
    }
    throw error;
  }
  tell(null);
  return text ? parseJson(text) : null;
}

function writeExact(key, value) {
  if (value instanceof ExactNumber) {
    return JSON.rawJSON ? JSON.rawJSON(value.source) : Number(value.source);
  }
  return value;
}

export const get = (path, query, signal) => request('GET', path, { query, signal });
export const post = (path, body = {}) => request('POST', path, { body });
export const put = (path, body = {}) => request('PUT', path, { body });
export const patch = (path, body = {}) => request('PATCH', path, { body });
export const del = (path, query) => request('DELETE', path, { query });
