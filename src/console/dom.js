/*
 * Elements from data, and updates in place.
 *
 * A page describes itself anew after each change, and morph() makes the elements on the screen equal
 * to the description. Focus, selection and scroll positions survive. Text is always text: nothing
 * here parses HTML, so data cannot become markup.
 */
const SVG = 'http://www.w3.org/2000/svg';
const PROPS = Symbol('props');
const KEY = Symbol('key');
const NONE = {};

/* Properties that differ from the attribute of the same name once a user has typed or clicked. */
const LIVE = new Set(['value', 'checked', 'indeterminate', 'selected']);

function setProp(element, name, value, before) {
  if (name.startsWith('on')) {
    element[name] = value ?? null;
  } else if (name === 'style') {
    for (const property of Object.keys(before ?? NONE)) {
      if (!(property in (value ?? NONE))) {
        element.style.removeProperty(property);
      }
    }
    for (const [property, text] of Object.entries(value ?? NONE)) {
      element.style.setProperty(property, text);
    }
  } else if (LIVE.has(name)) {
    element[name] = value ?? '';
  } else if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? '' : value);
  }
}

function append(parent, child) {
  if (Array.isArray(child)) {
    for (const one of child) {
      append(parent, one);
    }
  } else if (child !== null && child !== undefined && child !== false) {
    parent.append(child);
  }
}

function create(element, props, children) {
  element[PROPS] = props ?? NONE;
  append(element, children);
  for (const [name, value] of Object.entries(props ?? NONE)) {
    if (name === 'key') {
      element[KEY] = value;
    } else if (name !== 'opaque') {
      setProp(element, name, value);
    }
  }
  return element;
}

/*
 * Returns an element. Properties are attributes, handlers (onclick), `style` as an object, `key`,
 * which identifies a child among its siblings, and `opaque`, whose children morph() leaves alone.
 */
export function h(tag, props, ...children) {
  return create(document.createElement(tag), props, children);
}

/* Returns an element of SVG. */
export function s(tag, props, ...children) {
  return create(document.createElementNS(SVG, tag), props, children);
}

function move(parent, node, before) {
  if (parent.moveBefore) {
    parent.moveBefore(node, before); /* unlike insertBefore(), keeps the focus */
  } else {
    parent.insertBefore(node, before);
  }
}

function morphChildren(old, fresh) {
  const keyed = new Map();
  for (const child of old.childNodes) {
    if (child[KEY] !== undefined) {
      keyed.set(child[KEY], child);
    }
  }
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    let match = null;
    if (next[KEY] !== undefined) {
      match = keyed.get(next[KEY]);
      keyed.delete(next[KEY]);
    } else if (at && at[KEY] === undefined && at.nodeName === next.nodeName) {
      match = at;
    }
    if (match && match.nodeName !== next.nodeName) {
      match = null;
    }
    if (!match) {
      old.insertBefore(next, at);
      continue;
    }
    if (match === at) {
      at = at.nextSibling;
    } else {
      move(old, match, at);
    }
    morph(match, next);
  }
  while (at) {
    const rest = at.nextSibling;
    at.remove();
    at = rest;
  }
}

/* Makes `old` equal to `fresh`, which is used up. Both are of the same kind. */
export function morph(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) {
      old.data = fresh.data;
    }
    return;
  }
  const before = old[PROPS] ?? NONE;
  const after = fresh[PROPS] ?? NONE;
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (name !== 'key' && name !== 'opaque' && before[name] !== after[name]) {
      setProp(old, name, after[name], before[name]);
    }
  }
  old[PROPS] = after;
  if (!after.opaque) {
    morphChildren(old, fresh);
  }
}

/* Makes the children of `parent` equal to `children`. */
export function show(parent, ...children) {
  const fresh = document.createElement('div');
  append(fresh, children);
  morphChildren(parent, fresh);
}
