/*
 * Building and running the server.
 *
 * One turn of the loop:
 *
 *	1. wait until something happens, unless there is work left over from the turn before;
 *	2. for each socket that has something: read it, run the requests, no more of one
 *	   connection than its share; the rest of them in the next turn if much waits for a sync;
 *	3. go on with the connections that had more than their share;
 *	4. write to the log what was changed;
 *	5. send the replies, those that promise what is as durable as configured;
 *	6. free the connections that died, and some of what was flushed.
 */
#include "server/server.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/acl.h"
#include "command/databases.h"
#include "command/scripts.h"
#include "command/table.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/http.h"
#include "server/info.h"
#include "server/latency.h"
#include "server/listen.h"
#include "server/persist.h"
#include "server/pubsub.h"
#include "server/queues.h"
#include "server/share.h"
#include "server/slowlog.h"
#include "server/tls.h"
#include "server/users.h"
#include "server/users_log.h"
#include "sys/clock.h"
#include "sys/entropy.h"
#include "sys/log.h"
#include "sys/memory.h"
#include "sys/privileges.h"
#include "sys/rlimit.h"
#include "util/container.h"
#include "util/mem.h"

/* How long replies may take to leave when the server stops. */
#define STOP_SECONDS 5
/* How often to look meanwhile whether they have left. */
#define STOP_CHECK_MS 10
/* How often statistics that are too old are dropped: they are kept by the day. */
#define MAINTAIN_SECONDS 3600
/* How often the log says that the certificate is about to expire. */
#define TLS_WARN_SECONDS 86400

void server_read_clock(struct server *s)
{
	if (s->clock_is_read)
		return;
	s->clock_is_read = true;
	s->lap_ns = clock_mono_ns();
	s->mono_us = s->lap_ns / 1000;
	s->wall_us = clock_wall_us();
}

void server_note_latency(struct server *s, const char *event, int64_t elapsed_us)
{
	int64_t threshold_ms = s->config->latency_monitor_threshold_ms;

	if (threshold_ms != 0 && elapsed_us >= threshold_ms * 1000)
		latency_add(s->latency, event, s->wall_us / 1000000, elapsed_us / 1000);
}

int64_t server_begin_latency(const struct server *s)
{
	return s->config->latency_monitor_threshold_ms != 0 ? clock_mono_us() : 0;
}

void server_end_latency(struct server *s, const char *event, int64_t begin_us)
{
	if (begin_us != 0)
		server_note_latency(s, event, clock_mono_us() - begin_us);
}

/*
 * Configuration
 */

void server_apply_config(struct server *s)
{
	const struct config *config = s->config;

	s->limits = (struct resp_limits){
		.max_args = config->client_max_arguments,
		.max_bulk = config->proto_max_bulk_bytes,
		.max_inline = config->max_inline_bytes,
		.max_request = config->client_query_buffer_bytes,
	};
	s->unauth_limits = s->limits;
	s->unauth_limits.unauthenticated = true;

	s->output_check_bytes = SERVER_STRANGER_BYTES;
	for (int i = 0; i < CONFIG_CLIENT_CLASSES; i++) {
		const struct config_output_limit *limit = &config->output_limits.of[i];

		if (limit->hard_bytes != 0 && limit->hard_bytes < s->output_check_bytes)
			s->output_check_bytes = limit->hard_bytes;
		if (limit->soft_bytes != 0 && limit->soft_bytes < s->output_check_bytes)
			s->output_check_bytes = limit->soft_bytes;
	}
	s->share = config->commands_per_turn;
	slowlog_trim(s->slowlog, config->slowlog_max_len);
	persist_apply_config(s);
	/* While loading they stay as wide as they can be. */
	if (!s->loading)
		databases_set_limits(s->env.databases,
				     &(struct databases_limits){
				     .engine = {
					     .max_name_bytes = config->max_name_bytes,
					     .max_data_bytes = config->max_data_bytes,
					     .max_tags = config->max_tags,
					     .max_dependencies = config->max_dependencies,
					     .max_jobs = config->max_jobs_per_call,
				     },
				     .max_json_depth = config->max_json_depth,
			     });
	databases_set_envelope(s->env.databases,
			       config->script_error_format == CONFIG_SCRIPT_ERRORS_REDIS6
				       ? CLASSIC_ENVELOPE_REDIS6
				       : CLASSIC_ENVELOPE_REDIS7);
}

bool server_make_room(struct server *s, size_t clients)
{
	uint64_t wanted = (uint64_t)clients + SERVER_OWN_FDS;
	uint64_t have = rlimit_raise_files(wanted);

	if (have >= wanted) {
		s->client_limit = clients;
		return true;
	}
	s->client_limit = have > SERVER_OWN_FDS + 1 ? (size_t)have - SERVER_OWN_FDS : 1;
	return false;
}

/*
 * Signals and time
 */

bool server_may_complain(struct server *s)
{
	if (s->complaints == SERVER_COMPLAINTS) {
		s->complaints_left_out++;
		return false;
	}
	s->complaints++;
	return true;
}

/* Once a second. */
static void count_complaints(struct server *s)
{
	if (s->complaints_left_out != 0)
		log_warning("%llu more lines about clients that were refused within a second are "
			    "left out",
			    (unsigned long long)s->complaints_left_out);
	s->complaints = 0;
	s->complaints_left_out = 0;
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	struct server *s = arg;

	(void)what;
	if (s->stopping) {
		log_notice("%s again: not waiting for replies to leave",
			   number == SIGINT ? "SIGINT" : "SIGTERM");
		s->stop_deadline_us = 0;
		return;
	}
	log_notice("%s received, stopping", number == SIGINT ? "SIGINT" : "SIGTERM");
	server_begin_stop(s);
}

int server_reload_tls(struct server *s, const struct config *config, struct buf *ret_error)
{
	struct tls *tls = tls_new(config, ret_error);

	if (tls == NULL)
		return -1;
	tls_free(s->tls);
	s->tls = tls;
	s->tls_warned_us = s->mono_us;
	return 0;
}

/* Both may have been replaced by something that renews or rotates files. */
static void on_reload_signal(evutil_socket_t number, short what, void *arg)
{
	struct buf error = BUF_INIT(4096);
	struct server *s = arg;

	(void)number;
	(void)what;
	if (!s->loading)
		notify_reloading(&s->notify);
	if (log_reopen(&error) == 0)
		log_notice("SIGHUP received, log file reopened");
	else
		log_warning("SIGHUP received, but %s", buf_cstr(&error));
	buf_clear(&error);
	if (s->tls != NULL && server_reload_tls(s, s->config, &error) == 0)
		log_notice("certificate and key loaded again");
	else if (s->tls != NULL)
		log_warning("the certificate loaded before stays in use: %s", buf_cstr(&error));
	buf_done(&error);
	if (!s->loading)
		notify_ready(&s->notify, NULL);
}

static void on_report_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	server_read_clock(arg);
	info_report(arg);
}

static void add_signal(struct server *s, int number, event_callback_fn handler)
{
	struct event *ev = evsignal_new(s->base, number, handler, s);

	event_add(ev, NULL);
	s->signals[s->signal_count++] = ev;
}

static void rate_sample(struct rate *r, uint64_t total, int64_t now_us)
{
	int64_t elapsed_us = now_us - r->last_us;

	if (elapsed_us <= 0)
		return;
	r->samples[r->next] = (total - r->last) * 1000000 / (uint64_t)elapsed_us;
	r->next = (r->next + 1) % SERVER_RATE_SAMPLES;
	r->last = total;
	r->last_us = now_us;
}

uint64_t rate_per_second(const struct rate *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < SERVER_RATE_SAMPLES; i++)
		sum += r->samples[i];
	return sum / SERVER_RATE_SAMPLES;
}

size_t server_peak_memory(struct server *s)
{
	size_t allocated = memory_gauge_read(&s->memory);

	if (allocated > s->peak_allocated)
		s->peak_allocated = allocated;
	return s->peak_allocated;
}

void server_count_error(struct client *c)
{
	const struct reply *w = &c->writer;
	struct server *s = c->server;
	unsigned i = 0;

	/* Of a command in a transaction it is counted there, and not again with EXEC. */
	if (c->errors_counted == w->errors)
		return;
	c->errors_counted = w->errors;
	s->stats.error_replies++;
	while (i < s->error_kinds && strcmp(s->errors[i].code, w->last_error) != 0)
		i++;
	if (i == SERVER_ERROR_KINDS)
		return;
	if (i == s->error_kinds) {
		memcpy(s->errors[i].code, w->last_error, sizeof s->errors[i].code);
		s->errors[i].count = 0;
		s->error_kinds++;
	}
	s->errors[i].count++;
}

void server_reset_stats(struct server *s)
{
	s->stats = (struct server_stats){ .peak_clients = s->conn_count };
	for (int i = 0; i < server_command_count; i++)
		free(s->command_stats[i].histogram);
	memset(s->command_stats, 0, (size_t)server_command_count * sizeof *s->command_stats);
	s->error_kinds = 0;
	s->rate_commands.last = s->rate_in.last = s->rate_out.last = 0;
	s->peak_allocated = 0;
}

static void note_memory(struct server *s)
{
	bool is_full;

	/* What replies were made in is not worth refusing a job for. */
	if (server_is_out_of_memory(s))
		chunk_pool_done(&s->chunks);
	is_full = server_is_out_of_memory(s);
	if (is_full == s->memory_is_full)
		return;
	s->memory_is_full = is_full;
	if (is_full)
		log_warning("memory in use has reached maxmemory, %zu bytes: commands that need "
			    "more are refused until jobs are completed, canceled or purged",
			    s->config->maxmemory_bytes);
	else
		log_notice("memory in use is below maxmemory again");
}

static void check_all(struct server *s)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		conn_check(c);
	}
}

/* Whether nothing may change, not even by time: while the log cannot be written, because the state
 * must not get ahead of it, and while somebody has asked for that. */
static bool is_still(void *arg)
{
	struct server *s = arg;

	return s->pause_mode != PAUSE_NONE || persist_refusal(s, 0) != NULL;
}

static void maintain(struct server *s)
{
	if (!s->loading && !is_still(s))
		databases_maintain(s->env.databases);
}

/* Once a second. */
static void on_cron(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	server_read_clock(s);
	count_complaints(s);
	check_all(s);
	resp_request_trim(&s->request);
	memory_gauge_sync(&s->memory);
	server_peak_memory(s);
	note_memory(s);
	if (s->mono_us - s->maintained_us >= MAINTAIN_SECONDS * INT64_C(1000000)) {
		int64_t begin_us = server_begin_latency(s);

		s->maintained_us = s->mono_us;
		maintain(s);
		server_end_latency(s, "expire-cycle", begin_us);
	}
	if (s->tls != NULL &&
	    s->mono_us - s->tls_warned_us >= TLS_WARN_SECONDS * INT64_C(1000000)) {
		s->tls_warned_us = s->mono_us;
		tls_warn_of_expiry(s->tls, s->wall_us / 1000000);
	}
	persist_cron(s);
	queues_tick(s);
	http_cron(s->http);
	rate_sample(&s->rate_commands, s->stats.commands, s->mono_us);
	rate_sample(&s->rate_in, s->stats.bytes_in, s->mono_us);
	rate_sample(&s->rate_out, s->stats.bytes_out, s->mono_us);
}

/* While the server stops: the last reply to many a connection is delivered long before a second is
 * over. */
static void on_stop_check(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
	check_all(arg);
}

static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	notify_watchdog(&s->notify);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
	server_end_pause(arg);
}

void server_begin_pause(struct server *s, enum pause_mode mode, int64_t duration_us)
{
	int64_t until_us = s->mono_us + duration_us;
	struct timeval delay;

	/* A pause never makes one that is under way shorter or weaker. */
	if (s->pause_mode != PAUSE_NONE && s->pause_until_us > until_us)
		until_us = s->pause_until_us;
	if (mode > s->pause_mode)
		s->pause_mode = mode;
	s->pause_until_us = until_us;
	delay.tv_sec = (until_us - s->mono_us) / 1000000;
	delay.tv_usec = (until_us - s->mono_us) % 1000000;
	event_add(s->pause_timer, &delay);
}

void server_end_pause(struct server *s)
{
	struct conn *c;

	s->pause_mode = PAUSE_NONE;
	event_del(s->pause_timer);
	TAILQ_FOREACH(c, &s->conns, all)
		conn_release(c);
}

static void make_timers(struct server *s)
{
	struct timeval second = { .tv_sec = 1 };
	int64_t watchdog_us = notify_watchdog_interval_us(getenv("WATCHDOG_USEC"),
							  getenv("WATCHDOG_PID"), getpid());

	s->cron = event_new(s->base, -1, EV_PERSIST, on_cron, s);
	event_add(s->cron, &second);
	s->pause_timer = evtimer_new(s->base, on_pause_over, s);
	s->stop_timer = event_new(s->base, -1, EV_PERSIST, on_stop_check, s);
	if (watchdog_us != 0 && notify_is_active(&s->notify)) {
		struct timeval half = { .tv_sec = watchdog_us / 2 / 1000000,
					.tv_usec = watchdog_us / 2 % 1000000 };

		s->watchdog = event_new(s->base, -1, EV_PERSIST, on_watchdog, s);
		event_add(s->watchdog, &half);
	}
	add_signal(s, SIGTERM, on_stop_signal);
	add_signal(s, SIGINT, on_stop_signal);
	add_signal(s, SIGHUP, on_reload_signal);
	add_signal(s, SIGUSR1, on_report_signal);
}

/*
 * What the queue commands need of us
 */

/* The clocks of native commands are those of the turn, moved on to the command: reading them anew
 * would cost more than to find the command in the table. */
static int64_t lap_mono_us(void *arg)
{
	const struct server *s = arg;

	return s->lap_ns / 1000;
}

static int64_t lap_wall_us(void *arg)
{
	const struct server *s = arg;

	return s->wall_us + lap_mono_us(arg) - s->mono_us;
}

static double native_now(void *arg)
{
	struct server *s = arg;

	return clock_seconds(steady_clock_read_us(&s->native_clock));
}

static void warn_of_skew(struct client *c, double skew_s)
{
	c->skew_is_logged = true;
	log_write(
		LOG_LEVEL_WARNING,
		LOG_FIELDS(LOG_INT("id", c->session.id), LOG_TEXT("addr", c->peer)),
		"the clock of a client and ours are %.6g seconds apart: its jobs fall due, and its "
		"locks expire, by its clock",
		skew_s);
}

/* The clock of the turn is near enough: who is late by less has no problem. */
static void note_now(void *arg, struct session *session, double now)
{
	struct server *s = arg;
	double skew_s = fabs(now - clock_seconds(s->wall_us));
	int64_t limit_s = s->config->clock_skew_warning_s;
	struct client *c;

	if (skew_s > s->stats.max_clock_skew_s)
		s->stats.max_clock_skew_s = skew_s;
	if (limit_s == 0 || skew_s <= (double)limit_s)
		return;
	c = container_of(session, struct client, session);
	if (!c->skew_is_logged)
		warn_of_skew(c, skew_s);
}

/* Asking the kernel for each jid alone would cost more than the rest of a put. */
static void native_pass(void *arg, double now)
{
	struct server *s = arg;

	steady_clock_pass(&s->native_clock, clock_from_seconds(now));
}

static void make_jid(void *arg, char to[COMMAND_JID_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	struct server *s = arg;
	const unsigned char *from;

	if (s->jid_entropy_left == 0) {
		entropy_bytes(s->jid_entropy, sizeof s->jid_entropy);
		s->jid_entropy_left = sizeof s->jid_entropy;
	}
	s->jid_entropy_left -= COMMAND_JID_BYTES / 2;
	from = s->jid_entropy + s->jid_entropy_left;
	for (int i = 0; i < COMMAND_JID_BYTES / 2; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 15];
	}
}

static bool is_out_of_memory(void *arg)
{
	return server_is_out_of_memory(arg);
}

static uint64_t random_number(void *arg)
{
	(void)arg;
	return entropy_u64();
}

static void publish_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	pubsub_publish(arg, channel, payload);
}

/* What is done again while loading was published when it was done first. */
static bool has_listeners(void *arg)
{
	const struct server *s = arg;

	return !s->loading && !pubsub_is_empty(s->pubsub);
}

static void make_databases(struct server *s)
{
	struct qless_hooks hooks = {
		.publish = publish_event,
		.listens = has_listeners,
		.arg = s,
		.hash_seed = s->hash_seed,
	};
	struct scripts_hooks hooks_of_scripts = persist_scripts_hooks;
	struct clock_source lap_clock = { lap_wall_us, lap_mono_us, s };

	s->env.databases = databases_new((unsigned)s->config->databases, &hooks);
	hooks_of_scripts.arg = s;
	s->env.scripts = scripts_new(s->hash_seed, &hooks_of_scripts);
	s->env.refusal = persist_refusal;
	s->env.is_still = is_still;
	s->env.now = native_now;
	s->env.pass = native_pass;
	s->env.note_now = note_now;
	s->env.is_out_of_memory = is_out_of_memory;
	s->env.make_jid = make_jid;
	s->env.random = random_number;
	s->env.arg = s;
	steady_clock_init(&s->native_clock, &lap_clock);
}

/*
 * Birth and death
 */

static struct event_base *make_base(void)
{
	struct event_config *wanted = event_config_new();
	struct event_base *base;

	event_config_set_flag(wanted, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(wanted);
	event_config_free(wanted);
	return base;
}

/* Without the news that a peer has closed its side an edge may stand for bytes and the end alike,
 * and who stops reading at the last byte would never learn of the end. */
static bool can_trigger_on_edges(const struct event_base *base)
{
	int wanted = EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE;

	return (event_base_get_features(base) & wanted) == wanted;
}

/* A user is about to be deleted: its sessions end. */
static void on_user_gone(void *arg, const struct user *user)
{
	struct server *s = arg;
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->client.session.user != user)
			continue;
		c->client.session.user = NULL;
		if (&c->client == s->running)
			conn_finish(c);
		else
			conn_kill(c, "its user was deleted");
	}
}

struct server *server_new(struct config *config, const char *config_file, struct buf *ret_error)
{
	struct server *s = mem_zalloc(sizeof *s);

	s->config = config;
	s->config_file = config_file;
	memory_gauge_init(&s->memory);
	server_read_clock(s);
	s->started_mono_us = s->mono_us;
	s->maintained_us = s->mono_us;
	s->started_wall_us = s->wall_us;
	s->rate_commands.last_us = s->rate_in.last_us = s->rate_out.last_us = s->mono_us;
	TAILQ_INIT(&s->conns);
	TAILQ_INIT(&s->ready);
	TAILQ_INIT(&s->writable);
	TAILQ_INIT(&s->over_limit);
	gate_init(&s->gate);
	TAILQ_INIT(&s->dead);
	TAILQ_INIT(&s->monitors);
	entropy_hex(s->run_id, 20);
	s->hash_seed = entropy_u64();
	conn_init_ids(s);
	s->scratch = mem_alloc(SERVER_READ_BYTES);
	chunk_pool_init(&s->chunks, SERVER_SPARE_CHUNKS);
	resp_request_init(&s->request);
	s->table = command_table_new(server_commands, server_command_count);
	s->command_stats = mem_zalloc((size_t)server_command_count * sizeof *s->command_stats);
	s->env.table = s->table;
	s->env.user_gone = on_user_gone;
	s->env.user_changed = users_log_note_change;
	s->env.user_gone_arg = s;
	s->pubsub = pubsub_new(s->hash_seed);
	make_databases(s);
	s->slowlog = slowlog_new();
	s->latency = latency_new();
	notify_init(&s->notify, NULL);
	if (!server_make_room(s, config->maxclients))
		log_warning(
			"no more than %zu clients instead of maxclients %zu, because the system "
			"allows too few open files",
			s->client_limit, config->maxclients);
	server_apply_config(s);

	s->base = make_base();
	if (s->base == NULL) {
		buf_printf(ret_error, "cannot make an event loop: %s", strerror(errno));
		goto fail;
	}
	s->has_edges = can_trigger_on_edges(s->base);
	if (config->tls_port != 0 && server_reload_tls(s, config, ret_error) < 0)
		goto fail;
	s->env.acl = users_load(config, s->table, ret_error);
	if (s->env.acl == NULL)
		goto fail;
	s->users_log = users_log_new(users_load(config, s->table, ret_error));
	/* The last rights go when the listeners are there: each thread has its own, so this is done
	 * before the log starts one. */
	if (listen_open_all(s, ret_error) < 0 || http_open(s, ret_error) < 0 ||
	    privileges_seal(ret_error) < 0 || persist_open(s, ret_error) < 0)
		goto fail;
	if (config->supervised != CONFIG_SUPERVISED_NO &&
	    notify_init(&s->notify, getenv("NOTIFY_SOCKET")) < 0)
		log_warning("cannot speak to the service manager: %s", getenv("NOTIFY_SOCKET"));
	make_timers(s);
	s->startup_allocated = memory_gauge_read(&s->memory);
	return s;

fail:
	server_free(s);
	return NULL;
}

static void free_the_dead(struct server *s)
{
	struct conn *c;

	if (TAILQ_EMPTY(&s->dead))
		return;
	while ((c = TAILQ_FIRST(&s->dead)) != NULL) {
		TAILQ_REMOVE(&s->dead, c, dead);
		conn_free(c);
	}
	listen_resume(s);
}

static void free_event(struct event *ev)
{
	if (ev != NULL)
		event_free(ev);
}

void server_free(struct server *s)
{
	struct conn *c;

	if (s == NULL)
		return;
	while ((c = TAILQ_FIRST(&s->conns)) != NULL)
		conn_kill(c, NULL);
	s->stopping = true;
	free_the_dead(s);
	hash_done(&s->conns_by_id);
	listen_close_all(s);
	tls_free(s->tls);
	persist_close(s, /* save= */ false);
	http_close(s->http);
	free_event(s->cron);
	free_event(s->watchdog);
	free_event(s->pause_timer);
	free_event(s->stop_timer);
	for (int i = 0; i < s->signal_count; i++)
		event_free(s->signals[i]);
	if (s->base != NULL)
		event_base_free(s->base);
	http_free(s->http);
	notify_done(&s->notify);
	databases_free(s->env.databases);
	scripts_free(s->env.scripts);
	pubsub_free(s->pubsub);
	slowlog_free(s->slowlog);
	latency_free(s->latency);
	for (int i = 0; s->command_stats != NULL && i < server_command_count; i++)
		free(s->command_stats[i].histogram);
	free(s->command_stats);
	users_log_free(s->users_log);
	acl_free(s->env.acl);
	command_table_free(s->table);
	resp_request_done(&s->request);
	chunk_pool_done(&s->chunks);
	free(s->scratch);
	free(s);
}

void server_describe_listeners(const struct server *s, struct buf *out)
{
	for (int i = 0; i < s->listener_count; i++)
		buf_printf(out, "%s%s", i != 0 ? " " : "", s->listeners[i].name);
}

/*
 * Running
 */

void server_begin_stop(struct server *s)
{
	struct timeval often = { .tv_usec = STOP_CHECK_MS * 1000 };
	struct conn *c, *next;

	if (s->stopping)
		return;
	s->stopping = true;
	s->stop_deadline_us = s->mono_us + STOP_SECONDS * INT64_C(1000000);
	notify_stopping(&s->notify, "Stopping");
	maintain(s);
	event_add(s->stop_timer, &often);
	listen_close_all(s);
	for (c = TAILQ_FIRST(&s->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		conn_finish(c);
	}
}

static void run_ready(struct server *s)
{
	struct conn *c;
	size_t count = 0;

	/* Each once: one that has even more goes to the end of the list. At least the first,
	 * however much the others want to be synced, or these would have to wait for them for ever.
	 */
	TAILQ_FOREACH(c, &s->ready, ready)
		count++;
	for (; count != 0 && !TAILQ_EMPTY(&s->ready); count--) {
		conn_run_ready(TAILQ_FIRST(&s->ready));
		if (persist_wants_end_of_turn(s))
			break;
	}
}

static void send_replies(struct server *s)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&s->over_limit)) != NULL)
		conn_kill(c, NULL);
	while ((c = TAILQ_FIRST(&s->writable)) != NULL) {
		TAILQ_REMOVE(&s->writable, c, writable);
		c->has_output = false;
		conn_hold_output(c);
		if (!c->awaits_writable)
			conn_flush(c);
	}
}

static bool is_finished(struct server *s)
{
	if (!s->stopping)
		return false;
	server_read_clock(s);
	return TAILQ_EMPTY(&s->conns) || s->mono_us >= s->stop_deadline_us;
}

static void free_the_flushed(struct server *s)
{
	int64_t begin_us = server_begin_latency(s);

	s->has_flushed = databases_free_some(s->env.databases, SERVER_FREE_THINGS);
	if (s->has_flushed) {
		int64_t end_us = clock_mono_us() + SERVER_FREE_US;

		while (s->has_flushed && clock_mono_us() < end_us)
			s->has_flushed = databases_free_some(s->env.databases, SERVER_FREE_THINGS);
	}
	server_end_latency(s, "lazyfree", begin_us);
}

/* The clock was read when the first event of the turn came. */
static void note_turn(struct server *s)
{
	int64_t elapsed_us = clock_mono_us() - s->mono_us;

	s->stats.turns++;
	s->stats.turn_us_sum += elapsed_us;
	if (elapsed_us > s->stats.turn_us_max)
		s->stats.turn_us_max = elapsed_us;
	s->share = share_next(s->share, elapsed_us, s->config->commands_per_turn);
	server_note_latency(s, "eventloop", elapsed_us);
}

void server_turn(struct server *s, bool wait)
{
	bool is_idle = TAILQ_EMPTY(&s->ready) && !s->has_flushed;
	int flags = EVLOOP_ONCE | (wait && is_idle ? 0 : EVLOOP_NONBLOCK);

	s->clock_is_read = false;
	s->handshakes_left = SERVER_HANDSHAKES_PER_TURN;
	if (event_base_loop(s->base, flags) < 0) {
		log_warning("the event loop failed: %s", strerror(errno));
		s->loop_failed = true;
		return;
	}
	server_read_clock(s);
	run_ready(s);
	persist_end_turn(s);
	gate_release(&s->gate);
	send_replies(s);
	free_the_dead(s);
	free_the_flushed(s);
	note_turn(s);
}

enum server_exit server_run(struct server *s, const struct persist_origin *origin)
{
	struct buf where = BUF_INIT(4096);

	if (persist_load(s, origin) < 0)
		return s->stopping ? SERVER_EXIT_STOPPED : SERVER_EXIT_FAILED;

	server_describe_listeners(s, &where);
	log_notice("ready to accept connections on %s", buf_cstr(&where));
	buf_done(&where);
	notify_ready(&s->notify, SERVER_STATUS_READY);

	while (!is_finished(s) && !s->loop_failed)
		server_turn(s, /* wait= */ true);
	persist_close(s, s->save_at_stop);
	return s->loop_failed ? SERVER_EXIT_FAILED : SERVER_EXIT_STOPPED;
}
