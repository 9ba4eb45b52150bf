/*
 * The server: its state, configuration, slow commands, clients, and log.
 */
import * as calls from '../calls.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { bytes, count, duration, when } from '../format.js';
import { display } from '../names.js';
import { can } from '../session.js';
import { button, dim, empty, facts, panel, pill, table, tabs, withQuery } from '../ui.js';

/* Entries of the slow log that are fetched, and clients that are shown. */
const SLOW = 128;
const CLIENTS = 500;

const number = (value) => Number(value) || 0;

/* ---- state ---- */

async function rewrite(ctx) {
  const values = await ask({ title: 'Rewrite the log?', confirm: 'Rewrite',
    body: h('p', null, 'The server writes a snapshot and removes the log segments that it replaces. ' +
      'It goes on serving clients.') });
  if (values) {
    await attempt(async () => {
      await calls.rewriteLog();
      say('The rewrite has begun.');
    });
    ctx.refresh();
  }
}

function logPanel(log, ctx) {
  const isFine = !log.log_state || log.log_state === 'ok';
  const size = number(log.log_bytes) || number(log.aof_current_size);
  return panel('Log and rewrites', facts([
    ['State', pill(display(log.log_state ?? 'ok'), isFine ? 'good' : 'bad')],
    ['Error', log.log_error], ['Size', bytes(size)], ['Files', String(log.log_files ?? '')],
    ['Snapshot', bytes(log.aof_base_size)],
    ['Longest sync', log.log_sync_usec_max === undefined ? null
      : duration(number(log.log_sync_usec_max) / 1e6)],
    ['Rewrite', number(log.aof_rewrite_in_progress) ? 'under way' : 'none under way'],
    ['Rewrites', `${count(log.aof_rewrites)}, ${count(log.aof_rewrite_failures)} failed`],
    ['Last rewrite', log.aof_last_bgrewrite_status],
    ['Last snapshot', number(log.rdb_last_save_time) ? when(number(log.rdb_last_save_time)) : null],
  ]), can('bgrewriteaof')
    ? button('Rewrite the log', () => rewrite(ctx), { disabled: number(log.aof_rewrite_in_progress) > 0 })
    : null);
}

function statePanels(info, ctx) {
  const server = info.server ?? {};
  const memory = info.memory ?? {};
  const stats = info.stats ?? {};
  const clients = info.clients ?? {};
  return [
    panel('Server', facts([
      ['Version', server.qlessd_version], ['Process', String(server.process_id ?? '')],
      ['Up for', duration(server.uptime_in_seconds)], ['Listens on', server.listeners, 'long'],
      ['Configuration', server.config_file], ['Run', server.run_id, 'long'], ['System', server.os, 'long'],
    ])),
    panel('Memory', facts([
      ['In use', bytes(memory.used_memory)], ['Highest', bytes(memory.used_memory_peak)],
      ['Resident', bytes(memory.used_memory_rss)],
      ['Limit', number(memory.maxmemory) ? bytes(memory.maxmemory) : 'none'],
      ['Fragmentation', String(memory.allocator_frag_ratio ?? '')],
    ])),
    logPanel(info.persistence ?? {}, ctx),
    panel('Load', facts([
      ['Clients', `${count(clients.connected_clients)} of ${count(clients.maxclients)}`],
      ['Blocked clients', count(clients.blocked_clients)],
      ['Attached workers', count(clients.attached_workers)],
      ['Commands', `${count(stats.total_commands_processed)}, ${
        count(stats.instantaneous_ops_per_sec)} a second`],
      ['HTTP requests', count(stats.http_requests)],
      ['Errors', count(stats.total_error_replies)],
      ['Rejected connections', count(stats.rejected_connections)],
      ['Refused log-ins', count(stats.acl_access_denied_auth)],
    ])),
  ];
}

/* ---- tables ---- */

function filtered(ctx, pairs, label) {
  const text = (ctx.state.filter ?? '').toLowerCase();
  return [
    h('div', { class: 'bar' }, h('input', { type: 'search', 'aria-label': label, placeholder: label,
      value: ctx.state.filter ?? '', oninput: (event) => {
        ctx.state.filter = event.target.value;
        ctx.update();
      } })),
    table([
      { title: 'Name', cell: ([name]) => h('span', { class: 'name' }, name) },
      { title: 'Value', class: 'wide', cell: ([, value]) => h('span', { class: 'name' },
        value === '' ? dim('empty') : display(value)) },
    ], pairs.filter(([name, value]) => `${name} ${display(value)}`.toLowerCase().includes(text)),
    { key: ([name]) => name, caption: 'Configuration' }),
  ];
}

/* An entry is a list, as SLOWLOG GET replies it. */
function slowRow([id, at, microseconds, words, client]) {
  return { id, at, seconds: microseconds / 1e6, words, client };
}

function slowTable(entries) {
  if (entries.length === 0) {
    return empty('No command was slow.', 'slowlog-log-slower-than says from when on one is.');
  }
  return table([
    { title: 'When', cell: (row) => when(row.at) },
    { title: 'Took', class: 'num', cell: (row) => duration(row.seconds) },
    { title: 'Command', class: 'wide', cell: (row) => h('code', { class: 'cut' },
      [].concat(row.words).map(display).join(' ')) },
    { title: 'Client', cell: (row) => display(row.client) },
  ], entries.map(slowRow), { key: (row) => String(row.id), caption: 'Slow commands' });
}

async function kill(one, ctx) {
  const values = await ask({ title: `Disconnect client ${one.id}?`, danger: true,
    confirm: 'Disconnect', body: h('p', null, `${display(one.addr)}, user ${display(one.user)}`) });
  if (values) {
    await attempt(async () => {
      await calls.killClient(one.id);
      say(`Client ${one.id} is disconnected.`);
    });
    ctx.refresh();
  }
}

function clientTable(rows, ctx) {
  return [
    h('p', { class: 'dim' }, rows.length > CLIENTS ? `The first ${CLIENTS} of ${count(rows.length)}`
      : `${count(rows.length)} clients`),
    table([
      { title: 'Client', class: 'num', cell: (one) => String(one.id) },
      { title: 'Address', cell: (one) => display(one.addr) },
      { title: 'Name', cell: (one) => (one.name ? display(one.name) : dim('–')) },
      { title: 'User', cell: (one) => display(one.user) },
      { title: 'Last command', cell: (one) => display(one.cmd) },
      { title: 'Connected', class: 'num', cell: (one) => duration(one.age) },
      { title: 'Idle', class: 'num', cell: (one) => duration(one.idle) },
      { title: 'Memory', class: 'num', cell: (one) => bytes(one['tot-mem']) },
      can('client|kill') ? { title: h('span', { class: 'hidden' }, 'Actions'), class: 'act',
        cell: (one) => button('Disconnect', () => kill(one, ctx), { class: 'small danger',
          'aria-label': `Disconnect client ${one.id}` }) } : null,
    ].filter(Boolean), rows.slice(0, CLIENTS), { key: (one) => String(one.id), caption: 'Clients' }),
  ];
}

const VIEWS = {
  state: { command: 'info', load: (ctx) => calls.info(undefined, ctx.signal), view: statePanels },
  configuration: { command: 'config|get', load: (ctx) => calls.config(ctx.signal),
    view: (config, ctx) => filtered(ctx, Object.entries(config), 'Filter directives') },
  options: { command: 'config.get', load: (ctx) => calls.options(ctx.signal),
    view: (options, ctx) => filtered(ctx, Object.entries(options), 'Filter options') },
  slow: { command: 'slowlog|get', load: (ctx) => calls.slowlog(SLOW, ctx.signal),
    view: slowTable },
  clients: { command: 'client|list', load: (ctx) => calls.clients(ctx.signal),
    view: clientTable },
};

const NAMES = { state: 'State', configuration: 'Configuration', options: 'Options of queues',
  slow: 'Slow log', clients: 'Clients' };

const chosen = (ctx) => (VIEWS[ctx.query.show] ? ctx.query.show : 'state');

export const server = {
  title: () => 'Server',
  matters: () => false,

  async load(ctx) {
    const name = chosen(ctx);
    return { name, answer: can(VIEWS[name].command)
      ? await VIEWS[name].load(ctx) : null };
  },

  view({ name, answer }, ctx) {
    return [
      tabs('Views', Object.keys(VIEWS).filter((one) => can(VIEWS[one].command)).map((one) => ({
        name: NAMES[one], current: one === name, href: withQuery('#/server', { show: one }) }))),
      answer === null ? empty('You may not see this.') : VIEWS[name].view(answer, ctx),
    ];
  },
};
