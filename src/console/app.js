/*
 * The console: its frame, and which page is shown.
 *
 * A page is an object: `load(ctx)` fetches what it shows, `view(data, ctx)` describes it as elements,
 * `title(ctx)` names it, `matters(event, ctx)` says which events make it stale, and `isStill` that none
 * does. The context has the names in the address (`params`), its query, the page's own `state`, and
 * functions: refresh() loads again, update() describes again, and go() opens another address.
 */
import { ApiError, onResult } from './api.js';
import { say } from './dialog.js';
import { h, morph, show } from './dom.js';
import { compact, refreshTimes } from './format.js';
import { installKeys } from './keys.js';
import * as live from './live.js';
import { loginForm } from './login.js';
import { fromSegment } from './names.js';
import { routes } from './routes.js';
import { latest, startSampling, stopSampling } from './samples.js';
import * as session from './session.js';
import { applyTheme, nextTheme, theme } from './theme.js';
import { button, empty, notice, withQuery } from './ui.js';

/* Milliseconds after which a page that is still loading says so. */
const PATIENCE_MS = 250;

const frame = h('div', { id: 'app' });
let current = null; /* the page on the screen */
let menuOpen = false;

/* ---- the frame ---- */

/* The address of a page, its name, its key after `g`, and the command that it needs. */
const NAVIGATION = [
  ['', 'Overview', 'o', 'queues'], ['queues', 'Queues', 'q', 'queues'],
  ['failures', 'Failures', 'f', 'failed'], ['workers', 'Workers', 'w', 'workers'],
  ['recurring', 'Recurring', 'r', 'recur.get'], ['limits', 'Limits', 'l', 'limit.list'],
  ['endpoints', 'Endpoints', 'e', 'endpoint.list'], ['tracked', 'Tracked', 't', 'track'],
  ['tags', 'Tags', 'a', 'tag'], ['search', 'Search', 's', 'job.search'],
  ['server', 'Server', 'v', 'info'],
];

const allowedPages = () => NAVIGATION.filter(([, , , command]) => session.can(command));

const LIVE_SIGNS = {
  following: ['Live', 'Changes appear as they happen. Press to pause.'],
  polling: ['Every 5 s', 'The stream of events is cut off. The page asks every 5 seconds.'],
  lost: ['No connection', 'The server does not answer. The page shows what it knew last.'],
  paused: ['Paused', 'The page stays as it is. Press to continue.'],
};

function liveSign() {
  const { state, flooded } = live.liveState();
  const [text, hint] = LIVE_SIGNS[state];
  return h('button', { type: 'button', class: `live live-${state}`,
    title: flooded ? 'Events come too fast to follow. The page asks every 5 seconds.' : hint,
    'aria-pressed': state === 'paused' ? 'true' : 'false', onclick: togglePause },
  h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', { id: 'live-text' }, text));
}

function togglePause() {
  live.setPaused(!live.isPaused());
  if (!live.isPaused() && current) {
    current.ctx.refresh();
  }
}

function navigation() {
  const at = location.hash.replace(/^#\/?/, '').split(/[/?]/)[0];
  const section = at === 'jobs' ? 'queues' : at;
  const failed = Number(latest()?.queues?.jobs_failed ?? 0);
  return h('nav', { class: menuOpen ? 'side open' : 'side', id: 'menu', 'aria-label': 'Pages' },
    allowedPages().map(([name, label, key]) => h('a', { key: name, href: `#/${name}`,
      'aria-current': section === name ? 'page' : null, title: `g ${key}`,
      onclick: () => setMenu(false) }, label,
    name === 'failures' && failed > 0
      ? h('span', { class: 'number bad', title: `${failed} failed jobs` }, compact(failed)) : null)));
}

function setMenu(open) {
  menuOpen = open;
  drawFrame();
}

function themeButton() {
  const chosen = theme();
  const sign = { system: '◐', light: '☀', dark: '☾' }[chosen];
  return h('button', { type: 'button', class: 'quiet', title: `Colours: ${chosen}`,
    'aria-label': `Colours: ${chosen}. Press to change.`, onclick: () => {
      nextTheme();
      drawFrame();
    } }, sign);
}

function topbar() {
  const user = session.user();
  return h('header', { class: 'top' },
    h('button', { type: 'button', class: 'quiet menu', 'aria-expanded': String(menuOpen),
      'aria-controls': 'menu', 'aria-label': 'Menu', onclick: () => setMenu(!menuOpen) }, '☰'),
    h('a', { class: 'brand', href: '#/' }, 'qlessd'),
    h('form', { role: 'search', class: 'find', onsubmit: (event) => {
      event.preventDefault();
      const text = event.currentTarget.elements.q.value.trim();
      if (text) {
        go(withQuery('#/search', { q: text }));
      }
    } }, h('input', { id: 'find', name: 'q', type: 'search', 'aria-label': 'Search for jobs',
      placeholder: 'Search: jid, tag:x, data.user.id:7   /', autocomplete: 'off',
      spellcheck: 'false' })),
    h('span', { class: 'spring' }),
    liveSign(), themeButton(),
    user ? h('span', { class: 'who' },
      h('span', { class: 'user', title: user.commands.size + ' commands allowed' }, user.name),
      user.session ? button('Log out', leave, { class: 'quiet' })
        : button('Log in', () => needLogin(''), { class: 'quiet' })) : null);
}

function drawFrame() {
  const main = frame.querySelector('main');
  const fresh = h('div', { id: 'app' },
    h('a', { class: 'skip', href: '#main', onclick: (event) => {
      event.preventDefault();
      frame.querySelector('main h1')?.focus();
    } }, 'Skip to the content'),
    topbar(), h('div', { class: 'columns' }, navigation(),
      h('main', { id: 'main', opaque: true })));
  if (main) {
    morph(frame, fresh);
  } else {
    frame.replaceChildren(...fresh.childNodes);
  }
}

/* ---- pages ---- */

export function go(address) {
  if (location.hash === address) {
    current?.ctx.refresh();
  } else {
    location.hash = address;
  }
}

function findRoute(parts) {
  for (const [pattern, page] of routes) {
    const wanted = pattern.split('/').filter(Boolean);
    if (wanted.length === parts.length &&
      wanted.every((part, i) => part === ':name' || part === parts[i])) {
      return { page, params: parts.filter((part, i) => wanted[i] === ':name').map(fromSegment) };
    }
  }
  return null;
}

function errorView(error) {
  if (error.status === 403) {
    return empty('You may not see this.', error.message);
  }
  if (error.status === 404) {
    return empty('There is no such thing here.', error.message);
  }
  if (error.status === 0) {
    return empty('No answer from the server.', 'The page appears when the server is back.');
  }
  return empty('The server refused.', `${error.code ?? 'Error'}: ${error.message}`);
}

class Shown {
  constructor(page, params, query, address) {
    this.page = page;
    this.address = address;
    this.abort = new AbortController();
    this.data = undefined;
    this.error = null;
    this.root = h('div', { class: 'page' });
    this.ctx = {
      params,
      query,
      state: {},
      signal: this.abort.signal,
      refresh: () => this.refresh(),
      update: () => current === this && this.data !== undefined && this.draw(),
      go,
    };
    this.stopLive = page.isStill ? () => {} : live.whenStale((event) => page.matters?.(event, this.ctx) ?? true,
      () => this.refresh());
  }

  async refresh() {
    try {
      const data = await this.page.load(this.ctx);
      this.data = data;
      this.error = null;
    } catch (error) {
      if (error.name === 'AbortError') {
        return;
      }
      if (!(error instanceof ApiError)) {
        console.error(error);
      }
      this.error = error;
    }
    if (current === this) {
      this.draw();
    }
  }

  draw() {
    const title = this.page.title(this.ctx);
    document.title = `${title} · qlessd`;
    const stale = this.error && this.data !== undefined && this.error.status !== 404;
    let content;
    if (this.data === undefined && !this.error) {
      content = h('p', { class: 'dim loading' }, 'Loading …');
    } else if (this.error && !stale) {
      content = errorView(this.error);
    } else {
      content = this.page.view(this.data, this.ctx);
    }
    show(this.root, h('h1', { tabindex: '-1', title }, title),
      stale ? notice('warn', this.error.status === 0
        ? 'The server does not answer. This is what it said last.'
        : `Not up to date: ${this.error.message}`) : null,
      content);
    this.root.classList.toggle('stale', Boolean(stale));
  }

  close() {
    this.abort.abort();
    this.stopLive();
  }
}

async function route() {
  if (!session.user()) {
    return;
  }
  const [place, queryText] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const query = Object.fromEntries(new URLSearchParams(queryText ?? ''));
  const found = findRoute(place.split('/').filter(Boolean)) ??
    { page: { title: () => 'Not found', load: async () => null,
      view: () => empty('There is no such page.', 'The menu has all pages.') }, params: [] };
  const sameplace = current && current.place === place && current.page === found.page;
  const before = current;
  const next = new Shown(found.page, found.params, query, location.hash);
  next.place = place;
  if (sameplace) {
    next.ctx.state = before.ctx.state;
    next.root = before.root; /* keep what is there until the new content has come */
  }
  before?.close();
  current = next;
  drawFrame();
  const main = frame.querySelector('main');
  const started = performance.now();
  const patience = setTimeout(() => {
    if (current === next && !sameplace) {
      main.replaceChildren(next.root);
      next.draw();
    }
  }, PATIENCE_MS);
  await next.refresh();
  clearTimeout(patience);
  if (current !== next) {
    return;
  }
  if (main.firstChild !== next.root) {
    main.replaceChildren(next.root);
  }
  document.documentElement.dataset.loaded = String(Math.round(performance.now() - started));
  document.documentElement.dataset.address = location.hash;
  if (!sameplace) {
    scrollTo(0, 0);
    if (before && !main.contains(document.activeElement)) {
      next.root.querySelector('h1').focus({ preventScroll: true });
    }
  }
}

/* ---- sessions ---- */

async function begin() {
  drawFrame();
  live.start();
  startSampling();
  await route();
}

function end() {
  live.stop();
  stopSampling();
  current?.close();
  current = null;
}

function needLogin(message) {
  end();
  session.forget();
  frame.replaceChildren(loginForm(message, async (name, password) => {
    await session.logIn(name, password);
    frame.replaceChildren();
    await begin();
  }));
  frame.querySelector('input').focus();
  document.title = 'Log in · qlessd';
}

async function leave() {
  try {
    await session.logOut();
  } catch (error) {
    say(error.message, { kind: 'bad' });
    return;
  }
  location.hash = '#/';
  needLogin('You are logged out.');
}

async function boot() {
  applyTheme();
  document.body.append(frame);
  try {
    await session.resume();
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      needLogin('');
    } else {
      frame.replaceChildren(h('main', { class: 'alone' }, h('h1', null, 'qlessd'),
        errorView(error)));
      setTimeout(boot, 3000);
    }
    return;
  }
  await begin();
}

onResult((error) => {
  live.noteResult(error);
  if (error && error.status === 401 && session.user()) {
    needLogin('Your session has ended. Log in again.');
  }
});
live.onState(() => {
  if (session.user()) {
    drawFrame();
    if (live.liveState().state === 'polling' && current?.error) {
      current.ctx.refresh();
    }
  }
});
addEventListener('hashchange', route);
setInterval(refreshTimes, 1000);
installKeys({ pages: allowedPages, go, togglePause, refresh: () => current?.ctx.refresh(),
  active: () => session.user() !== null });
document.addEventListener('samples', () => session.user() && drawFrame());
boot();
