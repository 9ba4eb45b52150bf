/*
 * Names of queues, jobs, tags and workers.
 *
 * A name is bytes. The API gives a string if the bytes are UTF-8, and {"base64": ...} otherwise. In
 * addresses a name is a percent-encoded segment, which can hold both.
 */

function bytesOf(name) {
  return Uint8Array.from(atob(name.base64), (c) => c.charCodeAt(0));
}

/* Returns whether the API gave bytes that are no UTF-8. */
export function isBytes(value) {
  return value !== null && typeof value === 'object' && typeof value.base64 === 'string' &&
    Object.keys(value).length === 1;
}

/* Returns a name as a segment of a path. */
export function segment(name) {
  if (isBytes(name)) {
    return Array.from(bytesOf(name), (b) => '%' + b.toString(16).padStart(2, '0').toUpperCase())
      .join('');
  }
  return encodeURIComponent(String(name).toWellFormed());
}

/* Returns a name as text for people. Invalid bytes become \xHH. */
export function display(name) {
  if (!isBytes(name)) {
    return String(name ?? '');
  }
  let text = '';
  const bytes = bytesOf(name);
  for (let i = 0; i < bytes.length;) {
    let taken = 0;
    for (let length = 1; length <= 4 && i + length <= bytes.length; length++) {
      try {
        text += new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
          .decode(bytes.subarray(i, i + length));
        taken = length;
        break;
      } catch {
        /* a longer character, or none */
      }
    }
    if (taken === 0) {
      text += '\\x' + bytes[i].toString(16).padStart(2, '0');
      taken = 1;
    }
    i += taken;
  }
  return text;
}

/* Returns the name that a segment of a path stands for. */
export function fromSegment(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    const bytes = [];
    for (let i = 0; i < text.length; i++) {
      const hex = text[i] === '%' ? text.slice(i + 1, i + 3) : '';
      if (/^[0-9a-fA-F]{2}$/.test(hex)) {
        bytes.push(parseInt(hex, 16));
        i += 2;
      } else {
        bytes.push(...new TextEncoder().encode(text[i]));
      }
    }
    return { base64: btoa(String.fromCharCode(...bytes)) };
  }
}

/* Returns a text that identifies a name among others, for keys of lists. */
export function identity(name) {
  return isBytes(name) ? 'b:' + name.base64 : 't:' + name;
}
