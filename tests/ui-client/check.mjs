// Reads our chunks and whole streams with the AI SDK's own reader, at each level.
//
// node check.mjs: the golden files of crates/agent-loop, whose messages are those of our own reader.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';

const golden = new URL('../../crates/agent-loop/tests/golden/', import.meta.url);
const levels = ['5', '6', '7', 'latest'];
// What a level lacks: its reader must refuse it, or it would say nothing that it takes the rest.
const refused = {
  5: ['reset-step', 'custom', 'reasoning-file', 'tool-approval-request', 'tool-output-denied', 'steering-message'],
  6: ['reset-step', 'custom', 'reasoning-file', 'tool-approval-response', 'steering-message'],
  7: ['steering-message'],
  latest: [],
};

const bytes = text => new Response(text).body;
const lines = name => readFileSync(new URL(name, golden), 'utf8').trimEnd().split('\n');

async function chunksOf(transport, text) {
  const chunks = [];
  for await (const chunk of transport.processResponseStream(bytes(text))) chunks.push(chunk);
  return chunks;
}

// Where the readers of the levels differ in what they keep of the same chunks.
function comparable(message, level) {
  for (const part of message.parts) {
    if (part.state === 'output-error') {
      // The text of an input that could not be used stands in `rawInput` before the latest level.
      part.input ??= part.rawInput;
      delete part.rawInput;
    }
    // Level 5 forgets who runs a dynamic tool once it has a result.
    if (level === '5' && part.type === 'dynamic-tool') delete part.providerExecuted;
  }
  return message;
}

let [chunkCount, refusedCount, streamCount] = [0, 0, 0];
for (const level of levels) {
  const ai = await import(`ai-${level}`);
  const transport = new ai.DefaultChatTransport();

  for (const line of lines(`level-${level}.jsonl`)) {
    const read = await chunksOf(transport, `data: ${line}\n\ndata: [DONE]\n\n`);
    assert.deepEqual(read, [JSON.parse(line)], `level ${level}`);
    chunkCount++;
  }
  for (const line of lines('level-latest.jsonl')) {
    if (!refused[level].includes(JSON.parse(line).type)) continue;
    await assert.rejects(chunksOf(transport, `data: ${line}\n\n`), `level ${level} takes ${line}`);
    refusedCount++;
  }

  const streams = readdirSync(new URL('streams/', golden)).filter(name => name.endsWith(`.${level}.sse`));
  assert.ok(streams.length >= 9, `level ${level}: ${streams}`);
  for (const name of streams) {
    const text = readFileSync(new URL(`streams/${name}`, golden), 'utf8');
    const stream = transport.processResponseStream(bytes(text));
    let message;
    const errors = [];
    for await (message of ai.readUIMessageStream({ stream, onError: error => errors.push(String(error)) }));
    const ours = JSON.parse(readFileSync(new URL(`streams/${name.replace(/sse$/, 'json')}`, golden), 'utf8'));
    // JSON leaves out what is undefined, as our messages do.
    const theirs = JSON.parse(JSON.stringify(message));
    assert.deepEqual(comparable(theirs, level), comparable(ours, level), name);
    const told = text.split('\n').filter(line => line.startsWith('data: {"type":"error"')).length;
    assert.equal(errors.length, told, `${name}: ${errors}`);
    streamCount++;
  }
}
assert.ok(refusedCount >= 20, `${refusedCount}`);
console.log(`${chunkCount} chunks and ${streamCount} streams read at ${levels.length} levels, ${refusedCount} refused`);
