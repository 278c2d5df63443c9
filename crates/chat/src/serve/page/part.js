// The parts of a message, each with a view of its own.
import { isInlineImage, isLink } from './blocks.js';
import { h, setText } from './dom.js';
import { MarkdownView } from './markdown.js';
import { ToolView } from './tool.js';

/** Markdown, open while its block is. */
class TextView {
  constructor(part, act) {
    this.markdown = new MarkdownView(act.announce);
    this.element = this.markdown.element;
  }

  update(part, isWritten) {
    this.markdown.update(part.text, !isWritten || part.state !== 'streaming');
  }
}

/** Folded; what nobody looks at is not rendered. */
class ReasoningView {
  #summary = h('summary');
  #body;
  #part;
  #isOver = false;

  constructor() {
    this.element = h('details', { class: 'reasoning', ontoggle: () => this.#render() }, this.#summary);
  }

  update(part, isWritten) {
    this.#part = part;
    this.#isOver = !isWritten || part.state !== 'streaming';
    setText(this.#summary, this.#isOver ? 'Reasoning' : 'Reasoning …');
    this.#render();
  }

  #render() {
    if (!this.element.open) return;
    if (!this.#body) {
      this.#body = new MarkdownView(() => {});
      this.element.append(this.#body.element);
    }
    this.#body.update(this.#part.text, this.#isOver);
  }
}

/** What never changes once it is there. */
class FixedView {
  constructor(element) {
    this.element = element;
  }

  update() {}
}

function fileView({ url = '', mediaType, filename }) {
  if (isInlineImage(url)) return h('img', { src: url, alt: filename ?? 'Image' });
  const name = filename ?? mediaType ?? 'File';
  if (url.startsWith('data:')) return h('a', { href: url, download: filename ?? 'file' }, `Save ${name}`);
  return isLink(url) ? link(url, name) : h('span', {}, name);
}

const link = (href, text) => h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, text);

function sourceView(part) {
  const text = part.title ?? part.filename ?? part.url ?? 'Source';
  return h('p', { class: 'source' }, 'Source: ', isLink(part.url ?? '') ? link(part.url, text) : text);
}

/** What a user said: as it was typed. */
export function userParts(parts) {
  return parts.map(part => {
    if (part.type === 'text') return h('p', { class: 'said' }, part.text);
    return part.type === 'file' ? fileView(part) : undefined;
  });
}

export function viewOf(part, act) {
  switch (part.type) {
    case 'text':
      return new TextView(part, act);
    case 'reasoning':
      return new ReasoningView();
    case 'file':
    case 'reasoning-file':
      return new FixedView(fileView(part));
    case 'source-url':
    case 'source-document':
      return new FixedView(sourceView(part));
    case 'steering-message': {
      const heading = h('h3', { class: 'hidden' }, 'You said in between');
      return new FixedView(h('div', { class: 'steer' }, heading, userParts(part.parts)));
    }
    case 'dynamic-tool':
      return new ToolView(part, act);
    default:
      if (part.type.startsWith('tool-')) return new ToolView(part, act);
      if (part.type.startsWith('data-')) {
        const text = JSON.stringify(part.data, null, 2) ?? '';
        return new FixedView(h('details', { class: 'data' }, h('summary', {}, `Data ${part.type.slice(5)}`), h('pre', {}, text)));
      }
      return undefined;
  }
}
