/*
 * Questions to the user, and short messages with a way back.
 */
import { h } from './dom.js';

/* Milliseconds that a message stays, and one that offers to undo something. */
const MESSAGE_MS = 5000;
const UNDO_MS = 12000;

/*
 * Asks in a dialog. Options: title, body (nodes), fields, confirm (label), danger.
 *
 * A field is { name, label, type, value, hint, options, required, rows, min, max, step }. Resolves
 * to the values by name, or to null if the user cancels. `check(values)` may return a complaint.
 */
export function ask({ title, body, fields = [], confirm = 'OK', danger = false, check }) {
  return new Promise((resolve) => {
    const inputs = new Map();
    const complaint = h('p', { class: 'complaint', role: 'alert' });
    const form = h('form', { method: 'dialog' },
      h('h2', { id: 'dialog-title' }, title),
      body,
      fields.map((field) => fieldRow(field, inputs)),
      complaint,
      h('div', { class: 'buttons' },
        h('button', { type: 'button', onclick: () => dialog.close() }, 'Keep as is'),
        h('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, confirm)));
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
    let result = null;

    form.onsubmit = (event) => {
      event.preventDefault();
      const values = {};
      for (const [name, input] of inputs) {
        values[name] = input.type === 'checkbox' ? input.checked : input.value;
      }
      const problem = check?.(values);
      if (problem) {
        complaint.textContent = problem;
        return;
      }
      result = values;
      dialog.close();
    };
    dialog.onclose = () => {
      dialog.remove();
      resolve(result);
    };
    document.body.append(dialog);
    dialog.showModal();
    (inputs.values().next().value ?? form.querySelector('[type=submit]')).focus();
  });
}

function fieldRow(field, inputs) {
  const id = `field-${field.name}`;
  const props = { id, name: field.name, required: field.required, min: field.min, max: field.max,
    step: field.step, placeholder: field.placeholder, autocomplete: 'off',
    'aria-describedby': field.hint ? `${id}-hint` : null };
  let input;
  if (field.options) {
    input = h('select', props, field.options.map((option) => {
      const [value, label] = Array.isArray(option) ? option : [option, option];
      return h('option', { value }, label);
    }));
    input.value = field.value ?? '';
  } else if (field.rows) {
    input = h('textarea', { ...props, rows: field.rows, spellcheck: 'false', class: 'code',
      value: field.value ?? '' });
  } else if (field.type === 'checkbox') {
    input = h('input', { ...props, type: 'checkbox', checked: Boolean(field.value) });
  } else {
    input = h('input', { ...props, type: field.type ?? 'text', value: field.value ?? '',
      list: field.choices ? `${id}-list` : null });
  }
  inputs.set(field.name, input);
  return h('div', { class: field.type === 'checkbox' ? 'field check' : 'field' },
    h('label', { for: id }, field.label), input,
    field.choices
      ? h('datalist', { id: `${id}-list` }, field.choices.map((value) => h('option', { value })))
      : null,
    field.hint ? h('p', { class: 'dim', id: `${id}-hint` }, field.hint) : null);
}

let tray = null;

function trayNode() {
  if (!tray) {
    tray = h('div', { class: 'tray', role: 'status', 'aria-live': 'polite' });
    document.body.append(tray);
  }
  return tray;
}

/* Shows a message for some seconds. `undo` is called if the user wants to go back. */
export function say(text, { undo, kind = '' } = {}) {
  const message = h('div', { class: `message ${kind}` }, h('span', null, text));
  const end = () => message.remove();
  if (undo) {
    message.append(h('button', { type: 'button', class: 'quiet', onclick: () => {
      end();
      undo();
    } }, 'Undo'));
  }
  message.append(h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close this message',
    onclick: end }, '×'));
  trayNode().append(message);
  setTimeout(end, undo ? UNDO_MS : kind === 'bad' ? 2 * MESSAGE_MS : MESSAGE_MS);
}

/* Runs an action, and shows its error if it fails. Resolves to whether it succeeded. */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    say(error.code && error.status ? `${error.code}: ${error.message}` : error.message,
      { kind: 'bad' });
    return false;
  }
}
