// Talking: send, read, steer, stop, ask again, several models, approvals.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { flow } from '../world.mjs';

// [CH-266]
test('a question is answered; usage and cost stand below', flow(async ({ page }) => {
  await page.say('hello');
  const answer = await page.answered('Hello! How are you?');
  await page.idle();
  await answer.getByText(/fast · 812 tokens in \(512 cached\) · 96 out · cost 0\.00\d+/).waitFor();
  assert.deepEqual(await page.texts(), ['hello', 'Hello! How are you?']);
  assert.equal(await page.page.title(), 'hello – chat');
  await page.page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'hello' }).waitFor();
}));

// [CH-255]
test('markdown: closed blocks are put there once, the open one is made anew', flow(async ({ page, gates }) => {
  await page.say('markdown');
  await page.answered('two');
  // Marked by hand: if the heading is still marked at the end, its element is the same.
  const heading = page.transcript.getByRole('heading', { name: 'Heading' });
  await heading.evaluate(element => (element.dataset.mark = 'kept'));
  gates.open('markdown');
  await page.answered('The end.');
  await page.idle();
  assert.equal(await heading.getAttribute('data-mark'), 'kept');
  assert.equal(await page.transcript.getByRole('cell').count(), 2);
  assert.match(await page.transcript.locator('pre code.language-rust').innerText(), /^fn main\(\) \{\n\n {4}println/);
  await page.shot('markdown');
}));

// [CH-257]
test('reasoning is folded', flow(async ({ page }) => {
  await page.say('think');
  await page.answered('Thought about.');
  const reasoning = page.transcript.getByText('First I think.');
  assert.equal(await reasoning.count(), 0);
  await page.transcript.getByText('Reasoning', { exact: true }).click();
  await reasoning.waitFor();
  await page.page.locator('.reasoning strong', { hasText: 'think' }).waitFor();
}));

// [CH-258]
test('a tool call shows input, progress and output', flow(async ({ page, gates }) => {
  await page.say('tool');
  const summary = page.transcript.getByText('calculator');
  await summary.click();
  await page.transcript.getByText('thinking …').waitFor();
  await page.transcript.getByText('Output so far').waitFor();
  await page.transcript.getByText('"expression": "6*7"').waitFor();
  gates.open('tool');
  await page.answered('It is 42.');
  await page.idle();
  // Stored now, and still open: what was unfolded stays so.
  await page.transcript.getByText('Output', { exact: true }).waitFor();
  assert.equal(await page.page.locator('.tool details').getAttribute('open'), '');
}, { standIn: true }));

// [CH-259]
test('a call is allowed, another one denied with a reason', flow(async ({ page, stored }) => {
  await page.say('ask');
  const question = page.page.getByRole('group', { name: 'May the tool read_file run?' });
  await question.getByText('Reason (told to the model)').waitFor();
  await page.shot('approval');
  await page.button('Allow', question).click();
  await page.answered('All done.');
  await page.idle();
  assert.equal(await question.count(), 0);
  assert.deepEqual(await page.texts().then(texts => texts.length), 2);

  await page.say('ask again');
  await question.getByLabel('Reason (told to the model)').fill('private');
  await page.button('Deny', question).click();
  await page.answered(/Then not\.|All done\./);
  await page.idle();
  const { messages } = await stored();
  const part = messages.at(-1).parts.find(part => part.toolCallId);
  assert.deepEqual([part.state, part.approval.reason], ['output-denied', 'private']);
}));

// [CH-260]
test('retries are told while they happen', flow(async ({ page, gates }) => {
  await page.say('retry');
  await page.transcript.locator('summary', { hasText: /^Trying scripted\/fast again in \d/ }).waitFor();
  gates.open('retry');
  await page.answered('In the end it worked.');
}));

// [CH-260]
test('a failure is shown with what came before it', flow(async ({ page }) => {
  await page.say('fail');
  const answer = await page.answered(/^Failed: ./);
  await page.idle();
  await answer.getByText('It begins').waitFor();
  await answer.getByText(/^Failed: ./).waitFor();
}));

// [CH-261]
test('what is said in between is shown waiting, then in its place', flow(async ({ page, gates }) => {
  await page.say('steps');
  await page.answered('Working.');
  await page.say('Shorter, please.');
  await page.queue.getByText('Shorter, please.').waitFor();
  await page.queue.getByText('Waits for the next step').waitFor();
  await page.shot('steering');
  gates.open('steps');
  const answer = await page.answered('Noted: Shorter, please.');
  await answer.locator('.steer').getByText('Shorter, please.').waitFor();
  await page.queue.waitFor({ state: 'hidden' });
  await page.idle();
  assert.equal(await page.answers.count(), 1);
}));

// [CH-262]
test('what shall be answered later is answered in a turn of its own', flow(async ({ page, gates }) => {
  await page.say('slow');
  await page.answered('One');
  await page.field.fill('hello');
  await page.button('Later').click();
  await page.queue.getByText('Waits for a turn of its own').waitFor();
  gates.open('slow-1');
  gates.open('slow-2');
  await page.answered('How are you?', 1);
  await page.idle();
  assert.deepEqual(await page.texts(), ['slow', 'One two three.', 'hello', 'Hello! How are you?']);
}));

// [CH-263]
test('stop returns what waited; it can be sent again', flow(async ({ page }) => {
  await page.say('slow');
  await page.answered('One');
  await page.say('hello');
  await page.queue.getByText('Waits for the next step').waitFor();
  await page.button('Stop').click();
  await page.queue.getByText('Not used: the turn was stopped').waitFor();
  const stopped = await page.answered('Stopped');
  await stopped.locator('.parts').getByText('One').waitFor();
  await page.button('Send again').click();
  await page.answered('How are you?', 1);
  await page.queue.waitFor({ state: 'hidden' });
  assert.deepEqual(await page.texts(), ['slow', 'One', 'hello', 'Hello! How are you?']);
}));

// [CH-262]
test('what waits can be taken back', flow(async ({ page, gates }) => {
  await page.say('slow');
  await page.answered('One');
  await page.say('never mind');
  await page.button('Take back').click();
  await page.queue.waitFor({ state: 'hidden' });
  assert.equal(await page.field.inputValue(), 'never mind');
  gates.open('slow-1');
  gates.open('slow-2');
  await page.answered('One two three.');
}));

// [CH-264]
test('an answer is asked for again', flow(async ({ page, stored }) => {
  await page.ask('hello', 'How are you?');
  const first = (await stored()).messages.at(-1).id;
  await page.button('Ask again').click();
  await page.page.locator(`article[data-row]:not([data-row="${first}"]).answer`).getByText('How are you?').waitFor();
  await page.idle();
  assert.deepEqual(await page.texts(), ['hello', 'Hello! How are you?']);
  assert.equal((await stored()).messages.length, 2);
}));

// [CH-265]
test('several models answer side by side, and are stopped one by one', flow(async ({ page, gates }) => {
  await page.page.locator('#models summary').click();
  for (const name of ['fast', 'strong']) await page.page.getByRole('checkbox', { name }).check();
  await page.page.locator('#models summary').click();
  await page.say('slow');
  const group = page.page.getByRole('group', { name: 'Answers of 2 models' });
  await group.waitFor();
  for (const at of [0, 1]) await page.answered('One', at);
  await page.button('Stop this one', page.answers.nth(1)).click();
  await page.answers.nth(1).getByText('Stopped').waitFor();
  for (const gate of ['slow-1', 'slow-1', 'slow-2', 'slow-2']) gates.open(gate);
  await page.answered('One two three.', 0);
  await page.idle();
  await page.shot('side-by-side');
  assert.deepEqual(await page.texts(), ['slow', 'One two three.', 'One']);
}));

// [CH-279]
test('files go along: an image is shown, what is too large is refused, what is removed stays', flow(async ({ page, stored }) => {
  const gif = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64');
  const files = page.page.locator('#files');
  await files.setInputFiles([
    { name: 'dot.gif', mimeType: 'image/gif', buffer: gif },
    { name: 'wrong.gif', mimeType: 'image/gif', buffer: gif },
  ]);
  await page.button('Remove wrong.gif').click();
  await files.setInputFiles({ name: 'large.bin', mimeType: 'application/zip', buffer: Buffer.alloc(3_100_000) });
  await page.page.getByRole('alert').getByText('large.bin does not fit').waitFor();
  await page.ask('hello', 'How are you?');
  await page.page.getByRole('img', { name: 'dot.gif' }).waitFor();
  const { messages } = await stored();
  const sent = messages[0].parts.filter(part => part.type === 'file');
  assert.deepEqual(sent.map(({ mediaType, url }) => [mediaType, url]), [['image/gif', `data:image/gif;base64,${gif.toString('base64')}`]]);
  assert.equal(await page.page.locator('#attached li').count(), 0);
}));

// [CH-280]
test('another chat shows nothing of the one before', flow(async ({ page, gates }) => {
  await page.say('retry');
  await page.transcript.locator('.tried summary').waitFor();
  gates.open('retry');
  await page.answered('In the end it worked.');
  await page.idle();
  await page.button('New chat').click();
  await page.ask('hello', 'How are you?');
  assert.equal(await page.transcript.locator('.tried:visible').count(), 0);
  await page.page.getByRole('link', { name: 'retry' }).click();
  await page.answered('In the end it worked.');
  assert.deepEqual(await page.texts(), ['retry', 'In the end it worked.']);
}));
