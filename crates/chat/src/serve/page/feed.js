// How all chats stand, for as long as the page is open.
import { ApiError, Backoff, events, request } from './api.js';

/** Reads `/api/status` for ever. `onLink` is told whether the server can be reached. */
export async function follow({ onStatus, onInput, onDeleted, onReady, onLink, onUnauthorized }) {
  const backoff = new Backoff();
  for (;;) {
    let atLeast;
    try {
      const response = await request('GET', '/api/status');
      onLink(true);
      for await (const { event, data } of events(response)) {
        if (event === 'ready') {
          backoff.reset();
          onReady();
        } else if (event === 'status') onStatus(JSON.parse(data));
        else if (event === 'input') onInput(JSON.parse(data));
        else if (event === 'deleted') onDeleted(JSON.parse(data));
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) onUnauthorized();
      atLeast = error.retryAfterMs;
    }
    onLink(false);
    await backoff.wait(atLeast);
  }
}
