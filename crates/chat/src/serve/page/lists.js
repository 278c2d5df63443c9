// The list of chats, and that of messages that wait.
import { Keyed, arrange, h, setText } from './dom.js';
import { fate } from './notes.js';

const STATES = {
  pending: 'running',
  streaming: 'running',
  stopping: 'stopping',
  awaiting_approval: 'waits for you',
  failed: 'failed',
};

class ChatItem {
  #title = h('span', { class: 'name' });
  #state = h('span', { class: 'state' });
  #link;
  #remove;
  element;

  constructor(chat, act) {
    this.#link = h('a', { href: `#chat=${encodeURIComponent(chat.id)}` }, this.#title, ' ', this.#state);
    this.#remove = h('button', { type: 'button', class: 'remove', onclick: () => act.remove(this.chat) }, '✕');
    this.element = h('li', { 'data-chat': chat.id }, this.#link, this.#remove);
  }

  update(chat) {
    this.chat = chat;
    const title = chat.title || 'Untitled';
    setText(this.#title, title);
    setText(this.#state, STATES[chat.state] ?? '');
    this.#state.dataset.state = chat.state ?? '';
    this.#remove.setAttribute('aria-label', `Delete ${title}`);
    if (chat.isOpen) this.#link.setAttribute('aria-current', 'page');
    else this.#link.removeAttribute('aria-current');
  }
}

class QueueItem {
  #text = h('span', { class: 'text' });
  #fate = h('span', { class: 'fate' });
  #back;
  #again;
  #gone;
  element;

  constructor(input, act) {
    const button = (text, verb) => h('button', { type: 'button', onclick: () => act[verb](this.input) }, text);
    this.#back = button('Take back', 'takeBack');
    this.#again = button('Send again', 'sendAgain');
    this.#gone = button('Dismiss', 'dismiss');
    this.element = h('li', { 'data-input': input.id }, this.#text, ' ', this.#fate, h('span', { class: 'buttons' }, this.#back, this.#again, this.#gone));
  }

  update(input) {
    this.input = input;
    const { type } = input.fate;
    setText(this.#text, input.text);
    setText(this.#fate, fate(input));
    this.element.dataset.fate = type;
    this.#back.hidden = type !== 'queued';
    this.#again.hidden = this.#gone.hidden = type !== 'returned' && type !== 'failed';
  }
}

class List {
  #views;

  constructor(element, make) {
    this.element = element;
    this.#views = new Keyed(make);
  }

  update(items) {
    arrange(this.element, this.#views.update(items, item => item.id));
  }
}

export const chatList = (element, act) => new List(element, chat => new ChatItem(chat, act));
export const queueList = (element, act) => new List(element, input => new QueueItem(input, act));
