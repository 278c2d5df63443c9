// Stands in for `chat serve`: docs/http-api.md in memory, with a model that follows a script. The page is tested against
// it where a test needs what a real server does only by accident.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { Gates, scriptFor } from './scripts.mjs';

const pageFolder = new URL('../../crates/chat/src/serve/page/', import.meta.url);
const CSP = readFileSync(new URL('csp.txt', pageFolder), 'utf8').trim();
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
const STREAM = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-vercel-ai-ui-message-stream': 'v1' };
const LIVE = new Set(['pending', 'streaming', 'stopping']);

class HttpError extends Error {
  constructor(status, code, message = code) {
    super(message);
    Object.assign(this, { status, code });
  }
}

const fileOf = path => (path === '/' ? 'index.html' : path.startsWith('/assets/') ? path.slice('/assets/'.length) : undefined);

/** One run of one model: a log that many may read. */
class Attempt {
  constructor(id, row) {
    Object.assign(this, { id, row, log: [], isOver: false, isStopped: false, parts: [] });
    this.changed = [];
  }

  append(chunk) {
    this.log.push(chunk);
    for (const resolve of this.changed.splice(0)) resolve();
  }

  next() {
    return new Promise(resolve => this.changed.push(resolve));
  }
}

export class StandIn {
  gates = new Gates();
  /** Requests that came, as `METHOD /path`. */
  seen = [];
  /** The log is kept from this number on: readers behind it get all of the message anew. */
  window = 0;
  /** So many chunks are sent twice to a reader that comes back. */
  repeats = 0;
  /** The cursors with which readers came back. */
  cursors = [];
  chats = new Map();
  watchers = new Set();
  #tick = 1_790_000_000_000;

  constructor({ token } = {}) {
    this.token = token;
  }

  async listen() {
    this.server = createServer((request, response) => this.#answer(request, response));
    await new Promise(resolve => this.server.listen(0, '127.0.0.1', resolve));
    return this.server.address().port;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #answer(request, response) {
    const url = new URL(request.url, 'http://server');
    this.seen.push(`${request.method} ${url.pathname}`);
    try {
      const file = fileOf(url.pathname);
      if (file !== undefined) return this.#file(file, response);
      if (this.token && request.headers.authorization !== `Bearer ${this.token}`) {
        throw new HttpError(401, 'unauthorized', 'A token is needed.');
      }
      const body = request.method === 'POST' ? JSON.parse(await text(request)) : undefined;
      const [, api, what, id, verb] = url.pathname.split('/').map(decodeURIComponent);
      if (id?.includes('/')) throw new HttpError(400, 'bad_id', 'This cannot be the id of a chat.');
      if (api !== 'api') throw new HttpError(404, 'not_found');
      const route = `${request.method} ${what}${id === undefined ? '' : '/id'}${verb === undefined ? '' : `/${verb}`}`;
      const handler = this.#routes[route];
      if (!handler) throw new HttpError(404, 'not_found', route);
      return await handler({ id, body, url, request, response });
    } catch (error) {
      if (!(error instanceof HttpError)) console.error(error);
      const { status = 500, code = 'internal', message } = error;
      return json(response, status, { error: { code, message } });
    }
  }

  #file(name, response) {
    let bytes;
    try {
      bytes = readFileSync(new URL(name, pageFolder));
    } catch {
      return json(response, 404, { error: { code: 'not_found', message: name } });
    }
    const type = TYPES[name.split('.').at(-1)];
    response.writeHead(200, { 'content-type': type, 'content-security-policy': CSP, 'x-content-type-options': 'nosniff' });
    return response.end(bytes);
  }

  #routes = {
    'GET models': ({ response }) =>
      json(response, 200, {
        default: 'fast',
        models: ['fast', 'strong', 'odd'].map(id => ({ id, provider: 'scripted', model: id })),
      }),
    'GET chats': ({ response }) => {
      const chats = [...this.chats.values()].map(({ id, title, createdAt, updatedAt, rows, status }) => ({
        id, title, createdAt, updatedAt, messages: rows.length, state: status.state,
      }));
      chats.sort((a, b) => b.updatedAt - a.updatedAt);
      return json(response, 200, { chats, next: null });
    },
    'GET status': ({ response }) => {
      response.writeHead(200, STREAM);
      const send = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      for (const { status } of this.chats.values()) send('status', status);
      send('ready', {});
      this.watchers.add(send);
      response.on('close', () => this.watchers.delete(send));
    },
    'GET chat/id': ({ id, response }) => {
      const chat = this.#chat(id);
      const rows = chat.rows.map(({ message, ...row }) => row);
      const messages = chat.rows.filter(row => row.status !== 'open').map(row => row.message);
      const inputs = chat.inputs.filter(input => input.fate.type !== 'consumed').map(({ message, models, ...input }) => input);
      const { title, createdAt, updatedAt, status } = chat;
      return json(response, 200, { id, title, createdAt, updatedAt, status, messages, rows, inputs });
    },
    'DELETE chat/id': ({ id, response }) => {
      this.#stop(this.#chat(id));
      this.chats.delete(id);
      for (const send of this.watchers) send('deleted', { topic: id });
      response.writeHead(204).end();
    },
    'POST chat': ({ body, response, request }) => {
      const chat = this.#open(body.id, body.messages?.at(-1));
      if (body.trigger === 'regenerate-message') {
        const old = chat.rows.find(row => row.id === body.messageId);
        if (!old) throw new HttpError(404, 'no_such_message');
        chat.rows = chat.rows.filter(row => row !== old);
        const said = chat.rows.find(row => row.id === old.parent);
        return this.#stream(this.#turn(chat, said, body.models), undefined, response, request);
      }
      const message = body.messages.at(-1);
      const known = chat.rows.find(row => row.id === message.id);
      if (known) {
        const attempt = chat.attempts.get(chat.rows.find(row => row.parent === known.id)?.attempt);
        if (!attempt || attempt.isOver) return response.writeHead(204).end();
        return this.#stream(attempt, undefined, response, request);
      }
      if (LIVE.has(chat.status.state)) {
        this.#wait(chat, message, body.models, 'follow-up');
        return this.#streamOf(chat, message.id, response, request);
      }
      return this.#stream(this.#turn(chat, this.#said(chat, message), body.models), undefined, response, request);
    },
    'GET chat/id/stream': ({ id, url, request, response }) => {
      const chat = this.#chat(id);
      const last = request.headers['last-event-id'];
      if (last) this.cursors.push(last);
      const [wanted, seq] = last ? last.split(':') : [url.searchParams.get('attempt')];
      const running = [...chat.attempts.values()].filter(attempt => !attempt.isOver);
      const attempt = wanted ? chat.attempts.get(wanted) : running[0];
      if (!attempt || (attempt.isOver && !seq)) return response.writeHead(204).end();
      return this.#stream(attempt, seq === undefined ? undefined : Number(seq), response, request);
    },
    'POST chat/id/steer': context => this.#enqueue(context, 'steer'),
    'POST chat/id/follow-up': context => this.#enqueue(context, 'follow-up'),
    'POST chat/id/withdraw': ({ id, body, response }) => {
      const chat = this.#chat(id);
      const input = chat.inputs.find(input => input.id === body.inputId && input.fate.type === 'queued');
      if (!input) throw new HttpError(404, 'no_such_input');
      input.fate = { type: 'returned', why: 'withdrawn' };
      this.#tell(chat);
      return json(response, 200, { inputId: input.id });
    },
    'POST chat/id/stop': ({ id, body, response }) => {
      const chat = this.#chat(id);
      this.#check(chat, body.turn);
      this.#stop(chat, body.message);
      return json(response, 200, { returned: [] });
    },
    'POST chat/id/approve': ({ id, body, response }) => {
      const chat = this.#chat(id);
      const row = chat.rows.find(row => row.id === body.message && row.status === 'awaiting_approval');
      const part = row?.message.parts.find(part => part.toolCallId === body.toolCallId && part.state === 'approval-requested');
      if (!part) throw new HttpError(404, 'no_such_call');
      part.state = 'approval-responded';
      part.approval = { ...part.approval, approved: body.approved, reason: body.reason };
      this.#goOn(chat, row, part);
      return json(response, 202, { turn: row.turn, waiting: 0 });
    },
  };

  #chat(id) {
    const chat = this.chats.get(id);
    if (!chat) throw new HttpError(404, 'no_such_chat', 'There is no such chat.');
    return chat;
  }

  #open(id, message) {
    const old = this.chats.get(id);
    if (old) return old;
    const at = this.#now();
    const status = { topic: id, state: 'idle', attempts: [], awaiting: [], queued: 0, revision: 0, epoch: 1 };
    const chat = { id, title: said(message).slice(0, 80), createdAt: at, updatedAt: at, status, rows: [], inputs: [], attempts: new Map(), number: 0 };
    this.chats.set(id, chat);
    return chat;
  }

  #now() {
    return (this.#tick += 1000);
  }

  #check(chat, turn) {
    if (!LIVE.has(chat.status.state)) throw new HttpError(409, 'not_live', 'Nothing is running.');
    if (chat.status.turn !== turn) throw new HttpError(409, 'stale_turn', 'Another turn is running.');
  }

  #tell(chat, change = {}) {
    const { status } = chat;
    const queued = chat.inputs.filter(input => input.fate.type === 'queued').length;
    const running = [...chat.attempts.values()].filter(attempt => !attempt.isOver);
    const attempts = running.map(({ id, row }) => ({ attempt: id, row: row.id, model: row.model }));
    const awaiting = chat.rows.filter(row => row.status === 'awaiting_approval').map(row => row.id);
    chat.status = { ...status, ...change, queued, attempts, awaiting, revision: status.revision + 1 };
    for (const send of this.watchers) send('status', chat.status);
  }

  #said(chat, message) {
    const at = this.#now();
    const row = { id: message.id, author: 'user', status: 'complete', turn: `1.${chat.number + 1}`, slot: 0, createdAt: at, updatedAt: at, message };
    chat.rows.push(row);
    chat.updatedAt = at;
    return row;
  }

  #enqueue({ id, body, response }, queue) {
    const chat = this.#chat(id);
    this.#check(chat, body.turn);
    const duplicate = !this.#wait(chat, body.message, body.models, queue);
    return json(response, 202, { inputId: body.message.id, seq: chat.inputs.length, turn: body.turn, duplicate });
  }

  /** Whether it is new. */
  #wait(chat, message, models, queue) {
    if (chat.inputs.some(input => input.id === message.id)) return false;
    const seq = chat.inputs.length + 1;
    const fate = { type: 'queued' };
    chat.inputs.push({ id: message.id, seq, queue, text: said(message), parts: message.parts, fate, acceptedAt: this.#now(), message, models });
    this.#tell(chat);
    return true;
  }

  /** The reply to a message that waits: nothing until its turn has begun. */
  async #streamOf(chat, id, response, request) {
    response.writeHead(200, STREAM);
    response.flushHeaders();
    while (!response.destroyed) {
      const answer = chat.rows.find(row => row.parent === id);
      if (answer) return this.#stream(chat.attempts.get(answer.attempt), undefined, response, request);
      await new Promise(resolve => setTimeout(resolve, 10));
    }
    return undefined;
  }

  /** Starts a turn; gives the attempt of its first model. */
  #turn(chat, saidRow, models = ['fast']) {
    const turn = `1.${++chat.number}`;
    const attempts = models.map((model, slot) => {
      const at = this.#now();
      // Of this chat alone, as those of the real server are.
      const id = `msg-${turn}.${slot}`;
      const message = { id, role: 'assistant', parts: [] };
      const row = { id, author: 'assistant', status: 'open', turn, model, slot, parent: saidRow.id, createdAt: at, updatedAt: at, message };
      chat.rows.push(row);
      return this.#attempt(chat, row);
    });
    this.#tell(chat, { state: 'pending', turn });
    for (const attempt of attempts) this.#run(chat, attempt, scriptFor(said(saidRow.message)));
    return attempts[0];
  }

  #attempt(chat, row) {
    row.attempt = `1.${++chat.number}`;
    row.status = 'open';
    const attempt = new Attempt(row.attempt, row);
    attempt.chat = chat;
    chat.attempts.set(attempt.id, attempt);
    return attempt;
  }

  #goOn(chat, row, part) {
    const attempt = this.#attempt(chat, row);
    const rest = row.rest;
    attempt.parts = row.message.parts;
    this.#tell(chat, { state: 'streaming' });
    const steps = part.approval.approved ? [{ result: part, output: 'Buy milk.' }, ...rest] : [{ denied: part }, { text: 'Then not.' }];
    this.#run(chat, attempt, steps, seed(row.message.parts, part));
  }

  #stop(chat, message) {
    for (const attempt of chat.attempts.values()) {
      if (attempt.isOver || (message && attempt.row.id !== message)) continue;
      attempt.isStopped = true;
      this.#end(chat, attempt, 'stopped', { type: 'abort', reason: 'stopped' });
    }
  }

  #end(chat, attempt, status, chunk) {
    if (attempt.isOver) return;
    const { row } = attempt;
    row.status = status;
    row.updatedAt = chat.updatedAt = this.#now();
    const metadata = { model: row.model, usage: { inputTokens: 812, outputTokens: 96, inputTokenDetails: { cacheReadTokens: 512 } }, cost: 0.0021, durationMs: 5310 };
    row.message = { id: row.id, role: 'assistant', metadata, parts: attempt.parts };
    attempt.append({ type: 'message-metadata', messageMetadata: metadata });
    attempt.append(chunk);
    attempt.isOver = true;
    attempt.append(undefined);
    if ([...chat.attempts.values()].some(other => !other.isOver)) return this.#tell(chat);
    const state = { complete: 'done', awaiting_approval: 'awaiting_approval' }[status] ?? status;
    if (status !== 'complete') {
      for (const input of chat.inputs) if (input.fate.type === 'queued') input.fate = { type: 'returned', why: status };
    }
    const next = chat.inputs.find(input => input.fate.type === 'queued');
    if (!next) return this.#tell(chat, { state });
    next.fate = { type: 'consumed' };
    return this.#turn(chat, this.#said(chat, next.message), next.models);
  }

  async #run(chat, attempt, steps, before = []) {
    const emit = chunk => !attempt.isOver && attempt.append(chunk);
    emit({ type: 'start', messageId: attempt.row.id });
    before.forEach(emit);
    emit({ type: 'start-step' });
    attempt.parts = [...attempt.parts, { type: 'step-start' }];
    let block = 0;
    for (const [at, step] of steps.entries()) {
      // One turn of the event loop for each, as a network has it.
      await new Promise(resolve => setImmediate(resolve));
      if (attempt.isOver) return;
      if (step.isOver) continue;
      if (step.wait) {
        await this.gates.wait(step.wait);
      } else if (step.fail) {
        return this.#end(chat, attempt, 'failed', this.#failed(attempt, step.fail));
      } else if (step.refuse) {
        const about = { attempt: 1, provider: 'scripted', model: attempt.row.model };
        const notice = data => emit({ type: 'data-attempt', data: { ...data, ...about }, transient: true });
        notice({ type: 'failed', class: step.refuse, safe: true, errorText: 'Too many requests.' });
        notice({ type: 'waiting', delayMs: 500 });
        await this.gates.wait('retry');
      } else if (step.text ?? step.reasoning) {
        const [kind, delta] = step.text ? ['text', step.text] : ['reasoning', step.reasoning];
        const last = attempt.parts.at(-1);
        const goesOn = last?.type === kind && last.state === 'streaming';
        const part = goesOn ? last : { type: kind, text: '', state: 'streaming' };
        if (!goesOn) {
          part.block = `${kind}-${attempt.id}-${++block}`;
          attempt.parts.push(part);
          emit({ type: `${kind}-start`, id: part.block });
        }
        part.text += delta;
        emit({ type: `${kind}-delta`, id: part.block, delta });
        const next = steps[at + 1];
        if (!(step.text ? next?.text : next?.reasoning) && !next?.wait) this.#close(part, kind, emit);
        if (chat.status.state === 'pending') this.#tell(chat, { state: 'streaming' });
      } else if (step.tool) {
        const stays = await this.#tool(chat, attempt, step, steps.slice(at + 1), emit);
        if (!stays) return;
        const steer = chat.inputs.find(input => input.queue === 'steer' && input.fate.type === 'queued');
        emit({ type: 'finish-step' });
        emit({ type: 'start-step' });
        attempt.parts.push({ type: 'step-start' });
        if (steer) {
          steer.fate = { type: 'consumed' };
          emit({ type: 'data-input', data: { inputId: steer.id, fate: 'consumed' }, transient: true });
          emit({ type: 'steering-message', id: steer.id, parts: steer.message.parts });
          attempt.parts.push({ type: 'steering-message', id: steer.id, parts: steer.message.parts });
          this.#tell(chat);
          const delta = `Noted: ${steer.text}`;
          emit({ type: 'text-start', id: 'noted' });
          emit({ type: 'text-delta', id: 'noted', delta });
          emit({ type: 'text-end', id: 'noted' });
          attempt.parts.push({ type: 'text', text: delta, state: 'done' });
          break;
        }
      } else if (step.result) {
        Object.assign(step.result, { state: 'output-available', output: step.output });
        emit({ type: 'tool-output-available', toolCallId: step.result.toolCallId, output: step.output });
      } else if (step.denied) {
        step.denied.state = 'output-denied';
        emit({ type: 'tool-output-denied', toolCallId: step.denied.toolCallId });
      }
    }
    for (const part of attempt.parts) if (part.state === 'streaming') this.#close(part, part.type, emit);
    emit({ type: 'finish-step' });
    this.#end(chat, attempt, 'complete', { type: 'finish', finishReason: 'stop' });
  }

  #failed(attempt, errorText) {
    attempt.row.error = { class: 'server', message: errorText };
    return { type: 'error', errorText };
  }

  #close(part, kind, emit) {
    if (part.state !== 'streaming') return;
    part.state = 'done';
    emit({ type: `${kind}-end`, id: part.block });
    delete part.block;
  }

  /** Whether the run goes on at once. */
  async #tool(chat, attempt, { tool, input }, rest, emit) {
    const toolCallId = `call-${attempt.id}-${attempt.log.length}`;
    const json = JSON.stringify(input);
    emit({ type: 'tool-input-start', toolCallId, toolName: tool });
    for (const inputTextDelta of [json.slice(0, 5), json.slice(5)]) emit({ type: 'tool-input-delta', toolCallId, inputTextDelta });
    emit({ type: 'tool-input-available', toolCallId, toolName: tool, input });
    const part = { type: `tool-${tool}`, toolCallId, state: 'input-available', input };
    attempt.parts.push(part);
    if (tool === 'read_file') {
      part.state = 'approval-requested';
      part.approval = { id: `approval-${toolCallId}`, requestReason: 'It reads a file.' };
      emit({ type: 'tool-approval-request', toolCallId, approvalId: part.approval.id, reason: part.approval.requestReason });
      emit({ type: 'finish-step' });
      attempt.row.rest = rest;
      this.#end(chat, attempt, 'awaiting_approval', { type: 'finish', finishReason: 'tool-calls' });
      return false;
    }
    emit({ type: 'tool-output-available', toolCallId, output: 'thinking …', preliminary: true });
    const [left, operator, right] = input.expression.split(/([*+])/);
    const output = operator === '*' ? left * right : Number(left) + Number(right);
    // What the script waits for behind the call is the tool at work.
    if (rest[0]?.wait) {
      await this.gates.wait(rest[0].wait);
      rest[0].isOver = true;
    }
    if (attempt.isOver) return false;
    Object.assign(part, { state: 'output-available', output });
    emit({ type: 'tool-output-available', toolCallId, output });
    return true;
  }

  async #stream(attempt, after, response, request) {
    const { chat, row, id } = attempt;
    if (!response.headersSent) {
      response.writeHead(200, { ...STREAM, 'x-chat-turn': row.turn, 'x-chat-attempt': id, 'x-chat-message': row.id });
      response.flushHeaders();
    }
    let isGone = false;
    request.socket.once('close', () => (isGone = true));
    const beside = [...chat.attempts.values()].filter(other => other.row.turn === row.turn && !other.isOver);
    const turn = {
      chat: chat.id, turn: row.turn, message: row.id, model: row.model, attempt: id,
      attempts: beside.map(({ id, row }) => ({ attempt: id, row: row.id, model: row.model })),
    };
    const send = (chunk, seq) => {
      response.write(`data: ${JSON.stringify(chunk)}\n${seq === undefined ? '' : `id: ${id}:${seq}\n`}\n`);
      if (chunk.type === 'start') response.write(`data: ${JSON.stringify({ type: 'data-turn', data: turn, transient: true })}\n\n`);
    };
    // Behind the window all of it comes anew, without numbers up to where it stands.
    const isRebased = after !== undefined && after < this.window;
    const through = isRebased ? attempt.log.length : 0;
    for (let at = isRebased ? 0 : Math.max(0, (after ?? 0) - this.repeats); !isGone; ) {
      if (at < attempt.log.length) {
        const chunk = attempt.log[at++];
        if (chunk === undefined) {
          response.write('data: [DONE]\n\n');
          return response.end();
        }
        send(chunk, at >= through ? at : undefined);
      } else {
        await attempt.next();
      }
    }
    return undefined;
  }
}

const said = message => (message?.parts ?? []).map(part => part.text ?? '').join('');

/** Chunks that give the parts a message has when it goes on. */
function seed(parts, asked) {
  return parts.flatMap((part, at) => {
    if (part.type === 'step-start') return [{ type: 'start-step' }];
    if (part.type === 'text') {
      const id = `seed-${at}`;
      return [{ type: 'text-start', id }, { type: 'text-delta', id, delta: part.text }, { type: 'text-end', id }];
    }
    const { toolCallId, input } = part;
    const chunks = [{ type: 'tool-input-available', toolCallId, toolName: part.type.slice(5), input }];
    if (part === asked) {
      const { id: approvalId, approved, reason } = part.approval;
      chunks.push({ type: 'tool-approval-request', toolCallId, approvalId }, { type: 'tool-approval-response', approvalId, approved, reason });
    }
    return chunks;
  });
}

async function text(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
