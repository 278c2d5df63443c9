// Files that go along with a message: chosen, pasted or dropped.
import { h } from './dom.js';

/** Files go inside of the request, a third longer than they are, and the server takes 4 MiB. */
const MOST_BYTES = 2.9 * 1024 * 1024;

export class Attachments {
  #files = [];
  #list = document.getElementById('attached');
  #input = document.getElementById('files');

  /** `refuse(text)` tells the user what cannot go along. */
  constructor(refuse) {
    this.refuse = refuse;
    document.getElementById('attach').addEventListener('click', () => this.#input.click());
    this.#input.addEventListener('change', () => {
      this.add(this.#input.files);
      this.#input.value = '';
    });
  }

  async add(files) {
    for (const file of files) {
      const size = this.#files.reduce((sum, { size }) => sum + size, file.size);
      if (size > MOST_BYTES) {
        this.refuse(`${file.name} does not fit: files of one message have 2.9 MB at most.`);
        continue;
      }
      const entry = { name: file.name, type: file.type || 'application/octet-stream', size: file.size, url: read(file) };
      this.#files.push(entry);
      this.#show();
    }
  }

  get isEmpty() {
    return this.#files.length === 0;
  }

  /** The parts of the message; nothing is attached any more. */
  async take() {
    const files = this.#files;
    this.#files = [];
    this.#show();
    const part = async ({ name, type, url }) => ({ type: 'file', mediaType: type, filename: name, url: await url });
    const read = await Promise.allSettled(files.map(part));
    for (const { reason } of read) if (reason) this.refuse(`A file cannot be read: ${reason.message}`);
    return read.flatMap(({ value }) => value ?? []);
  }

  #show() {
    this.#list.hidden = this.isEmpty;
    this.#list.replaceChildren(
      ...this.#files.map(file => {
        const remove = () => {
          this.#files = this.#files.filter(other => other !== file);
          this.#show();
          document.getElementById('text').focus();
        };
        return h('li', {}, file.name, ' ', h('button', { type: 'button', 'aria-label': `Remove ${file.name}`, onclick: remove }, '✕'));
      }),
    );
  }
}

function read(file) {
  const result = new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(file);
  });
  // Told when it is taken, not before.
  result.catch(() => {});
  return result;
}
