// One answer, read from the server until its end, however often the connection breaks.
import { ApiError, Backoff, chatPath, events, request } from './api.js';
import { ReduceError, Reducer } from './reducer.js';

const HEADERS = { 'x-ui-protocol': 'latest' };
/** Notices are shown as a list: the last ones will do. */
const NOTICES = 50;

export const streamHeaders = HEADERS;

/** What tells of a change of the message, of its neighbours, or of the end: see the `on…` handlers. */
export class Answer {
  #chat;
  #attempt;
  #abort = new AbortController();
  #last;
  #reducer;
  #handlers;

  /** Attempts to call a model, as the server tells of them. */
  notices = [];
  /** That nothing comes, and for how long. */
  progress;
  /** Whether the connection is broken at the moment. */
  isBroken = false;

  constructor(chat, attempt, row, handlers) {
    this.#chat = chat;
    this.#attempt = attempt;
    this.#reducer = new Reducer(row);
    this.#handlers = handlers;
  }

  get message() {
    return this.#reducer.message;
  }

  get errors() {
    return this.#reducer.errors;
  }

  /** Whether the message is complete: its end may not have been read yet. */
  get isOver() {
    return this.#reducer.isOver;
  }

  get attempt() {
    return this.#attempt;
  }

  close() {
    this.#abort.abort();
  }

  /** Reads until the end, from the reply to a POST if there is one. */
  async read(reply) {
    const backoff = new Backoff();
    let response = reply;
    while (!this.#abort.signal.aborted) {
      if (response) {
        const had = this.#last;
        // Read from the beginning: what is there of an earlier reading comes again.
        if (!had) this.#reducer.push({ type: 'start' });
        const over = await this.#follow(response);
        if (over) return this.#handlers.onEnd(this);
        if (this.#last !== had) backoff.reset();
        this.#broken(true);
      }
      let atLeast;
      try {
        response = await this.#resume();
        this.#broken(false);
        if (response.status === 204) return this.#handlers.onEnd(this);
        continue;
      } catch (error) {
        response = undefined;
        if (this.#abort.signal.aborted) return undefined;
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 401) this.#handlers.onUnauthorized();
        else if (!error.isPassing) return this.#handlers.onEnd(this);
        atLeast = error.retryAfterMs;
        this.#broken(true);
      }
      await backoff.wait(atLeast, this.#abort.signal);
    }
    return undefined;
  }

  #resume() {
    const headers = { ...HEADERS };
    let path = chatPath(this.#chat, 'stream');
    if (this.#last) headers['last-event-id'] = this.#last.text;
    else if (this.#attempt) path += `?attempt=${encodeURIComponent(this.#attempt)}`;
    return request('GET', path, { headers, signal: this.#abort.signal });
  }

  #broken(is) {
    if (this.isBroken === is) return;
    this.isBroken = is;
    this.#handlers.onChange(this);
  }

  /** Whether the end has come. */
  async #follow(response) {
    for await (const { id, data } of events(response)) {
      if (this.#abort.signal.aborted) return false;
      if (data === '[DONE]') return true;
      let chunk;
      try {
        chunk = JSON.parse(data);
      } catch {
        continue;
      }
      // All of it comes again: what was counted before counts no more.
      if (chunk.type === 'start') this.#last = undefined;
      const place = id === undefined ? undefined : cursor(id);
      if (place && this.#last && !isBehind(place, this.#last)) continue;
      this.#take(chunk);
      if (place) {
        this.#last = place;
        // An answer that goes on is told of by another attempt.
        this.#attempt = place.text.slice(0, place.text.indexOf(':'));
      }
    }
    return false;
  }

  #take(chunk) {
    if (chunk.type === 'data-turn') this.#turn(chunk.data);
    else if (chunk.type === 'data-input') this.#handlers.onInput(chunk.data);
    else if (chunk.type === 'data-attempt') {
      this.notices = [...this.notices, chunk.data].slice(-NOTICES);
    } else if (chunk.type === 'data-progress') this.progress = chunk.data;
    else {
      this.progress = undefined;
      try {
        this.#reducer.push(chunk);
      } catch (error) {
        if (!(error instanceof ReduceError)) throw error;
        console.warn(error.message);
      }
    }
    this.#handlers.onChange(this);
  }

  #turn(turn) {
    this.#attempt = turn.attempt;
    this.#reducer.message.id = turn.message;
    this.#handlers.onTurn(this, turn);
  }
}

/** `EPOCH.NUMBER:SEQ`, which is what makes ids of one stream comparable. */
function cursor(text) {
  const match = /^(\d+)\.(\d+):(\d+)$/.exec(text);
  return match ? { text, numbers: match.slice(1).map(Number) } : undefined;
}

function isBehind({ numbers }, last) {
  for (const [at, number] of numbers.entries()) {
    if (number !== last.numbers[at]) return number > last.numbers[at];
  }
  return false;
}
