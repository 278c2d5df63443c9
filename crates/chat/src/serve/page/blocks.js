// Markdown that grows, cut into blocks: what is closed never changes again, what is open is given anew. No DOM in here.
import { Marked } from './vendor/marked.esm.js';

const ATTRIBUTE = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = text => text.replace(/[&<>"']/g, character => ATTRIBUTE[character]);

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=]+$/;
const LINK = /^(?:https?:\/\/|mailto:)/i;

/** Whether an image may be shown: it lies in the address itself, and is of a kind that holds no script. */
export const isInlineImage = url => IMAGE.test(url);

/** Whether a link of the model may be followed. Relative ones would lead to this server. */
export const isLink = url => LINK.test(url);

function host(url) {
  try {
    return new URL(url).host;
  } catch {
    return '';
  }
}

const marked = new Marked({
  gfm: true,
  renderer: {
    // HTML of the model is text.
    html: ({ text }) => escape(text),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    link({ href, title, tokens }) {
      const text = this.parser.parseInline(tokens);
      if (!isLink(href)) return text;
      return `<a href="${escape(href)}"${title ? ` title="${escape(title)}"` : ''}>${text}</a>`;
    },
    // An image that must be fetched tells its server who reads: it is a link, followed only by a click.
    image({ href, text }) {
      if (isInlineImage(href)) return `<img src="${href}" alt="${escape(text)}">`;
      const label = escape(`Image: ${text || 'without a description'}`);
      return LINK.test(href) ? `<a href="${escape(href)}">${label} (${escape(host(href))})</a>` : label;
    },
  },
});

/** The HTML of a whole text. It has still to pass the sanitiser. */
export const html = text => marked.parse(text);

export class Blocks {
  #seen = 0;
  #open = '';
  #heldReturn = false;
  #definitions = false;

  /**
   * Takes the text so far, which begins with what was given before; `done` if nothing follows.
   *
   * `closed` is the HTML of blocks closed since the last time, `open` that of what is still open. `anew` is there once,
   * at the end, if the text defines link references, which reach back into closed blocks: the HTML of everything.
   */
  take(text, done) {
    this.#open += this.#normal(text.slice(this.#seen), done);
    this.#seen = text.length;
    if (done) {
      const last = this.#open;
      this.#definitions ||= marked.lexer(last).some(token => token.type === 'def');
      this.#open = '';
      if (this.#definitions) return { closed: [], open: '', anew: html(text) };
      return { closed: last.trim() === '' ? [] : [html(last)], open: '' };
    }
    const closed = this.#close();
    return { closed, open: html(this.#open) };
  }

  /** Line ends as the parser has them: it counts characters, and so do we. */
  #normal(piece, done) {
    let text = this.#heldReturn ? `\r${piece}` : piece;
    this.#heldReturn = !done && text.endsWith('\r');
    if (this.#heldReturn) text = text.slice(0, -1);
    return text.replace(/\r\n?/g, '\n');
  }

  /** A block is closed once another one begins behind it, in lines that are whole: half a line can still turn out to
   *  belong to what is before. */
  #close() {
    const whole = this.#open.slice(0, this.#open.lastIndexOf('\n') + 1);
    if (!whole.trimEnd().includes('\n')) return [];
    const tokens = marked.lexer(whole);
    const last = tokens.findLastIndex(token => token.type !== 'space');
    const closed = [];
    for (const token of tokens.slice(0, Math.max(last, 0))) {
      if (!this.#open.startsWith(token.raw)) break;
      this.#open = this.#open.slice(token.raw.length);
      this.#definitions ||= token.type === 'def';
      if (token.type !== 'space') closed.push(html(token.raw));
    }
    return closed;
  }
}
