// The page: puts what is known into what is shown.
import { ApiError, requestJson, setToken, tryNow } from './api.js';
import { Chat } from './chat.js';
import { Chats } from './chats.js';
import { Composer } from './composer.js';
import { confirmed, h, setText } from './dom.js';
import { follow } from './feed.js';
import { chatList, queueList } from './lists.js';
import { Transcript } from './message.js';

const by = id => document.getElementById(id);
/** Sentences kept in the live region: it is there to be read out, not to be read. */
const ANNOUNCED = 20;

const chats = new Chats();
const dismissed = new Set();
let chat;
let isEnd = true;

// What is announced, and what is told.

function announce(text) {
  const sentence = text.trim();
  if (sentence === '') return;
  const region = by('announcements');
  region.append(h('p', {}, sentence));
  while (region.children.length > ANNOUNCED) region.firstChild.remove();
}

let noticeTimer;
function notice(text) {
  by('notice').textContent = text;
  by('notice').hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (by('notice').hidden = true), 8000);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce('Copied.');
  } catch {
    notice('The browser does not allow copying here.');
  }
}

// The token: once from the address, or asked for.

function fragment() {
  return new URLSearchParams(location.hash.slice(1));
}

function takeToken() {
  const told = fragment();
  const token = told.get('token');
  if (token === null) return;
  setToken(token);
  told.delete('token');
  history.replaceState(null, '', `${location.pathname}${told.size > 0 ? `#${told}` : ''}`);
}

function askForToken() {
  if (!by('token-dialog').open) by('token-dialog').showModal();
}

by('token-form').addEventListener('submit', event => {
  event.preventDefault();
  setToken(by('token').value);
  by('token').value = '';
  by('token-dialog').close();
  tryNow();
});

// What is shown. Drawn at most once per frame, and less often where drawing takes long.

/** Told once what they are about is drawn. */
const ended = [];
let isDrawing = false;
let rest = 0;

function draw() {
  if (isDrawing) return;
  isDrawing = true;
  const frame = () =>
    requestAnimationFrame(() => {
      isDrawing = false;
      const start = performance.now();
      drawNow();
      rest = Math.min(1000, 3 * (performance.now() - start));
    });
  if (rest > 30) setTimeout(frame, rest);
  else frame();
}

function drawNow() {
  drawChats();
  if (!chat) return;
  const title = chat.title || (chat.isMissing ? 'No such chat' : 'New chat');
  setText(by('title'), title);
  document.title = `${title} – chat`;
  transcript.update(chat.entries(), chat.isLive);
  const waiting = chat.queue();
  by('queue').hidden = waiting.length === 0;
  queue.update(waiting);
  composer.update(chat.isLive, chat.status?.state === 'stopping');
  for (const text of ended.splice(0)) announce(text);
  if (isEnd) toEnd();
}

const drawChats = () => {
  list.update(chats.list(chat?.id));
  by('more-chats').hidden = !chats.hasMore;
};

function toEnd() {
  by('transcript').scrollTop = by('transcript').scrollHeight;
}

// Who scrolls up reads there; new text does not pull the page away.
by('transcript').addEventListener('scroll', () => {
  const { scrollTop, scrollHeight, clientHeight } = by('transcript');
  isEnd = scrollHeight - scrollTop - clientHeight < 40;
  by('to-end').hidden = isEnd;
});
by('to-end').addEventListener('click', () => {
  isEnd = true;
  toEnd();
});

const newId = () => crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');

function say(parts, wanted) {
  isEnd = true;
  if (!fragment().has('chat')) history.pushState(null, '', `#chat=${encodeURIComponent(chat.id)}`);
  const message = { id: newId(), role: 'user', parts };
  chat.say(message, { models: composer.models, queue: wanted });
}

const composer = new Composer({ say, notice, stop: () => chat.stop() });

const transcript = new Transcript(by('transcript'), {
  announce,
  copy,
  approve: (...decision) => chat.approve(...decision),
  stop: message => chat.stop(message),
  regenerate: row => chat.regenerate(row),
  dropUnsent: id => chat.dropUnsent(id),
  sayAgain: id => {
    const { message, models } = chat.sending.find(({ message }) => message.id === id);
    chat.dropUnsent(id);
    chat.say(message, { models });
  },
});

function forget({ id, fate }) {
  if (fate.type === 'failed') return chat.dropUnsent(id);
  dismissed.add(id);
  chat.inputs = chat.inputs.filter(input => input.id !== id);
  return draw();
}

const queue = queueList(by('queue-list'), {
  takeBack: async ({ id, text }) => {
    await chat.withdraw(id);
    dismissed.add(id);
    composer.putBack(text);
  },
  // With another id: the server has seen this one.
  sendAgain: input => {
    forget(input);
    say(input.parts ?? [{ type: 'text', text: input.text }], input.queue);
  },
  dismiss: forget,
});

const list = chatList(by('chat-list'), {
  remove: async ({ id, title }) => {
    if (!(await confirmed(`Delete the chat “${title || 'Untitled'}”?`, 'Delete'))) return;
    try {
      await chats.remove(id);
      if (chat.id === id) openNew();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      notice(`Deleting failed: ${error.message}`);
    }
    draw();
  },
});

// Which chat is open.

function open() {
  const id = fragment().get('chat');
  if (id !== null && id === chat?.id) return;
  chat?.close();
  isEnd = true;
  chat = new Chat(id ?? newId(), {
    onChange: draw,
    onNotice: notice,
    onEnd: ({ errors }) => {
      ended.push(errors.length > 0 ? `The answer failed: ${errors.at(-1)}` : 'The answer is complete.');
      draw();
    },
    onUnauthorized: askForToken,
    hiddenInputs: () => dismissed,
  });
  transcript.clear();
  if (id === null) chat.isLoaded = true;
  else chat.load();
  closeChats();
  composer.focus();
  draw();
}

addEventListener('popstate', () => {
  takeToken();
  open();
});

function openNew() {
  history.pushState(null, '', location.pathname);
  chat.close();
  chat = undefined;
  open();
}

by('new-chat').addEventListener('click', openNew);

// The list is a drawer where the page is narrow.

function closeChats() {
  by('chats').classList.remove('is-open');
  by('chats-toggle').setAttribute('aria-expanded', 'false');
}

by('chats-toggle').addEventListener('click', () => {
  const isOpen = by('chats').classList.toggle('is-open');
  by('chats-toggle').setAttribute('aria-expanded', String(isOpen));
  if (isOpen) by('new-chat').focus();
});
by('chats').addEventListener('keydown', event => {
  if (event.key !== 'Escape' || !by('chats').classList.contains('is-open')) return;
  closeChats();
  by('chats-toggle').focus();
});
by('more-chats').addEventListener('click', () => attempt(chats.more()));

document.addEventListener('click', event => {
  const button = event.target.closest?.('[data-action="copy-code"]');
  if (button) copy(button.parentElement.querySelector('pre').textContent);
});

// Light, dark, or as the system has it.

const THEMES = ['system', 'light', 'dark'];
function showTheme(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  setText(by('theme'), `Theme: ${theme}`);
}
by('theme').addEventListener('click', () => {
  const theme = THEMES[(THEMES.indexOf(localStorage.getItem('chat-theme') ?? 'system') + 1) % THEMES.length];
  localStorage.setItem('chat-theme', theme);
  showTheme(theme);
});

// What comes from the server.

async function attempt(work) {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) askForToken();
    else if (!error.isPassing) notice(error.message);
  }
  draw();
}

const loadChats = () => attempt(chats.load());
const loadModels = () => attempt(requestJson('GET', '/api/models').then(models => composer.setModels(models)));

let chatsTimer;
function loadChatsSoon() {
  clearTimeout(chatsTimer);
  chatsTimer = setTimeout(loadChats, 300);
}

function showLink(isThere) {
  if (by('link').hidden === isThere) return;
  by('link').hidden = isThere;
  setText(by('link-text'), isThere ? '' : 'No connection to the server. Trying again; nothing is lost.');
}

let isFirst = true;
const feed = {
  onStatus: status => {
    if (chats.takeStatus(status)) loadChatsSoon();
    if (status.topic === chat.id) chat.takeStatus(status);
    draw();
  },
  onInput: ({ topic }) => topic === chat.id && chat.refreshSoon(),
  onDeleted: ({ topic }) => {
    chats.forget(topic);
    if (topic === chat.id) chat.load();
    draw();
  },
  onReady: () => {
    loadChats();
    // What happened while there was no connection was not told.
    if (!isFirst && chat.isLoaded && fragment().has('chat')) chat.refreshSoon();
    isFirst = false;
    loadModels();
  },
  onLink: showLink,
  onUnauthorized: askForToken,
};

by('link-retry').addEventListener('click', tryNow);
addEventListener('online', tryNow);

takeToken();
showTheme(document.documentElement.dataset.theme ?? 'system');
open();
follow(feed);
