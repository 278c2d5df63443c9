// What the model says to which question: the first word of it chooses. The same for the stand-in of the server and for a
// stand-in of a provider behind the real one.
//
// A step is `{text}`, `{reasoning}`, `{tool, input}`, `{wait}` (until the test opens the gate of this name) or `{fail}`.

const hostile = [
  'A <script>window.hacked = 1</script> and <img src=x onerror="window.hacked = 2">',
  '[link](javascript:window.hacked=3) ![image](https://tracker.example/pixel.png) <svg onload="window.hacked = 4">',
  '![inline](data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=) [good](https://example.com/) [here](/api/chats)',
  '<form action="/api/chat"><button>x</button></form> <style>body { display: none }</style> <a href="#chat=x" id="text">y</a>',
  '`<b>code</b>` ![x](data:image/svg+xml;base64,PHN2Zz4=) <iframe src="/"></iframe> <base href="https://evil.example/">',
].join('\n\n');

const markdown = [
  '# Heading\n\n', 'Some **bold** and `code`.\n\n', '- one\n- two\n\n', '| a | b |\n|---|---|\n| 1 | 2 |\n\n',
  '```rust\nfn main() {\n\n', '    println!("hi");\n}\n```\n\n', 'The end.',
];

const rings = [
  'Four of them. The rings of **Saturn** alone are bright enough for a small telescope.\n\n',
  '| planet | rings known since | radius of the main ring |\n|---|---|---|\n| Jupiter | 1979 | 129,000 km |\n',
  '| Saturn | 1610 | 140,220 km |\n| Uranus | 1977 | 51,149 km |\n| Neptune | 1989 | 62,933 km |\n\n',
];

const SCRIPTS = {
  which: () => [
    { reasoning: 'The giants have rings. I compare Saturn with Neptune.' },
    { text: rings.join('') },
    { tool: 'calculator', input: { expression: '140220+62933' } },
    { wait: 'which' },
    { text: "Saturn's and Neptune's main rings, laid side by side, would reach over **203,153 km**" },
    { wait: 'which-end' },
    { text: '.' },
  ],
  hello: () => [{ text: 'Hello! ' }, { text: 'How are you?' }],
  slow: () => [{ text: 'One ' }, { wait: 'slow-1' }, { text: 'two ' }, { wait: 'slow-2' }, { text: 'three.' }],
  markdown: () => [...markdown.map(text => ({ text })).flatMap((step, at) => (at === 3 ? [{ wait: 'markdown' }, step] : [step]))],
  hostile: () => [{ text: hostile }],
  think: () => [{ reasoning: 'First I **think**.\n\nThen I ' }, { reasoning: 'conclude.' }, { text: 'Thought about.' }],
  tool: () => [{ text: 'Let me see. ' }, { tool: 'calculator', input: { expression: '6*7' } }, { wait: 'tool' }, { text: 'It is 42.' }],
  ask: () => [{ text: 'May I? ' }, { tool: 'read_file', input: { path: 'notes.txt' } }, { text: 'All done.' }],
  steps: () => [
    { text: 'Working. ' }, { wait: 'steps' }, { tool: 'calculator', input: { expression: '1+1' } }, { text: 'Undisturbed.' },
  ],
  retry: () => [{ refuse: 'overloaded' }, { text: 'In the end it worked.' }],
  fail: () => [{ text: 'It begins ' }, { fail: 'The provider broke off.' }],
  long: () =>
    Array.from({ length: 200 }, (_, at) => [
      { text: `Paragraph ${at} with some words in it.\n\n` },
      ...(at === 199 ? [{ wait: 'end' }] : at % 25 === 24 ? [{ wait: 'long' }] : []),
    ]).flat(),
};

export function scriptFor(text) {
  const word = text.trim().split(/\W/, 1)[0].toLowerCase();
  return SCRIPTS[word]?.() ?? [{ text: `You said: ${text}` }];
}

/** Where scripts wait for the test. A gate that is opened lets one through, now or later. */
export class Gates {
  #open = new Map();
  #waiting = new Map();

  wait(name) {
    const open = this.#open.get(name) ?? 0;
    if (open > 0) {
      this.#open.set(name, open - 1);
      return Promise.resolve();
    }
    return new Promise(resolve => this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]));
  }

  open(name) {
    const [first, ...rest] = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, rest);
    if (first) first();
    else this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
  }

  /** Whether somebody stands before the gate. */
  isReached(name) {
    return (this.#waiting.get(name) ?? []).length > 0;
  }
}
