/*
 * Small charts as SVG. Each has a text for people who do not see it.
 */
import { h, s } from './dom.js';

/* A line through the values, oldest first. Returns an element that fills its container. */
export function sparkline(values, label, kind = '') {
  const width = 120;
  const height = 28;
  if (values.length < 2) {
    return s('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': label });
  }
  const top = Math.max(...values, 1e-9);
  const bottom = Math.min(...values, 0);
  const x = (i) => (i / (values.length - 1)) * width;
  const y = (v) => height - 2 - ((v - bottom) / (top - bottom)) * (height - 4);
  const points = values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(' ');
  return s('svg', { class: `spark ${kind}`, viewBox: `0 0 ${width} ${height}`, role: 'img',
    preserveAspectRatio: 'none', 'aria-label': label },
  s('polygon', { class: 'area', points: `0,${height} ${points} ${width},${height}` }),
  s('polyline', { class: 'line', points, 'vector-effect': 'non-scaling-stroke' }));
}

/*
 * Bars with labels below. A bar is { value, label, title, href, current, second }, where `second`
 * is a part of the value with another colour.
 */
export function bars(items, label) {
  const top = Math.max(...items.map((item) => item.value), 1);
  return h('div', { class: 'bars', role: 'group', 'aria-label': label }, items.map((item, i) => {
    const full = Math.max(item.value > 0 ? 3 : 0, (item.value / top) * 100);
    const part = item.value > 0 ? ((item.second ?? 0) / item.value) * 100 : 0;
    const column = h('span', { class: 'column' },
      h('span', { class: 'fill', style: { height: `${full}%` } },
        part > 0 ? h('span', { class: 'part', style: { height: `${part}%` } }) : null));
    const props = { class: item.current ? 'item current' : 'item', title: item.title, key: i };
    const text = h('span', { class: 'label', 'aria-hidden': item.href ? null : 'true' }, item.label);
    return item.href
      ? h('a', { ...props, href: item.href, 'aria-label': item.title }, column, text)
      : h('span', { ...props, role: 'img', 'aria-label': item.title }, column, text);
  }));
}

/* A bar that is filled to a part between 0 and 1. */
export function gauge(part, label, kind = '') {
  const percent = Math.max(0, Math.min(100, part * 100));
  return h('div', { class: `gauge ${kind}`, role: 'progressbar', 'aria-valuemin': '0',
    'aria-valuemax': '100', 'aria-valuenow': Math.round(percent), 'aria-label': label },
  h('span', { style: { width: `${percent}%` } }));
}
