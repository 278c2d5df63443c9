// Markdown with a stable prefix: however the text is cut, the blocks are those of the whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Blocks, html, isInlineImage, isLink } from '../../../crates/chat/src/serve/page/blocks.js';

const pieces = [
  '# Title\n\n', 'Some *text* with `code`.\n\n', 'Two\nlines\n\n', '- a\n- b\n\n', '- a\n\n- b\n\n', '1. x\n2. y\n\n',
  '```js\nlet a = 1;\n\nlet b;\n```\n\n', '~~~\nopen for ever\n\n', '> quoted\nlazy\n\n', '| a | b |\n|---|---|\n| 1 | 2 |\n\n',
  'Setext\n===\n\n', '---\n\n', '    indented\n\n    more\n\n', '<b>bold</b>\n\n', '- [x] done\n- [ ] not\n\n', 'end\r\n\r\n',
  '* one\n\n  inside\n\n* two\n\n', '\n\n\n', '+ x\n', 'para\n# heading\n', '![alt](data:image/png;base64,aGk=)\n\n', '\t- tab\n\n',
];
const spaceless = text => text.replace(/\s+/g, ' ').trim();

// A small generator of its own: the same cases on every run.
function* random(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

// [CH-255]
test('closed blocks and the last one are the whole, wherever the text is cut', () => {
  let [cases, several] = [0, 0];
  for (let seed = 1; seed <= 400; seed++) {
    const next = random(seed);
    const draw = below => Math.floor(next.next().value * below);
    let text = '';
    for (let count = 1 + draw(7); count > 0; count--) text += pieces[draw(pieces.length)];
    const blocks = new Blocks();
    let closed = [];
    for (let at = 0; at < text.length; ) {
      at = Math.min(text.length, at + 1 + draw(9));
      const step = blocks.take(text.slice(0, at), false);
      closed = closed.concat(step.closed);
    }
    const end = blocks.take(text, true);
    assert.equal(end.open, '');
    const together = closed.concat(end.closed).join(' ');
    assert.equal(spaceless(together).replaceAll('> <', '><'), spaceless(html(text)).replaceAll('> <', '><'), JSON.stringify(text));
    cases++;
    if (closed.length > 1) several++;
  }
  assert.ok(several > cases / 3, `only ${several} of ${cases} texts had blocks that closed early`);
});

// [CH-255]
test('blocks close while the text is still coming', () => {
  const blocks = new Blocks();
  assert.deepEqual(blocks.take('One\n\nTwo', false), { closed: [], open: html('One\n\nTwo') });
  const step = blocks.take('One\n\nTwo\n', false);
  assert.deepEqual(step, { closed: ['<p>One</p>\n'], open: '<p>Two</p>\n' });
  assert.deepEqual(blocks.take('One\n\nTwo\nmore', true), { closed: ['<p>Two\nmore</p>\n'], open: '' });
});

// [CH-255]
test('references that are defined late reach the blocks before', () => {
  const blocks = new Blocks();
  const text = 'See [it].\n\nMore.\n\n[it]: https://example.com/\n';
  blocks.take(text.slice(0, 20), false);
  const end = blocks.take(text, true);
  assert.match(end.anew, /href="https:\/\/example\.com\/"/);
});

// [CH-256]
test('nothing of the model becomes an element, but what Markdown makes', () => {
  const hostile = [
    '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', 'a <b onclick="x">b</b>', '[x](javascript:alert(1))',
    '[x](data:text/html,hi)', '![x](javascript:alert(1))', '![x](https://example.com/a.png)', '[x](/api/chat/1)',
    '![x](data:image/svg+xml;base64,aGk=)', '[x](https://a.example/"onmouseover="alert(1))', '<a href="javascript:x">y</a>',
    '![" onerror="x](https://example.com/)', '[x](https://a.example "t\\" onclick=\\"x")', '<svg><script>x</script></svg>',
  ];
  for (const text of hostile) {
    const made = html(text);
    const tags = [...made.matchAll(/<([a-z0-9]+)([^>]*)>/g)];
    for (const [, name, attributes] of tags) {
      assert.ok(['p', 'a', 'em', 'code'].includes(name), `${text} → ${made}`);
      const names = [...attributes.replace(/="[^"]*"/g, '').matchAll(/[a-z]+/g)].map(match => match[0]);
      assert.ok(names.every(name => ['href', 'title'].includes(name)), `${text} → ${made}`);
    }
    for (const [, href] of made.matchAll(/href="([^"]*)"/g)) assert.ok(isLink(href), `${text} → ${made}`);
  }
  assert.ok(isInlineImage('data:image/png;base64,aGk='));
  assert.ok(!isInlineImage('data:image/svg+xml;base64,aGk='));
});
