/*
 * JSON as text for people, with colours, and without loss of digits.
 */
import { ExactNumber, parseJson } from './api.js';
import { h } from './dom.js';

/* Characters of a text that are shown at first. Longer ones can be opened. */
const SHOWN_MAX = 20000;

/* Returns a complaint about a text that is not JSON, or null. */
export function jsonProblem(text) {
  try {
    parseJson(text);
    return null;
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
}

/* Returns a value as indented JSON. */
export function pretty(value) {
  return write(value, '');
}

function write(value, indent) {
  if (value instanceof ExactNumber) {
    return value.source;
  }
  if (value === null || typeof value !== 'object') {
    return JSON.stringify(value) ?? 'null';
  }
  const inner = indent + '  ';
  const isArray = Array.isArray(value);
  const parts = isArray
    ? value.map((one) => inner + write(one, inner))
    : Object.entries(value).map(([name, one]) =>
      `${inner}${JSON.stringify(name)}: ${write(one, inner)}`);
  if (parts.length === 0) {
    return isArray ? '[]' : '{}';
  }
  const line = parts.map((part) => part.trimStart()).join(', ');
  if (line.length <= 72 && !line.includes('\n') && !/[{[]/.test(line)) {
    return isArray ? `[${line}]` : `{ ${line} }`;
  }
  const [open, close] = isArray ? '[]' : '{}';
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`;
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/g;

function coloured(text) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) {
      nodes.push(text.slice(at, match.index));
    }
    if (match[1] && match[2]) {
      nodes.push(h('span', { class: 'j-name' }, match[1]), match[2]);
    } else {
      const kind = match[1] ? 'j-text' : /^[tfn]/.test(match[0]) ? 'j-word' : 'j-number';
      nodes.push(h('span', { class: kind }, match[0]));
    }
    at = match.index + match[0].length;
  }
  nodes.push(text.slice(at));
  return nodes;
}

/* Returns an element with JSON or other text. A long one is cut until the user wants all of it. */
export function codeBlock(text, label, isJson = true) {
  const body = text.length > SHOWN_MAX ? text.slice(0, SHOWN_MAX) : text;
  return h('div', { class: 'code-frame' },
    h('pre', { class: 'code', tabindex: '0', role: 'region', 'aria-label': label },
      isJson ? coloured(body) : body),
    body.length < text.length
      ? h('button', { type: 'button', onclick: (event) => {
        const block = event.currentTarget.previousSibling;
        block.replaceChildren(text);
        event.currentTarget.remove();
      } }, `Show all ${text.length} characters`)
      : null);
}
