/*
 * The user of this session, and what the user may do.
 */
import * as calls from './calls.js';

let current = null;

export function user() {
  return current;
}

/* Returns whether the user may run a command, by its name in lower case: "cancel", "config|get". */
export function can(command) {
  return current !== null && current.commands.has(command);
}

function take(me) {
  current = { name: me.user, commands: new Set(me.can), session: me.session !== false };
}

/* Asks the server who this is. Rejects with status 401 if it wants a log-in. */
export async function resume() {
  current = null;
  take(await calls.me());
}

export async function logIn(name, password) {
  await calls.login(name, password);
  await resume();
}

export async function logOut() {
  await calls.logout();
  current = null;
}

export function forget() {
  current = null;
}
