/*
 * The lines of queues in INFO.
 */

/* Returns the name as the API gives names: text, or {base64} for bytes that are no UTF-8. */
function readName(text) {
  const bytes = [];
  for (let i = 0; i < text.length; i++) {
    const escape = /^\\x([0-9a-f]{2})/.exec(text.slice(i, i + 4));
    bytes.push(escape ? parseInt(escape[1], 16) : text.charCodeAt(i));
    i += escape ? 3 : 0;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      .decode(Uint8Array.from(bytes));
  } catch {
    return { base64: btoa(String.fromCharCode(...bytes)) };
  }
}

/* Reads "name=...,db=0,waiting=3": INFO escapes every comma, blank and equals sign of a name. */
export function readQueueLine(line) {
  const fields = typeof line === 'string'
    ? Object.fromEntries(line.split(',').map((pair) => pair.split('='))) : { ...line };
  return { ...fields, name: readName(String(fields.name ?? '')) };
}
