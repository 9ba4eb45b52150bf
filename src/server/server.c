/*
 * Birth and death of the server. One turn of its loop is in turn.c.
 */
#include "server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/acl_log.h"
#include "server/event_log.h"
#include "server/latency.h"
#include "server/loading.h"
#include "server/member.h"
#include "server/persist.h"
#include "server/pubsub.h"
#include "server/push.h"
#include "server/server_int.h"
#include "server/slowlog.h"
#include "server/users.h"
#include "server/users_log.h"
#include "sys/entropy.h"
#include "sys/log.h"
#include "sys/privileges.h"
#include "util/mem.h"

void server_apply_config(struct server *s)
{
	conns_apply_config(s);
	client_memory_apply_config(s);
	environment_apply_config(s);
	s->turn.share = s->config->commands_per_turn;
	acl_log_trim(s->acl_log, s->config->acl_log_max_len);
	slowlog_trim(s->slowlog, s->config->slowlog_max_len);
	persist_apply_config(s);
	push_apply_config(s);
}

static struct event_base *make_base(void)
{
	struct event_config *wanted = event_config_new();
	struct event_base *base;

	event_config_set_flag(wanted, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(wanted);
	event_config_free(wanted);
	return base;
}

/* Returns whether sockets can be edge-triggered. Without a flag for the end of the peer, one
 * edge could stand for bytes and the end. A reader that stops after the bytes would miss the
 * end. */
static bool can_trigger_on_edges(const struct event_base *base)
{
	int wanted = EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE;

	return (event_base_get_features(base) & wanted) == wanted;
}

/* Make the parts that need only memory and cannot fail. */
static void init_parts(struct server *s)
{
	entropy_hex(s->run_id, 20);
	s->hash_seed = entropy_u64();
	memory_gauge_init(&s->memory.gauge);
	clocks_init(&s->clocks);
	gate_init(&s->gate);
	clients_init(s);
	submissions_init(s);
	waitings_init(s);
	child_work_init(s);
	conns_init(s);
	strangers_init(s);
	client_memory_init(s);
	s->pubsub = pubsub_new(s, s->hash_seed);
	s->acl_log = acl_log_new();
	s->slowlog = slowlog_new();
	s->latency = latency_new();
	notify_init(&s->notify, NULL);
	environment_init(s);
	http_sessions_init(s);
	lines_init(s);
	awaited_init(s);
	presence_init(s);
	limit_watch_init(s);
	sweep_watch_init(s);
	ticks_init(s);
	overtime_init(s);
	listeners_init(s);
	stats_init(s);
}

/* Open what makes requests arrive. */
static int open_doors(struct server *s, struct buf *ret_error)
{
	if (s->is_inside)
		return inbox_open(s, ret_error);
	if (listen_open_all(s, ret_error) < 0)
		return -1;
	/* The process gives up its last rights after it has opened the listeners, and before the
	 * log starts a thread: each thread has its own rights. */
	return privileges_seal(ret_error);
}

static void notify_begin(struct server *s)
{
	if (s->is_inside || s->config->supervised == CONFIG_SUPERVISED_NO ||
	    notify_init(&s->notify, getenv("NOTIFY_SOCKET")) >= 0)
		return;
	log_warning("cannot send messages to the service manager at %s", getenv("NOTIFY_SOCKET"));
}

static struct server *make_server(struct config *config, const struct config_source *source,
				  bool is_inside, struct buf *ret_error)
{
	struct server *s = mem_zalloc(sizeof *s);

	s->config = config;
	s->is_inside = is_inside;
	reload_init(s, source);
	init_parts(s);
	if (!is_inside)
		http_init(s);
	event_streams_init(s);
	if (!conns_make_room(s, config->maxclients))
		log_warning(
			"maxclients is %zu, but the system allows open files for %zu clients only",
			config->maxclients, s->conns.limit);
	server_apply_config(s);

	if (!is_inside)
		event_log_install();
	s->base = make_base();
	if (s->base == NULL) {
		buf_printf(ret_error, "cannot make an event loop: %s", strerror(errno));
		goto fail;
	}
	s->has_edges = can_trigger_on_edges(s->base);
	if ((config->tls_port != 0 || config->https_port != 0) &&
	    certificates_load(s, config, ret_error) < 0)
		goto fail;
	s->env.acl = users_load(config, s->table, ret_error);
	if (s->env.acl == NULL)
		goto fail;
	s->users_log = users_log_new(users_load(config, s->table, ret_error), s->hash_seed);
	if (open_doors(s, ret_error) < 0 || persist_open(s, ret_error) < 0 ||
	    alarm_init(s, ret_error) < 0)
		goto fail;
	notify_begin(s);
	pause_init(s);
	login_init(s);
	sync_watch_init(s);
	stop_init(s);
	cron_init(s);
	if (!is_inside)
		signals_init(s);
	s->memory.startup_bytes = memory_gauge_read(&s->memory.gauge);
	return s;

fail:
	server_free(s);
	return NULL;
}

struct server *server_new(struct config *config, const struct config_source *source,
			  struct buf *ret_error)
{
	return make_server(config, source, /* is_inside= */ false, ret_error);
}

struct server *server_new_inside(struct config *config, struct buf *ret_error)
{
	return make_server(config, NULL, /* is_inside= */ true, ret_error);
}

void server_free(struct server *s)
{
	if (s == NULL)
		return;
	conns_done(s);
	push_done(s);
	submissions_done(s);
	child_work_done(s);
	listen_close_all(s);
	inbox_close(s);
	certificates_done(s);
	persist_close(s, /* save= */ false);
	cron_done(s);
	pause_done(s);
	lines_done(s);
	awaited_done(s);
	presence_done(s);
	listeners_done(s);
	alarm_done(s);
	login_done(s);
	sync_watch_done(s);
	stop_done(s);
	signals_done(s);
	if (s->base != NULL)
		event_base_free(s->base);
	http_done(s);
	notify_done(&s->notify);
	users_log_free(s->users_log);
	stats_done(s);
	http_sessions_done(s);
	event_streams_done(s);
	environment_done(s);
	reload_done(s);
	pubsub_free(s->pubsub);
	acl_log_free(s->acl_log);
	slowlog_free(s->slowlog);
	latency_free(s->latency);
	clients_done(s);
	free(s);
}

void server_describe_listeners(const struct server *s, struct buf *out)
{
	for (int i = 0; i < s->listening.count; i++)
		buf_printf(out, "%s%s", i != 0 ? " " : "", s->listening.listeners[i].name);
}

int server_load(struct server *s, const struct loading_origin *origin)
{
	if (loading_run(s, origin) < 0)
		return -1;
	reload_catch_up(s);
	return 0;
}

enum server_exit server_serve(struct server *s)
{
	while (!stop_is_over(s) && !s->turn.loop_failed) {
		turn_run(s, /* wait= */ true);
		if (s->member != NULL && !s->stop.is_begun && member_needs_loading(s))
			loading_repeat(s);
	}
	inbox_refuse(s);
	persist_close(s, s->stop.saves_log);
	return s->turn.loop_failed ? SERVER_EXIT_FAILED : SERVER_EXIT_STOPPED;
}

bool server_lost_records(const struct server *s)
{
	return s->has_lost_records;
}

void server_abandon(struct server *s)
{
	persist_abandon(s);
}

enum server_exit server_run(struct server *s, const struct loading_origin *origin)
{
	struct buf where = BUF_INIT(4096);

	if (server_load(s, origin) < 0)
		return s->stop.is_begun ? SERVER_EXIT_STOPPED : SERVER_EXIT_NOT_STARTED;
	server_describe_listeners(s, &where);
	log_notice("ready to accept connections on %s", buf_cstr(&where));
	buf_done(&where);
	notify_ready(&s->notify, SERVER_STATUS_READY);
	return server_serve(s);
}
