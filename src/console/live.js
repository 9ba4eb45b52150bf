/*
 * Changes as they happen.
 *
 * The server sends events over one long answer. If that is refused or ends, the page only asks at
 * intervals (polling), and tries to follow again with growing pauses. A server whose events come
 * faster than anybody can read is polled, too. Each state has its sign in the header.
 */
import { headers } from './api.js';

/* Seconds between two looks at the server. */
const POLL_SECONDS = 5;
/* Milliseconds between two refreshes of a page while events arrive. */
const REFRESH_MS = 1000;
/* Events in a second above which the stream is left for polling, and seconds until the next try. */
const FLOOD = 2000;
const FLOOD_PAUSE_SECONDS = 60;
const RETRY_MAX_SECONDS = 30;
/* Milliseconds after which a hidden page gives up its stream. A browser has six connections to a
 * server for all of its tabs. */
const HIDDEN_MS = 5000;

/* The stream: 'following', 'polling', 'lost' (no answer at all), or 'paused' by the user. */
let state = 'polling';
let paused = false;
let lastId = '';
let stream = null;
let wanted = false;
let failures = 0;
let retryTimer = 0;
let hiddenTimer = 0;
let arrived = 0;
let arrivedSince = 0;
let flooded = false;
const stateWatchers = new Set();
const eventWatchers = new Set();

export function liveState() {
  return { state: paused ? 'paused' : state, flooded };
}

export function onState(watcher) {
  stateWatchers.add(watcher);
}

/* Calls the watcher with each event: { kind, jid, queue, ... }. */
function onEvent(watcher) {
  eventWatchers.add(watcher);
  return () => eventWatchers.delete(watcher);
}

function setState(next) {
  if (state !== next) {
    state = next;
    tellState();
  }
}

function tellState() {
  for (const watcher of stateWatchers) {
    watcher();
  }
}

export function setPaused(value) {
  paused = value;
  tellState();
}

export function isPaused() {
  return paused;
}

/* The result of a request: one without an answer means that the server is gone. */
export function noteResult(error) {
  if (error && error.status === 0) {
    setState('lost');
  } else if (state === 'lost') {
    setState('polling');
    if (wanted && !stream) {
      follow();
    }
  }
}

function dispatch(kind, data) {
  let event;
  try {
    event = JSON.parse(data);
  } catch {
    return;
  }
  event.kind = kind || event.event;
  for (const watcher of eventWatchers) {
    watcher(event);
  }
}

/* Returns whether events come too fast. */
function isFlood() {
  const second = Math.floor(performance.now() / 1000);
  if (second !== arrivedSince) {
    arrivedSince = second;
    arrived = 0;
  }
  return ++arrived > FLOOD;
}

/* Reads events of text/event-stream until the answer ends. Returns false if they come too fast. */
async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let kind = '';
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return true;
    }
    const lines = (rest + value).split(/\r\n|\n|\r/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (data.length) {
          if (isFlood()) {
            reader.cancel().catch(() => {});
            return false;
          }
          dispatch(kind, data.join('\n'));
        }
        kind = '';
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(5).trimStart());
      } else if (line.startsWith('event:')) {
        kind = line.slice(6).trim();
      } else if (line.startsWith('id:')) {
        lastId = line.slice(3).trim();
      }
    }
  }
}

async function followOnce(signal) {
  const more = { Accept: 'text/event-stream' };
  if (lastId) {
    more['Last-Event-ID'] = lastId;
  }
  const response = await fetch('/v1/events', { headers: headers(more), signal, cache: 'no-store' });
  if (!response.ok || !response.body) {
    return 'refused';
  }
  failures = 0;
  flooded = false;
  setState('following');
  dispatch('reset', '{}'); /* whatever happened before this moment */
  return (await read(response.body)) ? 'ended' : 'flood';
}

async function follow() {
  clearTimeout(retryTimer);
  if (document.hidden) {
    return;
  }
  stream = new AbortController();
  const mine = stream;
  let outcome = 'ended';
  try {
    outcome = await followOnce(mine.signal);
  } catch {
    outcome = 'ended';
  }
  if (stream !== mine) {
    return;
  }
  stream = null;
  if (!wanted) {
    return;
  }
  if (state === 'following') {
    setState('polling');
  }
  failures++;
  let pause = Math.min(RETRY_MAX_SECONDS, 2 ** Math.min(failures, 6) / 2);
  if (outcome === 'flood') {
    flooded = true;
    pause = FLOOD_PAUSE_SECONDS;
    tellState();
  }
  retryTimer = setTimeout(follow, pause * 1000);
}

export function start() {
  wanted = true;
  failures = 0;
  if (!stream) {
    follow();
  }
}

function drop() {
  clearTimeout(retryTimer);
  stream?.abort();
  stream = null;
  setState('polling');
}

export function stop() {
  wanted = false;
  drop();
  lastId = '';
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer);
  if (wanted && document.hidden) {
    hiddenTimer = setTimeout(drop, HIDDEN_MS);
  } else if (wanted && !stream) {
    follow();
  }
});

/*
 * Calls `refresh` when something changed that `matters`, at most once a second, and at intervals.
 * Returns a function that ends this.
 */
export function whenStale(matters, refresh) {
  let timer = 0;
  let busy = false;
  let last = performance.now();

  async function run() {
    timer = 0;
    if (busy) {
      soon();
      return;
    }
    busy = true;
    try {
      await refresh();
    } finally {
      busy = false;
      last = performance.now();
    }
  }

  function soon() {
    if (!timer && !paused && !document.hidden) {
      timer = setTimeout(run, Math.max(50, REFRESH_MS - (performance.now() - last)));
    }
  }

  const forget = onEvent((event) => {
    if (event.kind === 'reset' || matters(event)) {
      soon();
    }
  });
  const poll = setInterval(soon, POLL_SECONDS * 1000); /* pops and pauses are no events */
  document.addEventListener('visibilitychange', soon);

  return () => {
    clearTimeout(timer);
    clearInterval(poll);
    forget();
    document.removeEventListener('visibilitychange', soon);
  };
}
