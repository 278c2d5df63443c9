// Stands in for a provider behind the real server: Chat Completions, with a model that follows the scripts.
import { createServer } from 'node:http';

import { Gates, scriptFor } from './scripts.mjs';

export class Provider {
  gates = new Gates();
  #refused = new Set();

  async listen() {
    this.server = createServer((request, response) => this.#answer(request, response).catch(() => response.destroy()));
    await new Promise(resolve => this.server.listen(0, '127.0.0.1', resolve));
    return this.server.address().port;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #answer(request, response) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { messages, model } = JSON.parse(Buffer.concat(pieces));
    const { question, steps, steered } = partOf(messages);
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    if (steps[0]?.refuse && !this.#refused.has(question)) {
      this.#refused.add(question);
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' });
      return response.end('{"error":{"message":"Too many requests.","type":"rate_limit_error"}}');
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    send({ role: 'assistant', content: '' });
    let reason = 'stop';
    for (const [at, step] of (steered ? [{ text: `Noted: ${steered}` }] : steps).entries()) {
      if (response.destroyed) return undefined;
      if (step.wait) await this.gates.wait(step.wait);
      else if (step.text) send({ content: step.text });
      else if (step.reasoning) send({ reasoning_content: step.reasoning });
      else if (step.fail) return response.end();
      else if (step.tool) {
        const call = { index: 0, id: `call_${messages.length}_${at}`, type: 'function' };
        send({ tool_calls: [{ ...call, function: { name: step.tool, arguments: JSON.stringify(step.input) } }] });
        reason = 'tool_calls';
        break;
      }
    }
    send({}, reason);
    const usage = { prompt_tokens: 812, completion_tokens: 96, total_tokens: 908, prompt_tokens_details: { cached_tokens: 512 } };
    response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model, choices: [], usage })}\n\n`);
    return response.end('data: [DONE]\n\n');
  }
}

const textOf = ({ content }) => (typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join(''));

/** What the user said, which the server wraps into a reminder. */
const lastLine = message => textOf(message).replace(/<[^>]*>/g, '').trim().split('\n').at(-1);

/** What of the script is left: behind each call whose result is there. */
function partOf(messages) {
  const users = messages.map((message, at) => ({ at, message })).filter(({ message }) => message.role === 'user');
  const last = users.at(-1);
  // What was said in the middle stands behind a result; it is no question of its own.
  const isSteer = users.length > 1 && messages[last.at - 1]?.role === 'tool';
  const asked = isSteer ? users.at(-2) : last;
  // A reminder behind a complete answer is a question all the same.
  const question = lastLine(asked.message);
  const done = messages.slice(asked.at).filter(({ role }) => role === 'tool').length;
  const script = scriptFor(question);
  let rest = script;
  for (let count = 0; count < done; count++) rest = rest.slice(rest.findIndex(step => step.tool) + 1);
  const isDenied = done > 0 && /denied/i.test(textOf(messages.findLast(({ role }) => role === 'tool')));
  if (isDenied) rest = [{ text: 'Then not.' }];
  return { question, steps: rest, steered: isSteer ? lastLine(last.message) : undefined };
}
