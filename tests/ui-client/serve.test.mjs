// Talks to a running `chat serve` with the AI SDK's own transport and reader, at each level.
//
// CHAT=PATH node --test serve.test.mjs: the program to run. It answers with the demo model inside of it, and keeps nothing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

const levels = ['5', '6', '7', 'latest'];

async function started() {
  const program = spawn(process.env.CHAT, ['serve', '--memory', '--listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, XDG_CONFIG_HOME: '/nowhere' },
  });
  for await (const line of createInterface({ input: program.stdout })) {
    const address = line.match(/http:\/\/[^\s/]+/)?.[0];
    if (address) return { program, address };
  }
  throw new Error('the server has not told its address');
}

const { program, address } = await started();
process.on('exit', () => program.kill('SIGKILL'));

const said = (id, text) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const stored = async chat => (await (await fetch(`${address}/api/chat/${chat}`)).json()).messages;

async function folded(ai, stream) {
  let message;
  for await (const next of ai.readUIMessageStream({ stream })) message = next;
  return message;
}

// What a client holds of a message and what the server says of it: the states of parts that are over are told in JSON.
const plain = message => JSON.parse(JSON.stringify(message));

const everyLevel = check => async t => {
  for (const level of levels) {
    const ai = await import(`ai-${level}`);
    const transport = new ai.DefaultChatTransport({ api: `${address}/api/chat`, headers: { 'x-ui-protocol': level } });
    const send = (chatId, messages, more = {}) =>
      transport.sendMessages({ trigger: 'submit-message', chatId, messageId: undefined, messages, abortSignal: undefined, ...more });
    await t.test(`level ${level}`, () => check({ ai, level, transport, send }));
  }
};

// [CH-190]
test('an answer with reasoning and tools is folded to what the server keeps', everyLevel(async ({ ai, level, transport, send }) => {
  const chat = `whole-${level}`;
  const question = said('u1', 'what is 17*23, and what time is it?');
  const message = await folded(ai, await send(chat, [question]));
  const kinds = message.parts.map(part => (part.type.startsWith('tool-') ? 'dynamic-tool' : part.type));
  for (const kind of ['step-start', 'reasoning', 'text', 'dynamic-tool']) assert.ok(kinds.includes(kind), `${kind}: ${kinds}`);
  const [asked, answer] = await stored(chat);
  assert.deepEqual(asked, question);
  assert.equal(answer.id, message.id);
  const told = parts => parts.map(part => [part.type, part.text ?? part.output]);
  assert.deepEqual(told(plain(message).parts), told(answer.parts));
  assert.equal(await transport.reconnectToStream({ chatId: chat }), null, 'nothing runs any more');
}));

// [CH-191]
test('a second reader of a running answer has all of it', everyLevel(async ({ ai, level, transport, send }) => {
  const chat = `twice-${level}`;
  const first = await send(chat, [said('u1', 'what is 2*3?')]);
  const second = await transport.reconnectToStream({ chatId: chat });
  assert.ok(second, 'it runs');
  const [one, two] = await Promise.all([folded(ai, first), folded(ai, second)]);
  assert.deepEqual(plain(two).parts, plain(one).parts);
}));

// [CH-192]
test('a client that goes away stops nothing, and what is asked again is answered anew', everyLevel(async ({ ai, level, transport, send }) => {
  const chat = `away-${level}`;
  const question = said('u1', 'what is 5*5?');
  const gone = new AbortController();
  const reader = (await send(chat, [question], { abortSignal: gone.signal })).getReader();
  await reader.read();
  gone.abort();
  await reader.read().catch(() => {});
  const running = await transport.reconnectToStream({ chatId: chat });
  const whole = running && (await folded(ai, running));
  const [, first] = await stored(chat);
  if (whole) assert.equal(first.id, whole.id);
  const anew = { trigger: 'regenerate-message', messageId: first.id };
  const again = await folded(ai, await send(chat, [question], anew));
  assert.deepEqual((await stored(chat)).map(message => message.id), ['u1', again.id]);
  assert.notEqual(again.id, first.id);
}));

// [CH-193]
test('what is not there is an error the transport throws', async () => {
  const ai = await import('ai-latest');
  const transport = new ai.DefaultChatTransport({ api: `${address}/api/chat` });
  const message = said('u1', 'hi');
  await assert.rejects(transport.sendMessages({ trigger: 'submit-message', chatId: 'x', messages: [message], body: { models: ['missing'] } }));
});

test.after(() => program.kill('SIGTERM'));
