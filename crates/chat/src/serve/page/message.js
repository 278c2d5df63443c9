// The conversation: messages, answers of several models side by side.
import { Keyed, arrange, h, setText } from './dom.js';
import { spent, standing, tried } from './notes.js';
import { userParts, viewOf } from './part.js';
import { textOf } from './chat.js';

const keyOf = part => `${part.type} ${part.toolCallId ?? part.sourceId ?? ''}`;

/** Whether what was shown of a part is the beginning of what it is now. */
function goesOn(shown, part) {
  if (shown.key !== keyOf(part)) return false;
  if (part.text === undefined) return true;
  return shown.isDone ? part.text === shown.text : part.text.startsWith(shown.text);
}

class AnswerView {
  #shown = [];
  #parts = h('div', { class: 'parts' });
  #heading = h('h3', { class: 'hidden' });
  #standing = h('span', { class: 'standing' });
  #spent = h('span', { class: 'spent' });
  #triedTitle = h('summary');
  #triedList = h('ul');
  #tried = h('details', { class: 'tried', hidden: true }, this.#triedTitle, this.#triedList);
  #triedCount = 0;
  #stop = h('button', { type: 'button', hidden: true, onclick: () => this.act.stop(this.entry.row.id) }, 'Stop this one');
  #copy = h('button', { type: 'button', 'data-action': 'copy', onclick: () => this.act.copy(textOf(this.entry.message)) }, 'Copy');
  #again = h('button', { type: 'button', 'data-action': 'again', onclick: () => this.act.regenerate(this.entry.row) }, 'Ask again');
  #isAnnounced = false;
  #keys = '';

  constructor(entry, act) {
    this.act = act;
    const buttons = h('div', { class: 'buttons' }, this.#stop, this.#copy, this.#again);
    this.element = h(
      'article',
      { class: 'answer', 'data-row': entry.row.id },
      this.#heading,
      this.#tried,
      this.#parts,
      h('footer', {}, h('div', {}, this.#standing, this.#spent), buttons),
    );
    this.partAct = {
      announce: text => this.#isAnnounced && act.announce(text),
      approve: (call, approved, reason) => act.approve(this.entry.row, call, approved, reason),
    };
  }

  update(entry) {
    const { row, message, answer } = entry;
    const keys = [row.status, entry.isChatLive, entry.count].join();
    if (!answer && !this.entry?.answer && this.entry?.message === message && this.#keys === keys) return;
    this.#keys = keys;
    this.entry = entry;
    const isWritten = answer !== undefined && !answer.isOver;
    this.#isAnnounced = entry.isFresh;
    this.element.dataset.status = isWritten ? 'open' : row.status === 'open' ? '' : row.status;
    setText(this.#heading, `Answer of ${message.metadata?.model ?? row.model ?? 'the model'}`);
    this.#update(message.parts, isWritten || row.status === 'awaiting_approval');
    this.#notices(answer);
    const facts = [standing(entry), spent(message.metadata, row)];
    setText(this.#standing, facts[0]);
    setText(this.#spent, facts[0] && facts[1] ? ` · ${facts[1]}` : facts[1]);
    this.#stop.hidden = !answer || entry.count < 2;
    this.#copy.hidden = isWritten;
    this.#again.hidden = entry.isChatLive || answer !== undefined || row.status === 'awaiting_approval';
  }

  #update(parts, isWritten) {
    const shown = [];
    for (const part of parts) {
      const old = this.#shown[shown.length];
      const view = old && goesOn(old, part) ? old.view : viewOf(part, this.partAct);
      if (!view) continue;
      view.update(part, isWritten);
      shown.push({ key: keyOf(part), text: part.text, isDone: !isWritten || part.state !== 'streaming', view });
    }
    this.#shown = shown;
    arrange(this.#parts, shown.map(({ view }) => view.element));
  }

  /** What was tried stays told once the answer is complete, until the page is loaded anew. */
  #notices(answer) {
    if (!answer) return;
    const lines = tried(answer.notices);
    if (lines.length === this.#triedCount) return;
    this.#triedCount = lines.length;
    this.#tried.hidden = false;
    setText(this.#triedTitle, lines.at(-1));
    this.#triedList.replaceChildren(...lines.map(line => h('li', {}, line)));
    this.act.announce(lines.at(-1));
  }
}

class UserView {
  #standing = h('span', { class: 'standing' });
  #buttons = h('div', { class: 'buttons', hidden: true });
  #last;

  constructor(entry, act) {
    const id = entry.row.id;
    this.#buttons.append(
      h('button', { type: 'button', onclick: () => act.sayAgain(id) }, 'Send again'),
      h('button', { type: 'button', onclick: () => act.dropUnsent(id) }, 'Remove'),
    );
    const heading = h('h3', { class: 'hidden' }, 'You said');
    this.#last = entry.message;
    this.said = h('div', {}, userParts(entry.message.parts));
    this.element = h('article', { class: 'user', 'data-row': id }, heading, this.said, h('footer', {}, this.#standing, this.#buttons));
  }

  update(entry) {
    if (entry.message !== this.#last && textOf(entry.message) !== textOf(this.#last)) {
      this.said.replaceChildren(...userParts(entry.message.parts).filter(Boolean));
    }
    this.#last = entry.message;
    setText(this.#standing, standing(entry));
    this.#buttons.hidden = entry.sending?.state !== 'failed';
  }
}

/** The answers of one turn. */
class AnswersView {
  #views;
  element = h('div', { class: 'answers' });

  constructor(_, act) {
    this.#views = new Keyed(entry => new AnswerView(entry, act));
  }

  update({ entries }) {
    arrange(this.element, this.#views.update(entries, entry => entry.row.id));
    this.element.classList.toggle('side-by-side', entries.length > 1);
    if (entries.length > 1) {
      this.element.setAttribute('role', 'group');
      this.element.setAttribute('aria-label', `Answers of ${entries.length} models`);
    }
  }
}

/** Messages of the user by themselves, answers of one turn together. */
function grouped(entries, isChatLive) {
  const groups = [];
  for (const entry of entries) {
    const { id, author, turn } = entry.row;
    if (author === 'user') {
      groups.push({ ...entry, key: `user ${id}` });
      continue;
    }
    const last = groups.at(-1);
    const key = `answers ${turn ?? id}`;
    if (last?.key === key) last.entries.push(entry);
    else groups.push({ key, entries: [entry] });
  }
  const seen = new Set();
  for (const group of groups) {
    if (seen.has(group.key)) group.key += ` ${group.entries[0].row.id}`;
    seen.add(group.key);
    for (const entry of group.entries ?? []) Object.assign(entry, { count: group.entries.length, isChatLive });
  }
  return groups;
}

export class Transcript {
  #views;

  constructor(element, act) {
    this.element = element;
    this.act = act;
    this.clear();
  }

  /** Another chat is shown: ids of messages are its own, and may be those of the chat before. */
  clear() {
    this.#views = new Keyed(group => (group.entries ? new AnswersView(group, this.act) : new UserView(group, this.act)));
  }

  update(entries, isChatLive) {
    arrange(this.element, this.#views.update(grouped(entries, isChatLive), group => group.key));
  }
}
