// Shows Markdown of the model. What comes out of the parser passes the sanitiser; nothing is ever set as HTML.
import DOMPurify from './vendor/purify.es.js';
import { Blocks, isInlineImage, isLink } from './blocks.js';
import { h } from './dom.js';

const RULES = {
  ALLOWED_TAGS: [
    'a', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'img', 'li', 'ol', 'p', 'pre',
    'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
  ],
  ALLOWED_ATTR: ['align', 'alt', 'class', 'href', 'src', 'start', 'title'],
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

DOMPurify.addHook('afterSanitizeAttributes', node => {
  if (node.nodeName === 'A') {
    if (isLink(node.getAttribute('href') ?? '')) {
      node.setAttribute('target', '_blank');
      node.setAttribute('rel', 'noopener noreferrer nofollow');
    } else {
      node.removeAttribute('href');
    }
  }
  if (node.nodeName === 'IMG' && !isInlineImage(node.getAttribute('src') ?? '')) node.removeAttribute('src');
  if (node.hasAttribute?.('class') && !/^language-[\w+#.-]+$/.test(node.className)) node.removeAttribute('class');
});

function nodes(html) {
  const fragment = DOMPurify.sanitize(html, RULES);
  for (const table of fragment.querySelectorAll('table')) {
    const scroller = h('div', { class: 'scroll', role: 'region', 'aria-label': 'Table', tabindex: '0' });
    table.replaceWith(scroller);
    scroller.append(table);
  }
  for (const block of fragment.querySelectorAll('pre')) {
    block.tabIndex = 0;
    const copy = h('button', { type: 'button', class: 'copy', 'data-action': 'copy-code' }, 'Copy');
    const frame = h('div', { class: 'code' });
    block.replaceWith(frame);
    frame.append(copy, block);
  }
  return fragment;
}

/** A text that grows. Closed blocks are put into the page once; only the open one at the end is made anew. */
export class MarkdownView {
  #blocks = new Blocks();
  #tail = h('div', { class: 'tail' });
  #done = false;

  /** `finished` is told the text of each block that is closed. */
  constructor(finished) {
    this.element = h('div', { class: 'markdown' }, this.#tail);
    this.finished = finished;
  }

  update(text, done) {
    if (this.#done) return;
    this.#done = done;
    const { closed, open, anew } = this.#blocks.take(text, done);
    for (const html of closed) {
      const fragment = nodes(html);
      this.finished(fragment.textContent);
      this.#tail.before(fragment);
    }
    if (anew !== undefined) {
      const fragment = nodes(anew);
      this.finished(this.#tail.textContent);
      this.element.replaceChildren(fragment, this.#tail);
    }
    this.#tail.replaceChildren(nodes(open));
  }
}
