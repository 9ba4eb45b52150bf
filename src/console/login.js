/*
 * The form for a name and a password.
 */
import { h } from './dom.js';

/* Returns the form. `logIn(name, password)` rejects if the server does not accept them. */
export function loginForm(message, logIn) {
  const complaint = h('p', { class: 'complaint', role: 'alert' }, message);
  const submit = h('button', { type: 'submit', class: 'primary' }, 'Log in');
  const name = h('input', { id: 'user', name: 'user', autocomplete: 'username', required: true,
    autocapitalize: 'off', spellcheck: 'false' });
  const password = h('input', { id: 'password', name: 'password', type: 'password',
    autocomplete: 'current-password' });
  const form = h('form', { class: 'login' },
    h('h1', null, 'qlessd'), h('p', { class: 'dim' }, `Jobs of ${location.host}`),
    h('div', { class: 'field' }, h('label', { for: 'user' }, 'User'), name),
    h('div', { class: 'field' }, h('label', { for: 'password' }, 'Password'), password),
    complaint, submit);

  form.onsubmit = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    complaint.textContent = '';
    try {
      await logIn(name.value, password.value);
    } catch (error) {
      complaint.textContent = error.status === 401
        ? 'The server does not know this user with this password.' : error.message;
      password.value = '';
      password.focus();
    } finally {
      submit.disabled = false;
    }
  };
  return h('main', { class: 'alone' }, form);
}
