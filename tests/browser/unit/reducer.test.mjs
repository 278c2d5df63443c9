// The page's reader and reducer on the golden streams of crates/agent-loop: the messages are those of the library.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { Reducer, ReduceError } from '../../../crates/chat/src/serve/page/reducer.js';
import { SseReader } from '../../../crates/chat/src/serve/page/sse.js';

const golden = new URL('../../../crates/agent-loop/tests/golden/', import.meta.url);
const names = readdirSync(new URL('streams/', golden)).filter(name => /\.(7|latest)\.sse$/.test(name));
const read = name => readFileSync(new URL(name, golden), 'utf8');

function fold(events) {
  assert.equal(events.at(-1).data, '[DONE]');
  const reducer = new Reducer('none');
  for (const { data } of events.slice(0, -1)) reducer.push(JSON.parse(data));
  return reducer;
}

// [CH-253]
test('golden streams give the messages of the library', () => {
  assert.ok(names.length >= 12, `${names}`);
  for (const name of names) {
    const reducer = fold(new SseReader().push(read(`streams/${name}`)));
    const message = JSON.parse(read(`streams/${name.replace(/sse$/, 'json')}`));
    assert.deepEqual(JSON.parse(JSON.stringify(reducer.message)), message, name);
    assert.ok(reducer.isOver, name);
  }
});

// [CH-253]
test('every chunk of the latest level is known', () => {
  let known = 0;
  for (const line of read('level-latest.jsonl').trimEnd().split('\n')) {
    try {
      new Reducer('m').push(JSON.parse(line));
      known++;
    } catch (error) {
      // A chunk by itself may be about a block or call that is not there; its kind is known all the same.
      assert.match(error.message, /^no /, line);
    }
  }
  assert.ok(known >= 20, `${known}`);
  for (const type of ['unknown', 'tool-unknown', undefined]) {
    assert.throws(() => new Reducer('m').push({ type }), ReduceError);
  }
});

// [CH-254]
test('events are the same wherever their text is cut', () => {
  const text = '\uFEFFid: 1.1:1\r\ndata: {"a":\rdata:1}\n\n: alive\n\nevent: status\ndata\n\nid: x\n\ndata: last\n\n';
  const expected = [
    { event: 'message', id: '1.1:1', data: '{"a":\n1}' },
    { event: 'status', id: undefined, data: '' },
    { event: 'message', id: undefined, data: 'last' },
  ];
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second++) {
      const reader = new SseReader();
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      assert.deepEqual(pieces.flatMap(piece => reader.push(piece)), expected, `${first} ${second}`);
    }
  }
});

// [CH-253]
test('a second start says all of it again', () => {
  const reducer = new Reducer('none');
  const once = [
    { type: 'start', messageId: 'm1', messageMetadata: { model: 'fast' } },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Hel' },
  ];
  for (const chunk of [...once, ...once, { type: 'text-delta', id: 't', delta: 'lo' }]) reducer.push(chunk);
  assert.deepEqual(reducer.message, {
    id: 'm1',
    role: 'assistant',
    metadata: { model: 'fast' },
    parts: [{ type: 'text', text: 'Hello', state: 'streaming' }],
  });
});

// [CH-256]
test('metadata is merged deeply and reaches no prototype', () => {
  const reducer = new Reducer('m');
  const metadata = text => reducer.push({ type: 'message-metadata', messageMetadata: JSON.parse(text) });
  metadata('{"usage":{"input":{"total":1}},"list":[1,2]}');
  metadata('{"usage":{"output":{"total":2}},"list":[3],"__proto__":{"polluted":true}}');
  assert.deepEqual(reducer.message.metadata, {
    usage: { input: { total: 1 }, output: { total: 2 } },
    list: [3],
  });
  assert.equal({}.polluted, undefined);
  assert.equal(reducer.message.metadata.polluted, undefined);
});

// [CH-253]
test('parts keep their identity while they grow, and a reset drops those of the step only', () => {
  const reducer = new Reducer('m');
  const push = (...chunks) => chunks.forEach(chunk => reducer.push(chunk));
  push({ type: 'start-step' }, { type: 'text-start', id: 'a' }, { type: 'text-delta', id: 'a', delta: 'x' });
  const kept = reducer.message.parts[1];
  push({ type: 'text-end', id: 'a' }, { type: 'start-step' }, { type: 'text-start', id: 'b' }, { type: 'reset-step' });
  assert.equal(reducer.message.parts.length, 3);
  assert.equal(reducer.message.parts[1], kept);
  assert.deepEqual(kept, { type: 'text', text: 'x', state: 'done' });
  assert.throws(() => push({ type: 'text-delta', id: 'b', delta: 'y' }), ReduceError);
});
