// Nothing is lost: reload, a second tab, a network that goes away, a server that asks for a token.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { flow, until } from '../world.mjs';

// [CH-267]
test('reload in the middle of an answer shows it going on', flow(async ({ page, gates }) => {
  await page.say('slow');
  await page.answered('One');
  await page.page.reload();
  await page.answered('One');
  await page.button('Stop').waitFor();
  gates.open('slow-1');
  await page.answered('One two');
  gates.open('slow-2');
  await page.answered('One two three.');
  await page.idle();
  assert.deepEqual(await page.texts(), ['slow', 'One two three.']);
}));

// [CH-267]
test('a second tab shows the same answer going on, from its beginning', flow(async ({ page, open, gates }) => {
  await page.say('slow');
  await page.answered('One');
  const second = await open(new URL(page.page.url()).hash);
  await second.answered('One');
  gates.open('slow-1');
  await Promise.all([page.answered('One two'), second.answered('One two')]);
  // What starts in one tab appears in the other by itself.
  gates.open('slow-2');
  await Promise.all([page.idle(), second.idle()]);
  await page.ask('hello', 'How are you?', 1);
  await second.answered('How are you?', 1);
  await second.idle();
  assert.deepEqual(await second.texts(), await page.texts());
}));

// [CH-268]
test('a connection that breaks is taken up where it broke', flow(async ({ page, gates, link, server }) => {
  await page.say('slow');
  await page.answered('One');
  link.cut();
  await page.page.getByText('No connection to the server.').waitFor();
  await page.answered('Connection lost; trying again');
  gates.open('slow-1');
  await until(() => server.gates.isReached('slow-2'), 'the answer goes on without a reader');
  link.mend();
  await page.tryNow();
  await page.answered('One two');
  gates.open('slow-2');
  await page.answered('One two three.');
  await page.page.getByText('No connection to the server.').waitFor({ state: 'hidden' });
  await page.idle();
  assert.deepEqual(await page.texts(), ['slow', 'One two three.']);
}));

// [CH-268]
test('a connection that breaks again and again doubles nothing', flow(async ({ page, link, gates, server }) => {
  server.repeats = 3;
  await page.say('long');
  for (let at = 24; at < 199; at += 25) {
    await page.answered(`Paragraph ${at} `);
    link.drop();
    gates.open('long');
  }
  await page.answered('Paragraph 199 ');
  // Looked at before what is stored takes its place.
  const shown = await page.answers.locator('p').allInnerTexts();
  gates.open('end');
  await page.idle();
  const expected = Array.from({ length: 200 }, (_, at) => `Paragraph ${at} with some words in it.`);
  assert.deepEqual(shown, expected);
  assert.deepEqual(await page.answers.locator('p').allInnerTexts(), expected);
  assert.ok(server.cursors.length >= 7, `${server.cursors}`);
  const places = server.cursors.map(cursor => Number(cursor.split(':')[1]));
  assert.ok(places.every((place, at) => at === 0 || place >= places[at - 1]), `${places}`);
}, { standIn: true }));

// [CH-268]
test('behind the window all of it comes anew, once', flow(async ({ page, link, gates, server }) => {
  await page.say('slow');
  await page.answered('One');
  server.window = 1000;
  link.drop();
  gates.open('slow-1');
  await page.answered('One two');
  assert.deepEqual(await page.texts(), ['slow', 'One two']);
  link.drop();
  gates.open('slow-2');
  await page.answered('One two three.');
  await page.idle();
  assert.deepEqual(await page.texts(), ['slow', 'One two three.']);
}, { standIn: true }));

// [CH-269]
test('what is sent while the network is away is sent once when it is back', flow(async ({ page, link, stored }) => {
  await page.ask('hello', 'How are you?');
  link.cut();
  await page.page.getByText('No connection to the server.').waitFor();
  await page.say('hello you');
  await page.transcript.getByText('Being sent …').waitFor();
  link.mend();
  await page.tryNow();
  await page.answered('How are you?', 1);
  await page.idle();
  const { messages } = await stored();
  assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant']);
}));

// [CH-269]
test('an answer that ends while nobody reads is there afterwards', flow(async ({ page, link, gates, stored }) => {
  await page.say('slow');
  await page.answered('One');
  link.cut();
  gates.open('slow-1');
  gates.open('slow-2');
  await until(async () => (await stored()).status.state === 'done', 'the turn is over');
  link.mend();
  await page.answered('One two three.');
  await page.idle();
  assert.deepEqual(await page.texts(), ['slow', 'One two three.']);
}));

// [CH-270]
test('the token is taken from the address once, and asked for where it is missing', flow(async ({ page, open, context }) => {
  await page.page.waitForURL(url => url.hash === '');
  await page.say('hello');
  await page.answered('How are you?');
  assert.equal(await page.page.evaluate(() => sessionStorage.getItem('chat-token')), 'secret');
  assert.equal(await page.page.evaluate(() => JSON.stringify(localStorage)), '{}');
  assert.deepEqual(await context.cookies(), []);

  const other = await open('');
  const dialog = other.page.getByRole('dialog', { name: 'Token needed' });
  await dialog.getByLabel('Token').fill('wrong');
  await other.button('Go on', dialog).click();
  await dialog.waitFor();
  await dialog.getByLabel('Token').fill('secret');
  await other.button('Go on', dialog).click();
  await other.page.getByRole('link', { name: 'hello' }).waitFor();
  assert.equal(await dialog.count(), 0);
}, { token: 'secret', fragment: '#token=secret' }));

// [CH-271]
test('a chat is deleted in both tabs, after a question', flow(async ({ page, open }) => {
  await page.ask('hello', 'How are you?');
  const second = await open(new URL(page.page.url()).hash);
  await second.answered('How are you?');
  await page.button('Delete hello').click();
  await page.button('Cancel').click();
  await page.button('Delete hello').click();
  await page.button('Delete', page.page.getByRole('dialog')).click();
  await page.page.getByRole('heading', { name: 'New chat' }).waitFor();
  await second.page.getByRole('heading', { name: 'No such chat' }).waitFor();
  assert.equal(await second.page.getByRole('link', { name: 'hello' }).count(), 0);
}));

// [CH-269]
test('a page that is loaded before the server can be reached finds everything once it can', flow(async ({ page, context, url }) => {
  await page.ask('hello', 'How are you?');
  const second = await context.newPage();
  // The files come, what is asked afterwards does not.
  await second.route('**/api/**', route => route.abort());
  await second.goto(`${url}/${new URL(page.page.url()).hash}`);
  await second.getByText('No connection to the server.').waitFor();
  await second.unroute('**/api/**');
  await second.locator('#link-retry').dispatchEvent('click');
  await second.getByText('How are you?').waitFor();
  await second.getByRole('link', { name: 'hello' }).waitFor();
  await second.locator('#models summary').waitFor();
}));

// [CH-278]
test('an address of no chat says so, and a new one can be begun from there', flow(async ({ open }) => {
  const page = await open('#chat=..%2F..%2Fetc');
  await page.page.getByRole('heading', { name: 'No such chat' }).waitFor();
  await page.button('New chat').click();
  await page.ask('hello', 'How are you?');
  assert.deepEqual(await page.texts(), ['hello', 'Hello! How are you?']);
}));

// [CH-262]
test('what is said before the first word of the answer is kept too', flow(async ({ page, gates }) => {
  await page.say('slow');
  await page.say('hello');
  await page.answered('One');
  gates.open('slow-1');
  gates.open('slow-2');
  await page.answered('One two three.', 0);
  // In a turn of its own or in this one: the server may have told of the turn before the second was sent.
  await page.transcript.getByText(/How are you\?|Noted: hello/).waitFor();
  assert.equal(await page.transcript.locator('.said', { hasText: 'hello' }).count(), 1);
}));
