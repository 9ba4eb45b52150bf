/*
 * Light and dark: as the system says, or as the user chose in this browser.
 */
const KEY = 'qlessd-theme';
const NEXT = { system: 'light', light: 'dark', dark: 'system' };

export function theme() {
  try {
    return localStorage.getItem(KEY) ?? 'system';
  } catch {
    return 'system'; /* the browser keeps nothing for this page */
  }
}

export function applyTheme() {
  const chosen = theme();
  if (chosen === 'system') {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = chosen;
  }
}

export function nextTheme() {
  try {
    localStorage.setItem(KEY, NEXT[theme()] ?? 'system');
  } catch {
    /* see theme() */
  }
  applyTheme();
}
