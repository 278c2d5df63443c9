// A tool call: input, progress, output, and the question whether it may run.
import { h, setText } from './dom.js';
import { isInlineImage } from './blocks.js';

/** More than this is shown only when asked for, in characters: long outputs make a page slow. */
const SHOWN = 8_000;

const STATES = {
  'input-streaming': 'is being written',
  'input-available': 'runs',
  'approval-requested': 'asks for permission',
  'approval-responded': 'decided',
  'output-available': 'done',
  'output-error': 'failed',
  'output-denied': 'denied',
};

export const toolName = part => (part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length));

function stateOf(part, isWritten) {
  if (part.state === 'output-available' && part.preliminary) return 'runs, first results';
  if (part.state === 'approval-responded') return part.approval?.approved ? 'allowed' : 'denied';
  if (!isWritten && part.state === 'input-streaming') return 'was cut off';
  if (!isWritten && part.state === 'input-available') return 'no result';
  return STATES[part.state] ?? part.state;
}

function shown(value) {
  if (typeof value === 'string') return value;
  const texts = Array.isArray(value) && value.length > 0 && value.every(part => part?.type === 'text' && typeof part.text === 'string');
  if (texts) return value.map(part => part.text).join('\n');
  return JSON.stringify(value, null, 2) ?? '';
}

function imagesOf(value) {
  if (!Array.isArray(value)) return [];
  const urls = value.map(part => part?.url ?? (part?.data && part?.mediaType && `data:${part.mediaType};base64,${part.data}`));
  return urls.filter(url => typeof url === 'string' && isInlineImage(url));
}

/** A titled text that is cut where it is long. */
class Field {
  #title;
  #text = h('pre', { tabindex: '0' });
  #all = h('button', { type: 'button', hidden: true, onclick: () => this.#show(true) }, 'Show all');
  #value = '';
  element;

  constructor(title) {
    this.#title = h('h4', {}, title);
    this.element = h('div', { class: 'field', hidden: true }, this.#title, this.#text, this.#all);
  }

  update(title, value) {
    this.element.hidden = value === undefined;
    if (value === undefined) return;
    setText(this.#title, title);
    const text = shown(value);
    if (text === this.#value) return;
    this.#value = text;
    this.#show(false);
  }

  #show(all) {
    const cut = !all && this.#value.length > SHOWN;
    setText(this.#text, cut ? `${this.#value.slice(0, SHOWN)}…` : this.#value);
    this.#all.hidden = !cut;
  }
}

export class ToolView {
  #state = h('span', { class: 'state' });
  #name = h('code');
  #input = new Field('Input');
  #output = new Field('Output');
  #images = h('div', { class: 'images' });
  #question;
  #last;
  #told;
  #imageUrls = '';

  /** `act.approve(callId, approved, reason)`, `act.announce(text)`. */
  constructor(part, act) {
    this.act = act;
    this.details = h('details', {}, h('summary', {}, 'Tool ', this.#name, ' ', this.#state), this.#input.element, this.#output.element, this.#images);
    this.element = h('div', { class: 'tool' }, this.details);
  }

  update(part, isWritten) {
    const key = JSON.stringify([part.state, part.preliminary, part.rawInput?.length, isWritten, part.approval?.approved]);
    if (key === this.#last && !part.preliminary) return;
    this.#last = key;
    const name = part.title ?? toolName(part);
    const state = stateOf(part, isWritten);
    setText(this.#name, name);
    setText(this.#state, state);
    this.element.dataset.state = part.state;
    this.#input.update('Input', part.input ?? part.rawInput);
    if (part.state === 'output-error') this.#output.update('Error', part.errorText);
    else this.#output.update(part.preliminary ? 'Output so far' : 'Output', part.output);
    this.#showImages(part.output);
    this.#ask(part);
    if (state !== this.#told && isWritten && part.state !== 'input-streaming') {
      this.#told = state;
      this.act.announce(`Tool ${name} ${state}.`);
    }
  }

  #showImages(output) {
    const urls = imagesOf(output);
    if (urls.join() === this.#imageUrls) return;
    this.#imageUrls = urls.join();
    this.#images.replaceChildren(...urls.map(src => h('img', { src, alt: 'Image from the tool' })));
  }

  #ask(part) {
    const open = part.state === 'approval-requested' && part.approval?.approved === undefined;
    if (!open) {
      this.#question?.remove();
      this.#question = undefined;
    } else if (!this.#question) {
      this.#question = this.#questionFor(part);
      this.details.open = true;
      this.element.append(this.#question);
    }
  }

  #questionFor(part) {
    const name = part.title ?? toolName(part);
    const id = `reason-${part.toolCallId}`;
    const reason = h('input', { id, type: 'text', autocomplete: 'off' });
    const decide = approved => () => {
      for (const button of box.querySelectorAll('button')) button.disabled = true;
      this.act.approve(part.toolCallId, approved, reason.value).finally(() => {
        for (const button of box.querySelectorAll('button')) button.disabled = false;
      });
    };
    const why = part.approval.requestReason;
    const box = h(
      'div',
      { class: 'question', role: 'group', 'aria-label': `May the tool ${name} run?` },
      h('p', {}, h('strong', {}, `May the tool ${name} run with this input?`), why && ` ${why}`),
      h('label', { for: id }, 'Reason (told to the model)'),
      reason,
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', class: 'primary', 'data-action': 'allow', onclick: decide(true) }, 'Allow'),
        h('button', { type: 'button', 'data-action': 'deny', onclick: decide(false) }, 'Deny'),
      ),
    );
    return box;
  }
}
