// The server's interface, as docs/http-api.md has it.
import { SseReader } from './sse.js';

const TOKEN = 'chat-token';
/** The server says something at least every 15 seconds; a connection that is silent for so long is dead. */
const SILENCE_MS = 45_000;

/** What a request came to: `status` 0 and code `offline` if the server was not reached. */
export class ApiError extends Error {
  constructor(status, code, message, retryAfterMs) {
    super(message);
    Object.assign(this, { status, code, retryAfterMs });
  }

  /** Whether the same request may work later. */
  get isPassing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

export const setToken = token => sessionStorage.setItem(TOKEN, token);

/** The reply, if it is a good one. */
export async function request(method, path, { body, headers = {}, signal } = {}) {
  const all = { ...headers };
  const token = sessionStorage.getItem(TOKEN);
  if (token) all.authorization = `Bearer ${token}`;
  if (body !== undefined) all['content-type'] = 'application/json';
  let response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(path, { method, headers: all, body: text, signal, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'offline', 'The server cannot be reached.');
  }
  if (response.ok) return response;
  throw await failure(response);
}

async function failure(response) {
  let error;
  try {
    ({ error } = await response.json());
  } catch {
    // Not from our server, or cut off: the status has to do.
  }
  const seconds = Number(response.headers.get('retry-after'));
  return new ApiError(
    response.status,
    typeof error?.code === 'string' ? error.code : 'unknown',
    typeof error?.message === 'string' ? error.message : `The server answered with status ${response.status}.`,
    seconds > 0 ? seconds * 1000 : undefined,
  );
}

export async function requestJson(method, path, options) {
  const response = await request(method, path, options);
  return response.status === 204 ? undefined : response.json();
}

export const chatPath = (id, verb) => `/api/chat/${encodeURIComponent(id)}${verb ? `/${verb}` : ''}`;

/** The events of a streaming reply, until it ends or breaks off. Never throws for the latter. */
export async function* events(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const sse = new SseReader();
  try {
    for (;;) {
      const { value, done } = await within(reader.read());
      if (done) return;
      yield* sse.push(decoder.decode(value, { stream: true }));
    }
  } catch {
    // Broken off, silent for too long, or no event stream: the same to whoever reads, who looks for the end marker.
  } finally {
    reader.cancel().catch(() => {});
  }
}

function within(promise) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('silent')), SILENCE_MS);
  });
  return Promise.race([promise, silence]).finally(() => clearTimeout(timer));
}

let wake = [];

/** Ends all waits: the network is back, or somebody asks to try now. */
export function tryNow() {
  for (const resolve of wake.splice(0)) resolve();
}

/** Waits before the next try: longer each time, at most 15 seconds, never in step with others. */
export class Backoff {
  #failures = 0;

  reset() {
    this.#failures = 0;
  }

  async wait(atLeastMs = 0, signal) {
    const most = Math.min(15_000, 400 * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    const delay = Math.max(atLeastMs, most / 2 + (Math.random() * most) / 2);
    await new Promise(resolve => {
      const timer = setTimeout(resolve, delay);
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      wake.push(end);
      signal?.addEventListener('abort', end, { once: true });
    });
  }
}
