// Sentences beneath a message: where it stands, what it took, what was tried. No DOM in here.

const number = new Intl.NumberFormat('en');
const count = value => number.format(value);

const STATES = {
  open: 'Being written',
  stopped: 'Stopped',
  interrupted: 'Cut off: the program ended',
  awaiting_approval: 'Waits for permission',
  sending: 'Being sent …',
  failed: 'Failed',
};

/** Where a message stands; nothing if it is simply there. */
export function standing({ row, answer, sending }) {
  if (sending) {
    if (sending.state === 'queued') return '';
    return sending.state === 'failed' ? `Not sent: ${sending.error}` : STATES.sending;
  }
  if (answer?.errors.length > 0) return `Failed: ${answer.errors.at(-1)}`;
  if (answer?.isBroken) return 'Connection lost; trying again';
  if (answer?.progress) {
    const { state, seconds } = answer.progress;
    return state === 'stalled' ? `Nothing for ${seconds} s; it may be stuck` : `Nothing for ${seconds} s`;
  }
  if (answer) return answer.isOver ? '' : STATES.open;
  if (row.status === 'failed' && row.error?.message) return `Failed: ${row.error.message}`;
  return STATES[row.status] ?? '';
}

/** Which model, tokens, cost, time. */
export function spent(metadata, row) {
  const facts = [];
  const model = metadata?.model ?? row.model;
  if (model) facts.push(String(model));
  const { inputTokens, outputTokens, inputTokenDetails, outputTokenDetails } = metadata?.usage ?? {};
  if (Number.isFinite(inputTokens)) {
    const cached = inputTokenDetails?.cacheReadTokens;
    facts.push(`${count(inputTokens)} tokens in${cached > 0 ? ` (${count(cached)} cached)` : ''}`);
  }
  if (Number.isFinite(outputTokens)) {
    const reasoning = outputTokenDetails?.reasoningTokens;
    facts.push(`${count(outputTokens)} out${reasoning > 0 ? ` (${count(reasoning)} reasoning)` : ''}`);
  }
  if (Number.isFinite(metadata?.cost)) facts.push(`cost ${cost(metadata.cost)}`);
  if (Number.isFinite(metadata?.durationMs)) facts.push(`${(metadata.durationMs / 1000).toFixed(1)} s`);
  return facts.join(' · ');
}

/** Two digits that say something, however small. */
const cost = value => (value === 0 ? '0' : value >= 1 ? value.toFixed(2) : value.toPrecision(2));

/** What is worth telling of the calls beneath an answer: only what did not go straight. */
export function tried(notices) {
  return notices.flatMap(({ type, provider, model, from, errorText, class: kind, delayMs }) => {
    const name = [provider, model].filter(Boolean).join('/');
    switch (type) {
      case 'failed':
        return [`${name} failed (${kind ?? 'error'}): ${errorText ?? ''}`];
      case 'rotated':
        return [`Trying ${name} with another key`];
      case 'fell-back':
        return [`Falling back from ${[from?.provider, from?.model].filter(Boolean).join('/')} to ${name}`];
      case 'waiting':
        return [`Trying ${name} again in ${((delayMs ?? 0) / 1000).toFixed(1)} s`];
      case 'skipped':
        return [`${name} was skipped`];
      default:
        return [];
    }
  });
}

const RETURNED = {
  stopped: 'the turn was stopped',
  failed: 'the turn failed',
  'stop-condition': 'a limit ended the turn',
  'launch-failed': 'its turn could not be started',
  interrupted: 'the program ended',
  'shut-down': 'the server shut down',
  stale: 'what it was about is over',
  withdrawn: 'taken back',
  deleted: 'the chat was deleted',
};

/** What has become of something that was said. */
export function fate({ fate, queue }) {
  switch (fate.type) {
    case 'queued':
      return queue === 'follow-up' ? 'Waits for a turn of its own' : 'Waits for the next step';
    case 'returned':
      return `Not used: ${RETURNED[fate.why] ?? fate.why}`;
    case 'failed':
      return `Not sent: ${fate.why}`;
    default:
      return STATES.sending;
  }
}
