// Folds the chunks of a UI message stream into the message they tell of. No DOM in here.

const STEP = 'step-start';
const PARTS = new Set(['custom', 'source-url', 'source-document', 'file', 'reasoning-file', 'steering-message']);

/** A chunk about something that is not there, or of a kind nobody knows. The message stays as it was. */
export class ReduceError extends Error {}

export class Reducer {
  #texts = new Map();
  #reasonings = new Map();
  #inputs = new Map();

  /** The message so far. Its parts keep their identity while they grow. */
  message;
  finishReason;
  errors = [];
  aborted = false;

  constructor(id) {
    this.message = { id, role: 'assistant', parts: [] };
  }

  /** Whether anything can follow. */
  get isOver() {
    return this.aborted || this.errors.length > 0 || this.finishReason !== undefined;
  }

  push(chunk) {
    switch (chunk.type) {
      case 'start':
        this.#start(chunk);
        break;
      case 'start-step':
        this.message.parts.push({ type: STEP });
        break;
      case 'finish-step':
        break;
      case 'reset-step':
        this.message.parts.length = this.#stepStart();
        this.#texts.clear();
        this.#reasonings.clear();
        this.#inputs.clear();
        break;
      case 'finish':
        this.finishReason = chunk.finishReason ?? 'other';
        this.#merge(chunk.messageMetadata);
        break;
      case 'abort':
        this.aborted = true;
        break;
      case 'error':
        this.errors.push(chunk.errorText);
        break;
      case 'message-metadata':
        this.#merge(chunk.messageMetadata);
        break;
      case 'text-start':
        this.#open(this.#texts, chunk, { type: 'text', text: '', state: 'streaming' });
        break;
      case 'reasoning-start':
        this.#open(this.#reasonings, chunk, { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' });
        break;
      case 'text-delta':
        this.#extend(this.#texts, chunk);
        break;
      case 'reasoning-delta':
        this.#extend(this.#reasonings, chunk);
        break;
      case 'text-end': {
        const part = this.#close(this.#texts, chunk);
        if (chunk.citations) part.citations = chunk.citations;
        break;
      }
      case 'reasoning-end':
        this.#close(this.#reasonings, chunk);
        break;
      default:
        if (chunk.type?.startsWith('data-')) this.#data(chunk);
        else if (PARTS.has(chunk.type)) this.message.parts.push({ ...chunk });
        else if (chunk.type?.startsWith('tool-')) this.#tool(chunk);
        else throw new ReduceError(`unknown chunk ${JSON.stringify(chunk.type)}`);
    }
  }

  /** A second start says that all of the message comes again. */
  #start(chunk) {
    this.message.parts = [];
    this.#texts.clear();
    this.#reasonings.clear();
    this.#inputs.clear();
    if (chunk.messageId !== undefined) this.message.id = chunk.messageId;
    this.#merge(chunk.messageMetadata);
  }

  #merge(metadata) {
    if (metadata === undefined || metadata === null) return;
    this.message.metadata = merged(this.message.metadata, metadata);
  }

  #open(blocks, chunk, part) {
    attach(part, 'providerMetadata', chunk.providerMetadata);
    blocks.set(chunk.id, part);
    this.message.parts.push(part);
  }

  #extend(blocks, chunk) {
    const part = blocks.get(chunk.id);
    if (!part) throw new ReduceError(`no open block ${JSON.stringify(chunk.id)}`);
    part.text += chunk.delta ?? '';
    attach(part, 'providerMetadata', chunk.providerMetadata);
    return part;
  }

  #close(blocks, chunk) {
    const part = this.#extend(blocks, chunk);
    part.state = 'done';
    blocks.delete(chunk.id);
    return part;
  }

  #data(chunk) {
    if (chunk.transient) return;
    const same = part => part.type === chunk.type && part.id === chunk.id;
    const old = chunk.id !== undefined && this.message.parts.find(same);
    if (old) old.data = chunk.data;
    else this.message.parts.push({ ...chunk });
  }

  #tool(chunk) {
    const id = chunk.toolCallId;
    switch (chunk.type) {
      case 'tool-input-start': {
        const part = this.#call(chunk, chunk.dynamic === true);
        set(part, 'input-streaming', chunk);
        attach(part, 'inputEncoding', chunk.inputEncoding);
        this.#inputs.set(id, part);
        break;
      }
      case 'tool-input-delta': {
        const part = this.#inputs.get(id);
        if (!part) throw new ReduceError(`no open input of call ${JSON.stringify(id)}`);
        part.rawInput = (part.rawInput ?? '') + chunk.inputTextDelta;
        break;
      }
      case 'tool-input-available':
        this.#inputs.delete(id);
        set(this.#call(chunk, chunk.dynamic === true), 'input-available', chunk, { input: chunk.input });
        break;
      case 'tool-input-error': {
        this.#inputs.delete(id);
        const dynamic = this.#inStep(id)?.type === 'dynamic-tool' || chunk.dynamic === true;
        const { title, ...told } = chunk;
        set(this.#call(chunk, dynamic), 'output-error', told, { input: chunk.input, errorText: chunk.errorText });
        break;
      }
      case 'tool-approval-request': {
        const part = this.#find(id);
        part.state = 'approval-requested';
        part.approval = { id: chunk.approvalId };
        attach(part.approval, 'descriptor', chunk.approvalDescriptor ?? undefined);
        attach(part.approval, 'inputSchemaInput', chunk.inputSchemaInput);
        attach(part.approval, 'requestReason', chunk.reason);
        attach(part.approval, 'isAutomatic', chunk.isAutomatic || undefined);
        attach(part.approval, 'signature', chunk.signature);
        break;
      }
      case 'tool-approval-response': {
        const part = this.message.parts.find(part => part.approval?.id === chunk.approvalId);
        if (!part) throw new ReduceError(`no question ${JSON.stringify(chunk.approvalId)}`);
        part.state = 'approval-responded';
        part.approval.approved = chunk.approved;
        attach(part.approval, 'reason', chunk.reason);
        attach(part, 'providerExecuted', chunk.providerExecuted);
        attach(part, 'callProviderMetadata', chunk.providerMetadata);
        break;
      }
      case 'tool-output-available': {
        const part = this.#find(id);
        set(part, 'output-available', chunk, { input: part.input, output: chunk.output, preliminary: chunk.preliminary });
        break;
      }
      case 'tool-output-error': {
        const part = this.#find(id);
        const rawInput = part.type === 'dynamic-tool' ? undefined : part.rawInput;
        set(part, 'output-error', chunk, { input: part.input, rawInput, errorText: chunk.errorText });
        break;
      }
      case 'tool-output-denied':
        this.#find(id).state = 'output-denied';
        break;
      default:
        throw new ReduceError(`unknown chunk ${JSON.stringify(chunk.type)}`);
    }
  }

  #stepStart() {
    return this.message.parts.findLastIndex(part => part.type === STEP) + 1;
  }

  #inStep(id) {
    return this.message.parts.slice(this.#stepStart()).find(part => part.toolCallId === id);
  }

  /** The part of a call in this step, made if it is not there. */
  #call(chunk, dynamic) {
    const type = dynamic ? 'dynamic-tool' : `tool-${chunk.toolName}`;
    const old = this.#inStep(chunk.toolCallId);
    if (old && (old.type === 'dynamic-tool') === dynamic) {
      if (dynamic) old.toolName = chunk.toolName;
      else old.type = type;
      return old;
    }
    const part = { type, toolCallId: chunk.toolCallId };
    if (dynamic) part.toolName = chunk.toolName;
    this.message.parts.push(part);
    return part;
  }

  /** The part of a call, in this step or the last one before it that has it. */
  #find(id) {
    const part = this.#inStep(id) ?? this.message.parts.findLast(part => part.toolCallId === id);
    if (!part) throw new ReduceError(`no call ${JSON.stringify(id)}`);
    return part;
  }
}

const FORGOTTEN = ['input', 'rawInput', 'inputEncoding', 'output', 'errorText', 'preliminary'];

/** What was told of an earlier state and not again is forgotten, but for who runs the tool, its title and metadata. */
function set(part, state, chunk, fields = {}) {
  part.state = state;
  for (const name of FORGOTTEN) {
    if (fields[name] === undefined) delete part[name];
    else part[name] = fields[name];
  }
  attach(part, 'providerExecuted', chunk.providerExecuted);
  attach(part, 'title', chunk.title);
  attach(part, 'toolMetadata', chunk.toolMetadata);
  const ended = state === 'output-available' || state === 'output-error';
  attach(part, ended ? 'resultProviderMetadata' : 'callProviderMetadata', chunk.providerMetadata);
}

function attach(target, name, value) {
  if (value !== undefined) target[name] = value;
}

const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deeply, in new objects. A key that would reach a prototype is left out. */
function merged(old, over) {
  if (!isObject(over)) return over;
  const result = { ...(isObject(old) ? old : {}) };
  for (const [key, value] of Object.entries(over)) {
    if (key !== '__proto__') result[key] = isObject(value) ? merged(result[key], value) : value;
  }
  return result;
}
