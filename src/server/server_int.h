/*
 * What the files of the server share: the server itself and its connections. Seen by this folder
 * only.
 */
#ifndef SERVER_SERVER_INT_H
#define SERVER_SERVER_INT_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdint.h>
#include <sys/queue.h>

#include "command/command.h"
#include "config/config.h"
#include "resp/parser.h"
#include "server/client.h"
#include "server/gate.h"
#include "server/server.h"
#include "server/transport.h"
#include "sys/clock.h"
#include "sys/memory.h"
#include "sys/notify.h"
#include "util/buf.h"
#include "util/hash.h"

struct http;
struct latency_monitor;
struct listener;
struct persist;
struct pubsub;
struct slowlog;
struct tls;

/* Bytes read from a connection in one go. */
#define SERVER_READ_BYTES ((size_t)64 * 1024)
/* Bytes written to a connection in one go, so that a long reply leaves room for others. */
#define SERVER_WRITE_BYTES ((size_t)1024 * 1024)
/* Unsent output at which a connection that has not authenticated is closed. */
#define SERVER_STRANGER_BYTES ((size_t)64 * 1024)
/* Lines in the log about clients that misbehave, each second. */
#define SERVER_COMPLAINTS 10
/* Chunks of output kept for reuse. */
#define SERVER_SPARE_CHUNKS 256
/* A connection that is to be closed may stay this long without taking any of its output. */
#define SERVER_CLOSE_SECONDS 10
/* What was flushed is freed for so long in each turn, so many things at a time. */
#define SERVER_FREE_US	   1000
#define SERVER_FREE_THINGS 128
/* Descriptors that are needed besides those of clients. */
#define SERVER_OWN_FDS 32
/* What the service manager shows while nothing is wrong. */
#define SERVER_STATUS_READY "Ready to accept connections"

/* Steps of handshakes in one turn: each can take a millisecond, and others wait. */
#define SERVER_HANDSHAKES_PER_TURN 8
/* The log has no more than one line in this time about peers that cannot be understood. */
#define SERVER_MISFIT_LOG_US 1000000

/*
 *             +---------------------------> CLOSING --> LEAVING --+
 *             |  the last reply is on its way                     v
 *  (new) --> OPEN ---------------------------------------------> DEAD --> (freed at the end of
 *    |        ^  ^  |                                             ^        the turn)
 *    |        |  |  v  CLIENT PAUSE                               |
 *    |        | HELD ---------------------------------------------+
 *    | TLS    |                                                   |
 *    +--> HANDSHAKE ----------------------------------------------+
 */
enum conn_state {
	CONN_HANDSHAKE, /* the transport is not ready; nothing is read or written */
	CONN_OPEN,	/* requests are read and run */
	CONN_HELD,	/* its next request waits until the pause is over */
	CONN_CLOSING,	/* runs no more requests; closed when its output has left */
	CONN_LEAVING,	/* all is written; waits until the peer has taken it */
	CONN_DEAD,	/* on the list of the dead */
};

enum conn_class {
	CONN_CLASS_NORMAL,
	CONN_CLASS_PUBSUB,
	CONN_CLASS_COUNT,
};

TAILQ_HEAD(conn_list, conn);

/* Bytes of output that wait until the log is durable up to a record. */
struct held_output {
	size_t bytes;
	struct gate_wait wait; /* waits as long as there are bytes */
};

struct conn {
	struct client client;
	struct transport transport;
	enum conn_state state;

	bool is_ready;	      /* on server->ready: requests wait in `in`, or more is to be read */
	bool has_output;      /* on server->writable: to be written at the end of the turn */
	bool awaits_writable; /* the write event is armed: the socket was full */
	bool reading_waits;   /* the transport has to write before it can read on */
	bool on_edges;	      /* its events come when something happens, and only then */
	bool end_of_input;    /* the peer sends no more */
	bool end_is_near;     /* nor will it, but what it has sent may not all be read yet */
	bool over_limit;      /* on server->over_limit: has more output than it may */

	struct event read_event;
	struct event write_event;

	struct resp_parser parser;
	struct buf in; /* what was read and not yet run; empty most of the time */
	/* client.out is, in this order: what may leave, what waits, what waits longer, and what was
	 * said in this turn. See conn_hold_output(). */
	size_t cleared;
	struct held_output held[2];
	unsigned newest_held; /* which of the two was held last */

	char *local; /* as client.peer */

	int64_t created_us; /* monotonic, as all that follow */
	int64_t active_us;
	int64_t over_soft_us; /* since when the output is over the soft limit; 0 if it is not */
	int64_t closing_us;

	TAILQ_ENTRY(conn) all; /* in the order of their ids */
	struct hash_node by_id;
	TAILQ_ENTRY(conn) ready;
	TAILQ_ENTRY(conn) writable;
	TAILQ_ENTRY(conn) over_limit_link;
	TAILQ_ENTRY(conn) dead;
};

/* Counters of one command, by the row of the table. */
struct command_stats {
	uint64_t calls;
	uint64_t total_ns;
	uint64_t rejected;
	uint64_t failed;
	struct histogram *histogram; /* of times in ns; NULL until the first call */
};

struct server_stats {
	uint64_t connections;
	uint64_t rejected_connections;
	uint64_t commands;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t error_replies;
	uint64_t reads;
	uint64_t writes;
	uint64_t output_limit_disconnects;
	uint64_t query_limit_disconnects;
	uint64_t auth_failures;
	uint64_t denied_commands;
	uint64_t tls_handshakes; /* that succeeded; and of these, those of an earlier session */
	uint64_t tls_resumed;
	uint64_t tls_failures;
	size_t peak_clients;
	uint64_t turns;
	int64_t turn_us_sum;
	int64_t turn_us_max;
	uint64_t http_requests;
	double max_clock_skew_s; /* between now in a command and our clock */
};

/* Error replies by their first word. There are few such words; should there be more, the rest are
 * not told apart. */
#define SERVER_ERROR_KINDS 64
struct error_count {
	char code[REPLY_ERROR_CODE_MAX + 1];
	uint64_t count;
};

/* Rates are taken from samples a second apart. */
#define SERVER_RATE_SAMPLES 16
struct rate {
	uint64_t last;
	int64_t last_us;
	uint64_t samples[SERVER_RATE_SAMPLES];
	unsigned next;
};

enum pause_mode {
	PAUSE_NONE,
	PAUSE_WRITE,
	PAUSE_ALL,
};

struct server {
	struct config *config;
	const char *config_file;
	struct event_base *base;
	bool has_edges; /* events come when something happens, not as long as it is so */
	struct command_table *table;
	struct command_env env;
	struct command_stats *command_stats;

	/* The time, read once a turn: monotonic and of the day. */
	bool clock_is_read;
	int64_t mono_us;
	int64_t wall_us;
	/* When the command that runs began, which is when the one before it ended: so there is one
	 * reading for each. Monotonic. */
	int64_t lap_ns;
	struct steady_clock native_clock; /* of native queue commands */
	/* Random bytes for the jids we make, used from the end. */
	unsigned char jid_entropy[COMMAND_JID_BYTES / 2 * 256];
	size_t jid_entropy_left;
	bool has_flushed;      /* of flushed databases there is something left to free */
	int64_t maintained_us; /* when old statistics were last dropped */
	int64_t started_mono_us;
	int64_t started_wall_us;

	struct listener *listeners;
	int listener_count;
	bool accept_paused; /* out of descriptors */
	bool accept_warned; /* the log says so; once for each time that there are too few */
	struct event *accept_timer;

	struct tls *tls;	  /* NULL: tls-port is 0 */
	unsigned handshakes_left; /* in this turn */
	int64_t tls_warned_us;	  /* when a look was last taken at the time the certificate has */
	int64_t misfit_logged_us;
	uint64_t misfits_not_logged; /* since then */

	size_t share; /* commands of a connection in a turn, see share.h */
	struct conn_list conns;
	struct hash conns_by_id;
	struct conn_list ready;
	struct conn_list writable;
	struct conn_list over_limit;
	struct conn_list dead;
	struct client_list monitors;
	size_t conn_count;
	size_t client_limit; /* maxclients, or what the system allows if that is less */
	uint64_t next_client_id;
	struct client *running; /* whose command is being run; NULL between commands */

	struct resp_limits limits;
	struct resp_limits unauth_limits;
	struct resp_request request;
	char *scratch; /* what has just been read, SERVER_READ_BYTES */
	struct chunk_pool chunks;
	size_t output_check_bytes; /* no output smaller than this is over any limit */

	struct pubsub *pubsub;
	struct slowlog *slowlog;
	struct latency_monitor *latency;

	/* How far the rates of queues have been brought up to date. */
	unsigned ticked_db;
	size_t tick_cursor;

	struct http *http;	 /* NULL: http-port is 0 */
	struct persist *persist; /* NULL: appendonly is no */
	struct users_log *users_log;
	bool loading; /* the state is not all there yet */
	bool loop_failed;
	bool save_at_stop;
	struct gate gate;

	unsigned complaints; /* about clients, in the log, within this second */
	uint64_t complaints_left_out;

	enum pause_mode pause_mode;
	int64_t pause_until_us;
	struct event *pause_timer;
	struct event *stop_timer;

	struct event *cron;
	struct event *watchdog;
	struct event *signals[8];
	int signal_count;
	struct notify notify;
	bool stopping;
	int64_t stop_deadline_us;

	struct server_stats stats;
	struct error_count errors[SERVER_ERROR_KINDS];
	unsigned error_kinds;
	struct memory_gauge memory;
	bool memory_is_full; /* beyond maxmemory, and the log says so */
	size_t startup_allocated;
	size_t peak_allocated;
	struct rate rate_commands;
	struct rate rate_in;
	struct rate rate_out;
	char run_id[41];
	uint64_t hash_seed;
};

/* Read the clocks; once a turn is enough for everything but measuring. */
void server_read_clock(struct server *s);

/* One turn of the loop. */
void server_turn(struct server *s, bool wait);

/* Whether there is to be a line in the log about what a client did that anybody can do who reaches
 * the port. There are a few each second, and then one that counts the rest: nobody is to fill the
 * disk with them. */
bool server_may_complain(struct server *s);

/* Stop serving: no new connections or requests, replies still leave, then server_run() comes back.
 */
void server_begin_stop(struct server *s);

/* Get descriptors for so many clients. If the system allows fewer, the limit is lower and the
 * answer false. */
bool server_make_room(struct server *s, size_t clients);

/* Make what depends on the configuration follow it: after start and after CONFIG SET. */
void server_apply_config(struct server *s);

/* Load certificate, key and CAs as the configuration says, for connections from then on. Returns
 * -1 with a reason if they are no good; then those that were loaded before stay. */
int server_reload_tls(struct server *s, const struct config *config, struct buf *ret_error);

/* Hold back commands; server_end_pause() is called by itself when the time is over. */
void server_begin_pause(struct server *s, enum pause_mode mode, int64_t duration_us);
void server_end_pause(struct server *s);

/* CONFIG RESETSTAT. */
void server_reset_stats(struct server *s);
/* The most memory that was ever seen allocated, which may be now. */
size_t server_peak_memory(struct server *s);
/* Beyond maxmemory. Everything that is allocated counts, also what waits to be sent: nothing is
 * evicted, so that what is refused never makes itself more. */
static inline bool server_is_out_of_memory(const struct server *s)
{
	return s->config->maxmemory_bytes != 0 &&
	       memory_gauge_read(&s->memory) > s->config->maxmemory_bytes;
}
/* Count the error reply that the client was written last, unless it has been counted. */
void server_count_error(struct client *c);

/* The mean of the last samples. */
uint64_t rate_per_second(const struct rate *r);

/* One event of at least `latency-monitor-threshold` is remembered under a name. */
void server_note_latency(struct server *s, const char *event, int64_t elapsed_us);
/* The same around what is to be measured, with no clock read while nobody wants to know. */
int64_t server_begin_latency(const struct server *s);
void server_end_latency(struct server *s, const char *event, int64_t begin_us);

#endif
