// Model output runs nothing and fetches nothing; the page can be used without a mouse, without eyes, on a telephone.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { flow } from '../world.mjs';

// [CH-256]
test('nothing of the model runs, is fetched, or changes the page', flow(async ({ page, context, url }) => {
  const elsewhere = [];
  context.on('request', request => request.url().startsWith(url) || request.url().startsWith('data:') || elsewhere.push(request.url()));
  await page.say('hostile');
  await page.answered('onerror=');
  await page.idle();
  const found = await page.transcript.evaluate(element => ({
    hacked: window.hacked,
    forbidden: element.querySelectorAll('script, iframe, svg, form, style, base, object, embed, [onerror], [onload], [id]:not(details)').length,
    images: [...element.querySelectorAll('img')].map(image => image.src.slice(0, 14)),
    links: [...element.querySelectorAll('.parts a')].map(link => [link.getAttribute('href'), link.rel, link.target]),
  }));
  assert.deepEqual(found, {
    hacked: undefined,
    forbidden: 0,
    images: ['data:image/gif'],
    links: [
      ['https://tracker.example/pixel.png', 'noopener noreferrer nofollow', '_blank'],
      ['https://example.com/', 'noopener noreferrer nofollow', '_blank'],
    ],
  });
  assert.deepEqual(elsewhere, []);
}));

// [CH-251]
test('the policy of the page stops script that gets in all the same', flow(async ({ page }) => {
  const blocked = await page.page.evaluate(() => {
    const results = [];
    addEventListener('securitypolicyviolation', event => results.push(event.effectiveDirective));
    const script = document.createElement('script');
    try {
      script.textContent = 'window.hacked = 1';
    } catch (error) {
      results.push(error.name);
    }
    document.body.append(script);
    try {
      document.body.insertAdjacentHTML('beforeend', '<p>html</p>');
    } catch (error) {
      results.push(error.name);
    }
    // By a timer: what the test runs by itself may do more than the page.
    setTimeout(() => {
      try {
        (0, eval)('window.hacked = 2');
      } catch (error) {
        results.push(error.name);
      }
    });
    const image = document.createElement('img');
    image.src = 'https://tracker.example/x.png';
    document.body.append(image);
    return new Promise(resolve => setTimeout(() => resolve([window.hacked ?? 'not', ...new Set(results)].sort()), 100));
  });
  assert.deepEqual(blocked, ['EvalError', 'TypeError', 'img-src', 'not', 'require-trusted-types-for']);
}, { expected: [/Content Security Policy|TrustedHTML|TrustedScript/] }));

// [CH-272]
test('by keyboard alone: skip, send, allow, choose a chat', flow(async ({ page }) => {
  const { page: tab } = page;
  await page.field.waitFor();
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'text');
  await tab.keyboard.type('ask');
  await tab.keyboard.press('Enter');
  const question = tab.getByRole('group', { name: 'May the tool read_file run?' });
  await question.waitFor();
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'text');
  for (let count = 0; count < 30; count++) {
    await tab.keyboard.press('Shift+Tab');
    if (await tab.evaluate(() => document.activeElement.dataset.action === 'allow')) break;
  }
  const outline = await tab.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid');
  await tab.keyboard.press('Enter');
  await page.answered('All done.');
  await page.idle();
  const isAt = selector => tab.evaluate(selector => document.activeElement.matches(selector), selector);
  for (let count = 0; count < 60 && !(await isAt('.skip')); count++) await tab.keyboard.press('Shift+Tab');
  await tab.keyboard.press('Tab');
  assert.ok(await isAt('#theme'), 'the page begins with its header');
  await tab.keyboard.press('Shift+Tab');
  await tab.keyboard.press('Enter');
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'text');
}));

// [CH-273]
test('read out are finished blocks only, and what happens', flow(async ({ page, gates }) => {
  const said = () => page.page.locator('#announcements p').allTextContents();
  await page.say('slow');
  await page.answered('One');
  gates.open('slow-1');
  await page.answered('One two');
  assert.deepEqual(await said(), []);
  gates.open('slow-2');
  await page.answered('One two three.');
  await page.idle();
  assert.deepEqual(await said(), ['One two three.', 'The answer is complete.']);
  const live = await page.page.locator('[aria-live]').evaluateAll(all => all.map(element => [element.id, element.ariaLive]));
  assert.deepEqual(live, [['announcements', 'polite']]);
  // What is loaded is not read out again.
  await page.page.reload();
  await page.answered('One two three.');
  assert.deepEqual(await said(), []);
}));

// [CH-274]
test('everything has a name and a role', flow(async ({ page }) => {
  await page.say('ask');
  await page.page.getByRole('group', { name: 'May the tool read_file run?' }).waitFor();
  for (const role of ['banner', 'navigation', 'main', 'log']) assert.equal(await page.page.getByRole(role).count(), 1, role);
  const nameless = await page.page.locator('button, input, textarea, select, a').evaluateAll(all =>
    all
      .filter(element => !(element.textContent.trim() || element.ariaLabel || element.labels?.length))
      .map(element => element.outerHTML),
  );
  assert.deepEqual(nameless, []);
  const ids = await page.page.locator('[id]').evaluateAll(all => all.map(element => element.id));
  assert.equal(new Set(ids).size, ids.length);
}));

// [CH-275]
test('on a telephone the list is a drawer and nothing runs out of the page', flow(async ({ page }) => {
  await page.say('markdown');
  await page.answered('two');
  const { page: tab } = page;
  assert.equal(await tab.getByRole('navigation', { name: 'Chats' }).isVisible(), false);
  const toggle = page.button('Chats');
  await toggle.click();
  await tab.getByRole('navigation', { name: 'Chats' }).waitFor();
  assert.equal(await toggle.getAttribute('aria-expanded'), 'true');
  await tab.keyboard.press('Escape');
  assert.equal(await toggle.getAttribute('aria-expanded'), 'false');
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'chats-toggle');
  assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.shot('narrow');
}, { viewport: { width: 360, height: 640 } }));

// [CH-276]
test('light and dark, by the system and by the button', flow(async ({ page }) => {
  const { page: tab } = page;
  const colour = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = 'rgb(255, 255, 255)';
  assert.equal(await colour(), light);
  await tab.emulateMedia({ colorScheme: 'dark' });
  const dark = await colour();
  assert.notEqual(dark, light);
  await page.button('Theme: system').click();
  assert.equal(await colour(), light);
  await tab.reload();
  await page.button('Theme: light').click();
  await tab.emulateMedia({ colorScheme: 'light' });
  assert.equal(await colour(), dark);
  await page.say('markdown');
  await page.answered('two');
  await page.shot('dark');
  await page.button('Theme: dark').click();
  assert.equal(await colour(), light);
}));

// [CH-277]
test('a page that nothing but itself could serve: no address of elsewhere in it', flow(async ({ page, context, url }) => {
  const asked = [];
  context.on('request', request => asked.push(request.url()));
  await page.page.reload();
  await page.field.waitFor();
  assert.ok(asked.length >= 15, `${asked}`);
  assert.deepEqual(asked.filter(address => !address.startsWith(`${url}/`)), []);
}));
