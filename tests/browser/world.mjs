// What a flow needs: a server, a connection to it that can be cut, a browser.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

import { Link } from './link.mjs';
import { Real } from './real.mjs';
import { StandIn } from './stand-in.mjs';

/** Nothing here waits for more than a program: this long means that it hangs. */
const LIMIT_MS = 15_000;

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function launch() {
  const executablePath = process.env.CHROMIUM ?? PLACES.find(existsSync);
  assert.ok(executablePath, 'no Chromium: set CHROMIUM');
  // The sandbox does not work for root, which tests in containers are.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/**
 * Runs a flow in a world of its own, and fails it on whatever the page complains about. With `standIn` it needs what
 * only the stand-in of the server does on demand.
 */
export function flow(run, { token, standIn = false, fragment = '', expected = [], ...options } = {}) {
  return async () => {
    const link = new Link();
    const port = await link.listen();
    const isReal = process.env.CHAT !== undefined && !standIn;
    const server = isReal ? new Real({ token, port }) : new StandIn({ token });
    link.target = await server.listen();
    const url = `http://127.0.0.1:${port}`;
    const context = await browser.newContext({ locale: 'en', ...options });
    context.setDefaultTimeout(LIMIT_MS);
    const complaints = [];
    const watch = page => {
      page.on('pageerror', error => complaints.push(String(error)));
      page.on('console', message => message.type() === 'error' && complaints.push(message.text()));
      return page;
    };
    try {
      const open = async (more = fragment) => {
        const page = watch(await context.newPage());
        await page.goto(`${url}/${more}`);
        return new Page(page);
      };
      const stored = async () => {
        const ask = async path => (await fetch(`http://127.0.0.1:${link.target}${path}`)).json();
        const { chats } = await ask('/api/chats');
        return ask(`/api/chat/${encodeURIComponent(chats[0].id)}`);
      };
      await run({ server, stored, link, url, context, open, gates: server.gates, page: await open() });
    } finally {
      await context.close();
      link.close();
      server.close();
    }
    // A connection that cannot be made is an error to the browser whatever the page makes of it.
    const network = /Failed to load resource|net::ERR_/;
    assert.deepEqual(complaints.filter(text => !network.test(text) && !expected.some(one => one.test(text))), []);
  };
}

/** The page as a user sees it: by roles and words. */
export class Page {
  constructor(page) {
    this.page = page;
    this.field = page.getByRole('textbox', { name: 'Message' });
    this.transcript = page.getByRole('region', { name: 'Conversation' });
    this.answers = page.locator('article.answer');
    this.queue = page.getByRole('region', { name: 'Waiting messages' });
  }

  button(name, within = this.page) {
    return within.getByRole('button', { name, exact: true });
  }

  async say(text) {
    await this.field.fill(text);
    await this.field.press('Enter');
  }

  /** Waits until the page shows this text in an answer. */
  async answered(text, at = -1) {
    const answer = at < 0 ? this.answers.last() : this.answers.nth(at);
    await answer.getByText(text).first().waitFor();
    return answer;
  }

  /** A question with its answer, to its end. */
  async ask(text, answer, at) {
    await this.say(text);
    await this.answered(answer, at);
    await this.idle();
  }

  /** Without a look whether it can be clicked: the page tries by itself too, and then takes the button away. */
  async tryNow() {
    await this.page.locator('#link-retry').dispatchEvent('click');
  }

  /** Waits until nothing is being written. */
  async idle() {
    await this.button('Send').waitFor();
  }

  /** The texts of what the user and the models said, in order. */
  async texts() {
    const all = await this.page.locator('article.user > div, article.answer .parts').allInnerTexts();
    return all.map(text => text.replace(/\s+/g, ' ').trim());
  }

  async shot(name) {
    const folder = process.env.SCREENSHOTS;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }
}

/** Waits until a condition outside of the page holds. */
export async function until(condition, what) {
  const end = Date.now() + LIMIT_MS;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `never: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
