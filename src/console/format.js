/*
 * Numbers, sizes, durations and times as text.
 */
import { h } from './dom.js';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const instant = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const monthDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/* The difference between the clock of the server and that of this machine, in seconds. */
let ahead = 0;

export function setServerTime(seconds) {
  ahead = seconds - Date.now() / 1000;
}

/* Returns the time of the server in seconds. */
export function now() {
  return Date.now() / 1000 + ahead;
}

export function count(n) {
  return whole.format(Number(n) || 0);
}

export function compact(n) {
  const value = Number(n) || 0;
  return Math.abs(value) < 10000 ? whole.format(value) : short.format(value);
}

export function rate(n) {
  const value = Number(n) || 0;
  if (value === 0) {
    return '0';
  }
  return value < 10 ? value.toFixed(value < 0.1 ? 2 : 1) : compact(Math.round(value));
}

export function bytes(n) {
  let value = Number(n) || 0;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/* Returns a duration in its two largest units: "3 h 20 min". */
export function duration(seconds) {
  const value = Math.abs(Number(seconds) || 0);
  if (value < 0.001) {
    return '0 s';
  }
  if (value < 1) {
    return `${Math.max(1, Math.round(value * 1000))} ms`;
  }
  if (value < 60) {
    return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} s`;
  }
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  for (let i = 0; i < units.length - 1; i++) {
    const [size, name] = units[i];
    if (value >= size) {
      const [next, nextName] = units[i + 1];
      const rest = Math.floor((value % size) / next);
      return `${Math.floor(value / size)} ${name}` + (rest ? ` ${rest} ${nextName}` : '');
    }
  }
  return `${Math.round(value)} s`;
}

/* Returns how far a time is from now, as text. */
function relative(seconds) {
  const distance = seconds - now();
  if (Math.abs(distance) < 1) {
    return 'now';
  }
  return distance > 0 ? `in ${duration(distance)}` : `${duration(distance)} ago`;
}

export function exact(seconds) {
  return `${instant.format(seconds * 1000)} (${new Date(seconds * 1000).toISOString()})`;
}

export function dateTime(seconds) {
  return full.format(seconds * 1000);
}

/* Returns the day of a time in UTC, because the statistics of the server are by days of UTC. */
export function dayOf(seconds) {
  return monthDay.format(new Date(new Date(seconds * 1000).toISOString().slice(0, 10) + 'T12:00'));
}

/* Returns an element with a time as distance from now, and the exact instant on hover. */
export function when(seconds, text) {
  if (!Number.isFinite(Number(seconds)) || Number(seconds) <= 0) {
    return h('span', { class: 'dim' }, '–');
  }
  const time = new Date(seconds * 1000);
  if (Number.isNaN(time.getTime())) {
    return h('span', null, String(seconds));
  }
  return h('time', { datetime: time.toISOString(), title: exact(seconds),
    'data-when': text ? null : seconds }, text ?? relative(seconds));
}

/* Updates the distances of all times on the screen. */
export function refreshTimes() {
  for (const element of document.querySelectorAll('time[data-when]')) {
    const text = relative(Number(element.dataset.when));
    if (element.firstChild && element.firstChild.data !== text) {
      element.firstChild.data = text;
    }
  }
}

export function plural(n, one, many = one + 's') {
  return `${count(n)} ${Number(n) === 1 ? one : many}`;
}
