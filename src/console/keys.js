/*
 * The keyboard: `/` searches, `g` and a letter opens a page, `j` and `k` walk through a list.
 */
import { h } from './dom.js';

/* Milliseconds in which the letter after `g` counts. */
const CHORD_MS = 1500;

function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/* Moves the focus to the next or previous row of the table on the screen. */
function walk(step) {
  const links = [...document.querySelectorAll('main tbody tr')]
    .map((row) => row.querySelector('a')).filter(Boolean);
  if (links.length === 0) {
    return;
  }
  const row = document.activeElement?.closest?.('tr');
  const at = links.findIndex((link) => link.closest('tr') === row);
  links[Math.max(0, Math.min(links.length - 1, at + step))].focus();
}

function help(navigation) {
  const keys = [['/', 'Search'], ['j  k', 'Next and previous row'], ['Enter', 'Open the row'],
    ['r', 'Refresh'], ['p', 'Pause or continue updates'], ['?', 'This list'],
    ...navigation.map(([, label, key]) => [`g ${key}`, label])];
  const dialog = h('dialog', { 'aria-labelledby': 'keys-title' },
    h('form', { method: 'dialog' }, h('h2', { id: 'keys-title' }, 'Keyboard'),
      h('dl', { class: 'keys' }, keys.map(([key, text]) =>
        h('div', null, h('dt', null, h('kbd', null, key)), h('dd', null, text)))),
      h('div', { class: 'buttons' }, h('button', { class: 'primary' }, 'Close'))));
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}

export function installKeys({ pages, go, togglePause, refresh, active }) {
  let chordUntil = 0;

  document.addEventListener('keydown', (event) => {
    if (!active() || event.ctrlKey || event.metaKey || event.altKey ||
      document.querySelector('dialog[open]')) {
      return;
    }
    if (isTyping(event.target)) {
      if (event.key === 'Escape') {
        event.target.blur();
      }
      return;
    }
    if (performance.now() < chordUntil) {
      const entry = pages().find(([, , key]) => key === event.key);
      chordUntil = 0;
      if (entry) {
        go(`#/${entry[0]}`);
        event.preventDefault();
        return;
      }
    }
    const act = {
      '/': () => document.getElementById('find')?.focus(),
      g: () => {
        chordUntil = performance.now() + CHORD_MS;
      },
      j: () => walk(1),
      k: () => walk(-1),
      r: refresh,
      p: togglePause,
      '?': () => help(pages()),
    }[event.key];
    if (act) {
      act();
      event.preventDefault();
    }
  });
}
