// One conversation: what is stored, what is being written, what waits. No DOM in here.
import { Answer, streamHeaders } from './answer.js';
import { ApiError, Backoff, chatPath, request, requestJson } from './api.js';

const LIVE = new Set(['pending', 'streaming', 'stopping']);
const REFRESH_MS = 120;

/** `onChange` is called when anything that is shown has changed, `onNotice` with sentences for the user. */
export class Chat {
  #handlers;
  #answers = new Map();
  #ended = new Set();
  /** Attempts whose end was read: a status may still name them. */
  #over = new Set();
  /** Rows that were read while they were written. */
  #read = new Set();
  #closed = false;
  #refreshing;
  #again = false;
  #timer;

  id;
  title = '';
  status;
  rows = [];
  messages = new Map();
  inputs = [];
  /** Messages of the user that the server has not confirmed yet: `{message, models, queue?, state, error?}`. */
  sending = [];
  isLoaded = false;
  /** The server knows no such chat. */
  isMissing = false;

  constructor(id, handlers) {
    this.id = id;
    this.#handlers = handlers;
  }

  get isLive() {
    return LIVE.has(this.status?.state) || this.#answers.size > 0;
  }

  /** The turn that runs: an answer may know of it before the status does. */
  get turn() {
    return [...this.#answers.values()].findLast(answer => !answer.isOver)?.turn ?? this.status?.turn;
  }

  answer(row) {
    return this.#answers.get(row);
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const answer of this.#answers.values()) answer.close();
  }

  /** What is to be shown, in order: `{row, message, answer?, sending?, isFresh}`. */
  entries() {
    const entries = [];
    const known = new Set();
    for (const row of this.rows) {
      known.add(row.id);
      const answer = this.#answers.get(row.id);
      const message = answer?.message.parts.length > 0 ? answer.message : (this.messages.get(row.id) ?? answer?.message);
      if (message) entries.push({ row, message, answer, isFresh: this.#read.has(row.id) });
    }
    for (const sending of this.sending) {
      if (sending.queue) continue;
      const row = { id: sending.message.id, author: 'user', status: sending.state };
      if (!known.has(row.id)) entries.push({ row, message: sending.message, sending });
    }
    for (const [id, answer] of this.#answers) {
      const row = { id, author: 'assistant', status: 'open', turn: answer.turn, model: answer.model };
      if (!known.has(id)) entries.push({ row, message: answer.message, answer, isFresh: true });
    }
    return entries;
  }

  /** What was said and is not in the conversation: unsent, waiting, or returned. */
  queue() {
    const stored = new Set(this.inputs.map(input => input.id));
    const unsent = this.sending.filter(({ queue, message }) => queue && !stored.has(message.id));
    return [
      ...this.inputs,
      ...unsent.map(({ message, queue, state, error }) => ({
        id: message.id,
        queue,
        text: textOf(message),
        parts: message.parts,
        fate: { type: state, why: error },
      })),
    ];
  }

  /** Asks the server for all of it. What is being written stays shown until what is stored has come. */
  async load() {
    if (this.#refreshing) {
      this.#again = true;
      return this.#refreshing;
    }
    this.#refreshing = this.#load().finally(() => {
      this.#refreshing = undefined;
      if (this.#again && !this.#closed) {
        this.#again = false;
        this.load();
      }
    });
    return this.#refreshing;
  }

  async #load() {
    const backoff = new Backoff();
    for (;;) {
      // What is over before the question is in the reply, in whatever form.
      const ended = [...this.#ended];
      const accepted = this.sending.filter(({ state }) => state === 'queued');
      try {
        const stored = await requestJson('GET', chatPath(this.id));
        if (!this.#closed) this.#stored(stored, ended, accepted);
        return;
      } catch (error) {
        if (this.#closed) return;
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 401) this.#handlers.onUnauthorized();
        else if (!error.isPassing) {
          this.isLoaded = true;
          this.isMissing = true;
          this.#forget();
          if (error.status !== 404) this.#handlers.onNotice(error.message);
          this.#handlers.onChange();
          return;
        }
        await backoff.wait(error.retryAfterMs);
        if (this.#closed) return;
      }
    }
  }

  #forget() {
    this.title = '';
    this.status = undefined;
    this.rows = this.inputs = [];
    this.messages.clear();
    for (const answer of this.#answers.values()) answer.close();
    this.#answers.clear();
  }

  #stored(stored, ended, accepted) {
    this.isLoaded = true;
    this.isMissing = false;
    this.title = stored.title;
    this.rows = stored.rows;
    this.messages = new Map(stored.messages.map(message => [message.id, message]));
    const hidden = new Set(this.#handlers.hiddenInputs());
    this.inputs = stored.inputs.filter(({ id }) => !hidden.has(id));
    const has = new Set([...this.rows.map(row => row.id), ...stored.inputs.map(input => input.id)]);
    this.sending = this.sending.filter(sending => !has.has(sending.message.id) && !accepted.includes(sending));
    // What is stored now takes the place of what was shown while it was written.
    for (const answer of ended) {
      this.#ended.delete(answer);
      if (this.#answers.get(answer.message.id) === answer) this.#answers.delete(answer.message.id);
    }
    this.takeStatus(stored.status);
    this.#handlers.onChange();
  }

  /** How the chat stands, from whatever source; what is out of date is passed over. */
  takeStatus(status) {
    const old = this.status;
    const isOlder = old && [old.epoch - status.epoch, old.revision - status.revision].find(diff => diff !== 0) > 0;
    if (isOlder) return;
    this.status = status;
    if (LIVE.has(status.state)) for (const active of status.attempts ?? []) this.#attach(active);
    const told = ({ state, turn, queued, awaiting }) => JSON.stringify([state, turn, queued, awaiting]);
    if (old && told(old) !== told(status)) this.refreshSoon();
    this.#handlers.onChange();
  }

  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.load(), REFRESH_MS);
  }

  #attach({ attempt, row, model }) {
    if (this.#over.has(attempt) || this.#isRead(row)) return;
    this.#answerOf(this.turn, attempt, row, model).read();
  }

  #isRead(row) {
    const answer = this.#answers.get(row);
    return answer !== undefined && !this.#ended.has(answer);
  }

  #keep(row, answer) {
    this.#answers.set(row, answer);
    this.#read.add(row);
  }

  #answerOf(turn, attempt, row, model) {
    const answer = new Answer(this.id, attempt, row, {
      onChange: () => this.#handlers.onChange(),
      onInput: () => this.refreshSoon(),
      onTurn: (answer, turn) => this.#turn(answer, turn),
      onEnd: answer => {
        this.#ended.add(answer);
        if (answer.attempt) this.#over.add(answer.attempt);
        this.#handlers.onEnd(answer);
        this.load();
      },
      onUnauthorized: () => this.#handlers.onUnauthorized(),
    });
    answer.model = model;
    answer.turn = turn;
    if (row) this.#keep(row, answer);
    return answer;
  }

  /** A stream says which turn it tells of, and who else answers in it. */
  #turn(answer, { turn, message, model, attempts }) {
    for (const [row, known] of this.#answers) if (known === answer && row !== message) this.#answers.delete(row);
    const other = this.#answers.get(message);
    if (other !== answer) other?.close();
    this.#keep(message, answer);
    answer.model = model;
    answer.turn = turn;
    if (this.status) this.status = { ...this.status, turn };
    for (const active of attempts ?? []) if (active.row !== message) this.#attach(active);
  }

  /** Says something: starts a turn, or joins what waits for the running one. Sent again until the server has it. */
  async say(message, { models, queue } = {}) {
    const sending = { message, models, queue: this.isLive ? queue : undefined, state: 'sending' };
    this.sending.push(sending);
    this.title ||= textOf(message).slice(0, 80);
    this.#handlers.onChange();
    const backoff = new Backoff();
    while (!this.#closed) {
      try {
        await (sending.queue ? this.#enqueue(sending) : this.#submit({ message, models, trigger: 'submit-message' }));
        sending.state = 'queued';
        return this.#handlers.onChange();
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code === 'not_live' || error.code === 'stale_turn') {
          // The turn is over, or another one runs: what was said starts or waits for its own.
          sending.queue = undefined;
          continue;
        }
        if (error.status === 401) this.#handlers.onUnauthorized();
        else if (!error.isPassing) {
          sending.state = 'failed';
          sending.error = error.message;
          return this.#handlers.onChange();
        }
        await backoff.wait(error.retryAfterMs);
      }
    }
    return undefined;
  }

  async #enqueue({ message, models, queue }) {
    const body = { turn: this.turn, message, models };
    await requestJson('POST', chatPath(this.id, queue), { body });
    this.refreshSoon();
  }

  async #submit({ message, ...rest }) {
    const body = { id: this.id, ...(message && { messages: [message] }), ...rest };
    const response = await request('POST', '/api/chat', { body, headers: streamHeaders });
    this.isMissing = false;
    this.refreshSoon();
    if (response.status === 204) return;
    const told = name => response.headers.get(`x-chat-${name}`) ?? undefined;
    const row = told('message');
    // The status may have told of it before the reply did.
    if (row && this.#isRead(row)) response.body.cancel().catch(() => {});
    else this.#answerOf(told('turn'), told('attempt'), row).read(response);
  }

  dropUnsent(id) {
    this.sending = this.sending.filter(({ message }) => message.id !== id);
    this.#handlers.onChange();
  }

  /** Does something to the chat that is one request; tells the user if it cannot be done. */
  async #act(what, verb, body) {
    try {
      await requestJson('POST', chatPath(this.id, verb), { body });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) this.#handlers.onUnauthorized();
      this.#handlers.onNotice(`${what} failed: ${error.message}`);
    }
    this.refreshSoon();
  }

  stop(message) {
    return this.#act('Stop', 'stop', { turn: this.turn, message });
  }

  approve(row, toolCallId, approved, reason) {
    const body = { turn: row.turn ?? this.turn, message: row.id, toolCallId, approved, reason: reason || undefined };
    return this.#act(approved ? 'Allowing' : 'Denying', 'approve', body);
  }

  withdraw(inputId) {
    return this.#act('Taking back', 'withdraw', { inputId });
  }

  async regenerate(row) {
    try {
      await this.#submit({ trigger: 'regenerate-message', messageId: row.id, models: row.model ? [row.model] : undefined });
      this.rows = this.rows.filter(({ id }) => id !== row.id);
      this.#handlers.onChange();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) this.#handlers.onUnauthorized();
      this.#handlers.onNotice(`Asking again failed: ${error.message}`);
    }
  }
}

export const textOf = ({ parts }) => parts.filter(part => part.type === 'text').map(part => part.text).join('\n');
