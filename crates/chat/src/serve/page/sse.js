// Server-sent events from text that comes in pieces, cut anywhere.

/** The longest event taken, in characters: the server sends files inside of events, never more than this. */
export const EVENT_LIMIT = 96 * 1024 * 1024;

export class SseReader {
  #rest = '';
  #scanned = 0;
  #first = true;
  #afterReturn = false;
  #size = 0;
  #data = [];
  #id;
  #event = '';

  /** The events that are complete with this piece: `{event, id, data}`, `id` undefined where the event has none. */
  push(piece) {
    let text = piece;
    if (this.#first && text !== '') {
      this.#first = false;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    if (this.#afterReturn && text !== '') {
      this.#afterReturn = false;
      if (text.startsWith('\n')) text = text.slice(1);
    }
    this.#rest += text;
    const events = [];
    let from = 0;
    let at = this.#scanned;
    for (; at < this.#rest.length; at++) {
      const code = this.#rest.charCodeAt(at);
      if (code !== 10 && code !== 13) continue;
      this.#line(this.#rest.slice(from, at), events);
      if (code === 13) {
        if (at + 1 === this.#rest.length) this.#afterReturn = true;
        else if (this.#rest.charCodeAt(at + 1) === 10) at++;
      }
      from = at + 1;
    }
    this.#rest = this.#rest.slice(from);
    this.#scanned = this.#rest.length;
    if (this.#rest.length + this.#size > EVENT_LIMIT) throw new Error('an event of the server is too large');
    return events;
  }

  #line(line, events) {
    if (line === '') {
      if (this.#data.length > 0) {
        events.push({ event: this.#event || 'message', id: this.#id, data: this.#data.join('\n') });
      }
      this.#data = [];
      this.#size = 0;
      this.#id = undefined;
      this.#event = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'data') {
      this.#data.push(value);
      this.#size += value.length;
    } else if (field === 'id' && !value.includes('\0')) {
      this.#id = value;
    } else if (field === 'event') {
      this.#event = value;
    }
  }
}
