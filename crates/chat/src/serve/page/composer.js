// Where the user writes: the text, who answers, what is done with it while an answer is running.
import { Attachments } from './attachments.js';
import { h, setText } from './dom.js';

const MODELS = 'chat-models';

export class Composer {
  #text = document.getElementById('text');
  #send = document.getElementById('send');
  #later = document.getElementById('later');
  #stop = document.getElementById('stop');
  #models = document.getElementById('models');
  #chosenText = document.getElementById('models-chosen');
  #attachments;
  #said = Promise.resolve();
  #isLive = false;
  #default;
  #chosen = [];

  /** `act.say(parts, queue)`, `act.stop()`, `act.notice(text)`. */
  constructor(act) {
    this.act = act;
    this.#attachments = new Attachments(act.notice);
    const takeFiles = transfer => event => {
      const { files } = event[transfer];
      if (files.length === 0) return;
      event.preventDefault();
      this.#attachments.add(files);
    };
    this.#text.addEventListener('paste', takeFiles('clipboardData'));
    this.#text.addEventListener('drop', takeFiles('dataTransfer'));
    document.getElementById('composer').addEventListener('submit', event => {
      event.preventDefault();
      this.#say('steer');
    });
    this.#later.addEventListener('click', () => this.#say('follow-up'));
    this.#stop.addEventListener('click', () => act.stop());
    document.getElementById('models-list').addEventListener('change', ({ currentTarget }) => {
      this.#chosen = [...currentTarget.querySelectorAll('input:checked')].map(box => box.value);
      localStorage.setItem(MODELS, JSON.stringify(this.#chosen));
      this.#show();
    });
    this.#text.addEventListener('input', () => this.#grow());
    this.#text.addEventListener('keydown', event => {
      // Not while an input method is composing: there Enter chooses a word.
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.#say(event.altKey ? 'follow-up' : 'steer');
      } else if (event.key === 'Escape' && this.#isLive) {
        act.stop();
      }
    });
  }

  focus() {
    this.#text.focus();
  }

  /** Puts a text back, before what is being written. */
  putBack(text) {
    this.#text.value = this.#text.value ? `${text}\n${this.#text.value}` : text;
    this.#grow();
    this.focus();
  }

  /** The models to ask; undefined for the default one. */
  get models() {
    return this.#chosen.length > 0 ? this.#chosen : undefined;
  }

  update(isLive, isStopping) {
    this.#isLive = isLive;
    this.#stop.hidden = this.#later.hidden = !isLive;
    this.#stop.disabled = isStopping;
    setText(this.#send, isLive ? 'Steer' : 'Send');
    this.#send.title = isLive ? 'Said to the running answer, at its next step' : '';
  }

  setModels({ default: first, models }) {
    this.#default = first;
    this.#models.hidden = models.length < 2;
    const names = new Set(models.map(({ id }) => id));
    this.#chosen = stored().filter(id => names.has(id));
    const boxes = models.map(({ id, provider }) => {
      const box = h('input', { type: 'checkbox', name: 'model', value: id, checked: this.#chosen.includes(id) });
      return h('label', {}, box, ` ${id}`, h('small', {}, ` ${provider ?? ''}`));
    });
    document.getElementById('models-list').replaceChildren(...boxes);
    this.#show();
  }

  #show() {
    setText(this.#chosenText, this.#chosen.join(', ') || this.#default || 'default model');
  }

  #say(queue) {
    const text = this.#text.value;
    if (text.trim() === '' && this.#attachments.isEmpty) return;
    this.#text.value = '';
    this.#grow();
    this.focus();
    const files = this.#attachments.take();
    // In the order in which they were sent, however long files take to read.
    this.#said = this.#said.then(async () => {
      const parts = text.trim() === '' ? [] : [{ type: 'text', text }];
      parts.push(...(await files));
      if (parts.length > 0) this.act.say(parts, queue);
    });
  }

  #grow() {
    this.#text.rows = Math.min(10, this.#text.value.split('\n').length);
  }
}

function stored() {
  try {
    const list = JSON.parse(localStorage.getItem(MODELS) ?? '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}
