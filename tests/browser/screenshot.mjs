// Makes docs/page.png: `npm run screenshot`. Not part of the tests, so that the file changes only when somebody wants it to.
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

import { flow } from './world.mjs';

const path = fileURLToPath(new URL('../../docs/page.png', import.meta.url));

test('docs/page.png', flow(async ({ page, gates }) => {
  await page.ask('hello', 'How are you?');
  await page.button('New chat').click();
  await page.say('Which planets have rings?');
  await page.answered('129,000 km');
  await page.transcript.getByText('calculator').click();
  gates.open('which');
  await page.answered('203,153 km');
  await page.say('And how thick are they?');
  await page.queue.getByText('Waits for the next step').waitFor();
  await page.page.getByRole('link', { name: 'Which planets' }).waitFor();
  await page.page.mouse.move(0, 0);
  await page.page.screenshot({ path, animations: 'disabled' });
}, { viewport: { width: 1200, height: 930 } }));
