// What chats there are. No DOM in here.
import { chatPath, requestJson } from './api.js';

export class Chats {
  #byId = new Map();
  #next;
  #states = new Map();
  #loading;

  get hasMore() {
    return this.#next !== undefined && this.#next !== null;
  }

  /** The latest written first. */
  list(openId) {
    return [...this.#byId.values()]
      .sort((a, b) => b.updatedAt - a.updatedAt)
      .map(chat => ({ ...chat, state: this.#states.get(chat.id)?.state ?? chat.state, isOpen: chat.id === openId }));
  }

  async load() {
    this.#loading ??= this.#page('').finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async more() {
    if (this.hasMore) await this.#page(`?after=${encodeURIComponent(this.#next)}`);
  }

  async #page(query) {
    const { chats, next } = await requestJson('GET', `/api/chats${query}`);
    for (const chat of chats) this.#byId.set(chat.id, chat);
    if (query !== '' || this.#next === undefined) this.#next = next;
  }

  /** Returns whether the list has to be asked for again: a chat is new, or a turn of it is over. */
  takeStatus(status) {
    const old = this.#states.get(status.topic);
    this.#states.set(status.topic, status);
    return !this.#byId.has(status.topic) || old?.state !== status.state;
  }

  forget(id) {
    this.#byId.delete(id);
    this.#states.delete(id);
  }

  async remove(id) {
    await requestJson('DELETE', chatPath(id));
    this.forget(id);
  }
}
