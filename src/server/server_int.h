/*
 * The server, shared by the modules of this folder. Each module defines its own part in its own
 * header.
 */
#ifndef SERVER_SERVER_INT_H
#define SERVER_SERVER_INT_H

#include <event2/event.h>
#include <stdint.h>

#include "command/request.h"
#include "config/config.h"
#include "server/alarm.h"
#include "server/awaited.h"
#include "server/certificates.h"
#include "server/child_work.h"
#include "server/client.h"
#include "server/client_memory.h"
#include "server/clock_watch.h"
#include "server/clocks.h"
#include "server/complaints.h"
#include "server/conn.h"
#include "server/copy_watch.h"
#include "server/cron.h"
#include "server/environment.h"
#include "server/event_stream.h"
#include "server/gate.h"
#include "server/hints.h"
#include "server/http_session.h"
#include "server/inbox.h"
#include "server/limit_watch.h"
#include "server/lines.h"
#include "server/listen.h"
#include "server/listeners.h"
#include "server/login.h"
#include "server/memory_watch.h"
#include "server/pause.h"
#include "server/presence.h"
#include "server/queues.h"
#include "server/reload.h"
#include "server/server.h"
#include "server/signals.h"
#include "server/stats.h"
#include "server/stop.h"
#include "server/strangers.h"
#include "server/submit.h"
#include "server/sync_watch.h"
#include "server/overtime.h"
#include "server/sweep_watch.h"
#include "server/ticks.h"
#include "server/turn.h"
#include "server/waiting.h"
#include "sys/notify.h"

struct acl_log;
struct latency_monitor;
struct membership;
struct persist;
struct pubsub;
struct push;
struct slowlog;
struct users_log;

/* The status that the service manager shows while the server is healthy. */
#define SERVER_STATUS_READY "Ready to accept connections"

struct server {
	struct config *config;
	struct reload reload;
	struct event_base *base;
	bool has_edges;	       /* sockets are edge-triggered */
	bool loading;	       /* the state is being loaded */
	bool is_inside;	       /* of another program, whose process is left as it is */
	bool has_lost_records; /* the log was not closed cleanly */

	struct clocks clocks;
	struct clock_watch clock_watch;
	struct turn turn;
	struct conns conns;
	struct client_memory client_memory;
	struct strangers strangers;
	struct login login;
	struct clients clients;
	struct intake intake;
	struct gate gate;
	struct sync_watch sync_watch;
	struct submissions submissions;
	struct waitings waitings;
	struct child_work child_work;
	struct alarm alarm;
	struct lines lines;
	struct awaited awaited;
	struct limit_watch limit_watch;
	struct sweep_watch sweep_watch;
	struct presence presence;
	struct ticks ticks;
	struct overtime overtime;
	struct listeners listeners;

	struct command_table *table;
	struct command_env env;
	struct scratch command_scratch; /* of env */
	struct buf queue_channel;	/* name of the channel of an event that is published */
	struct jids jids;
	struct pause pause;
	struct stop stop;
	struct cron cron;
	struct signals signals;
	struct queue_ticker ticker;

	struct listening listening;
	struct inbox inbox;
	struct certificates certificates;
	struct copy_watch copies;
	struct complaints complaints;
	struct hints hints; /* for people whose commands did something else than they meant */
	struct notify notify;

	struct pubsub *pubsub;
	struct http *http;	   /* NULL: http-port and https-port are 0 */
	struct persist *persist;   /* NULL: appendonly is no */
	struct membership *member; /* NULL: it is no node of a group */
	struct users_log *users_log;
	struct event_streams event_streams;
	struct http_sessions http_sessions;
	struct push *push; /* NULL: there was no endpoint yet */

	struct server_stats stats;
	struct memory_watch memory;
	struct acl_log *acl_log;
	struct slowlog *slowlog;
	struct latency_monitor *latency;

	char run_id[41];
	uint64_t hash_seed;
};

/* Read the clocks, once a turn. */
static inline void server_read_clock(struct server *s)
{
	clocks_read(&s->clocks);
}

/* Apply the configuration: at the start, and after CONFIG SET. */
void server_apply_config(struct server *s);

/* Returns whether more memory is in use than maxmemory, apart from the buffers of clients. */
static inline bool server_is_out_of_memory(const struct server *s)
{
	return memory_watch_is_over(&s->memory, s->config->maxmemory_bytes,
				    client_memory_of_buffers(s));
}

#endif
