#include "embed/store.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "build_config.h"
#include "client/backoff.h"
#include "embed/failure.h"
#include "embed/keeper.h"
#include "embed/members.h"
#include "embed/reply.h"
#include "sys/clock.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/str.h"

/* Number of idle links that a store keeps. */
#define IDLE_MAX 16
/* Seconds for which calls try again by default. */
#define PATIENCE_S 30
/* Seconds that a stopped command may take to end. A server that does not answer is given up. */
#define END_WAIT_S 5

const char *qless_store_version(void)
{
	return QLESSD_VERSION;
}

/* ---- links ---- */

int store_check_owner(const struct qless_store *store, struct qless_store_error *error)
{
	if (store->owner == getpid())
		return 0;
	return failure_set(error, QLESS_STORE_EFORKED,
			   "process %ld opened the store, and this is a child of it",
			   (long)store->owner);
}

struct link *store_make_link(struct qless_store *store)
{
	int fd;

	if (store->resident == NULL)
		return link_new(connection_open(&store->settings));
	fd = resident_connect(store->resident);
	return fd >= 0 ? link_new(connection_adopt(fd, &store->settings)) : NULL;
}

static struct link *take_idle(struct qless_store *store)
{
	struct link *link;

	pthread_mutex_lock(&store->mutex);
	link = store->idle;
	if (link != NULL) {
		store->idle = link->next;
		store->idle_count--;
	}
	pthread_mutex_unlock(&store->mutex);
	return link;
}

static struct link *take_link(struct qless_store *store)
{
	struct link *link;

	while ((link = take_idle(store)) != NULL) {
		if (link_refresh(link))
			return link;
		link_free(link);
	}
	return store_make_link(store);
}

static void give_back(struct qless_store *store, struct link *link)
{
	pthread_mutex_lock(&store->mutex);
	if (store->idle_count < IDLE_MAX) {
		link->next = store->idle;
		store->idle = link;
		store->idle_count++;
		link = NULL;
	}
	pthread_mutex_unlock(&store->mutex);
	link_free(link);
}

/* ---- calls ---- */

/* The server of this process closes connections without an answer only if the log has failed, or
 * it ends. */
static int fail_inside(struct qless_store *store, const struct link *link, enum link_result result,
		       struct qless_store_error *error)
{
	char warning[400];

	if (link == NULL || result != LINK_LOST)
		return failure_set(error, QLESS_STORE_ECLOSED, "the store was shut down");
	resident_read_warning(store->resident, warning, sizeof warning);
	if (warning[0] == '\0')
		return failure_set(error, QLESS_STORE_ELOST, "the answer was lost");
	return failure_set(error, QLESS_STORE_ELOST, "the answer was lost. The last warning is: %s",
			   warning);
}

int store_fail(struct qless_store *store, const struct link *link, enum link_result result,
	       struct qless_store_error *error)
{
	if (result == LINK_STOPPED)
		return failure_set(error, QLESS_STORE_ESTOPPED, "the call was stopped");
	if (store->resident != NULL)
		return fail_inside(store, link, result, error);
	return failure_set(error,
			   result == LINK_LOST	    ? QLESS_STORE_ELOST
			   : result == LINK_REFUSED ? QLESS_STORE_EREFUSED
						    : QLESS_STORE_EUNAVAILABLE,
			   "%s", link_error(link));
}

enum link_result store_end_wait(struct qless_store *store, struct link *link,
				struct client_reply *ret_reply)
{
	struct link_limits soon = link_limits_make(END_WAIT_S, NULL);
	struct client_reply unblocked;
	struct link *other;
	char id[NUM_MAX];
	bool is_unblocked = false;

	if (connection_id(link->connection) == 0)
		return LINK_STOPPED;
	other = take_link(store);
	if (other != NULL) {
		struct qless_str argv[] = {
			STR_INIT("CLIENT"), STR_INIT("UNBLOCK"),
			str_make(id, num_format_i64(id, connection_id(link->connection)))
		};

		if (link_call(other, argv, 3, &soon, &unblocked) == LINK_ANSWERED) {
			is_unblocked = unblocked.type == CLIENT_REPLY_INTEGER;
			client_reply_done(&unblocked);
			give_back(store, other);
		} else {
			link_free(other);
		}
	}
	/* Without the permission to unblock, only closing the connection ends the command. */
	return is_unblocked ? link_receive(link, &soon, ret_reply) : LINK_STOPPED;
}

/* A command that was stopped had no effect if it replies null, as when its time is over. */
static int end_stopped(struct qless_store *store, struct link *link, struct client_reply *ret_reply,
		       struct qless_store_error *error)
{
	enum link_result result = store_end_wait(store, link, ret_reply);
	int rc;

	if (result == LINK_ANSWERED) {
		give_back(store, link);
		if (ret_reply->type != CLIENT_REPLY_NULL)
			return 0;
		client_reply_done(ret_reply);
		return store_fail(store, link, LINK_STOPPED, error);
	}
	rc = store_fail(store, link, LINK_STOPPED, error);
	if (error != NULL)
		error->may_have_run = true;
	link_free(link);
	return rc;
}

int store_call(struct qless_store *store, const struct qless_str *argv, size_t argc,
	       const struct link_limits *limits, struct client_reply *ret_reply,
	       struct qless_store_error *error)
{
	enum link_result result;
	struct link *link = take_link(store);
	int rc = 0;

	if (link == NULL)
		return store_fail(store, NULL, LINK_UNAVAILABLE, error);
	result = link_call(link, argv, argc, limits, ret_reply);
	if (result == LINK_STOPPED) {
		rc = end_stopped(store, link, ret_reply, error);
	} else if (result != LINK_ANSWERED) {
		rc = store_fail(store, link, result, error);
		link_free(link);
	} else {
		give_back(store, link);
	}
	if (rc < 0 || !client_reply_is_error(ret_reply))
		return rc;
	rc = failure_refused(error, ret_reply);
	client_reply_done(ret_reply);
	return rc;
}

static void pause_ms(unsigned ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

/* Errors that say that the server cannot do anything now, and has not. */
static bool is_passing(const struct qless_store_error *error)
{
	return strcmp(error->word, "LOADING") == 0 || strcmp(error->word, "MISCONF") == 0 ||
	       strcmp(error->word, "BUSY") == 0;
}

int store_insist(struct qless_store *store, const struct qless_str *argv, size_t argc,
		 struct client_reply *ret_reply, struct qless_store_error *error)
{
	int64_t until_us = clock_mono_us() + clock_from_seconds(store->patience_s);
	struct backoff backoff = BACKOFF_INIT;
	struct qless_store_error own;
	bool may_have_run = false;
	int rc;

	for (;;) {
		rc = store_call(store, argv, argc, &LINK_NO_LIMITS, ret_reply, &own);
		if (rc == 0)
			break;
		may_have_run |= own.may_have_run;
		if ((rc != QLESS_STORE_ELOST && rc != QLESS_STORE_EUNAVAILABLE &&
		     !(rc == QLESS_STORE_EREFUSED && store->resident == NULL &&
		       is_passing(&own))) ||
		    clock_mono_us() >= until_us)
			break;
		pause_ms(backoff_next_ms(&backoff));
	}
	if (rc == 0)
		return failure_none(error, 0);
	own.may_have_run = may_have_run;
	if (error != NULL)
		*error = own;
	return rc;
}

/* ---- the public calls ---- */

/* Commands that are about a connection, which a call does not have. */
static bool is_about_connection(struct qless_str name)
{
	static const char *const names[] = {
		"AUTH",		 "DISCARD",	  "EXEC",	  "HELLO",   "MONITOR",
		"MULTI",	 "PSUBSCRIBE",	  "PUNSUBSCRIBE", "QUIT",    "RESET",
		"SELECT",	 "SUBSCRIBE",	  "UNSUBSCRIBE",  "UNWATCH", "WATCH",
		"WORKER.ATTACH", "WORKER.DETACH",
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (str_equal_nocase(name, str_from(names[i])))
			return true;
	}
	return false;
}

static int check_command(const struct qless_str *argv, size_t argc, struct qless_store_error *error)
{
	if (argv == NULL || argc == 0)
		return failure_set(error, QLESS_STORE_EARGUMENT, "the command has no name");
	if (is_about_connection(argv[0]))
		return failure_set(error, QLESS_STORE_EARGUMENT,
				   "%.*s is about a connection, and each call may use another one",
				   (int)argv[0].len, argv[0].ptr);
	/* CLIENT REPLY would leave calls without their replies. */
	if (argc > 1 && str_equal_nocase(argv[0], STR("CLIENT")) &&
	    str_equal_nocase(argv[1], STR("REPLY")))
		return failure_set(error, QLESS_STORE_EARGUMENT, "every call needs its reply");
	return 0;
}

int qless_store_call(struct qless_store *store, const struct qless_str *argv, size_t argc,
		     const struct qless_call_options *options, struct qless_reply **ret_reply,
		     struct qless_store_error *error)
{
	struct qless_call_options own;
	struct client_reply reply;
	struct link_limits limits;
	int rc = MEMBERS_READ(&own, options, error);

	if (rc == 0)
		rc = store_check_owner(store, error);
	if (rc == 0)
		rc = check_command(argv, argc, error);
	if (rc < 0)
		return rc;
	limits = link_limits_make(own.timeout_s, own.stopper);
	rc = store_call(store, argv, argc, &limits, &reply, error);
	if (rc < 0)
		return rc;
	if (ret_reply != NULL)
		*ret_reply = reply_take(&reply);
	else
		client_reply_done(&reply);
	return failure_none(error, 0);
}

/* ---- opening and closing ---- */

static struct qless_store *store_new(void)
{
	struct qless_store *store = mem_zalloc(sizeof *store);

	store->owner = getpid();
	store->patience_s = PATIENCE_S;
	client_settings_init(&store->settings);
	store->settings.proto = 3;
	pthread_mutex_init(&store->mutex, NULL);
	return store;
}

static void store_free(struct qless_store *store)
{
	struct link *link;

	while ((link = take_idle(store)) != NULL)
		link_free(link);
	client_settings_done(&store->settings);
	pthread_mutex_destroy(&store->mutex);
	free(store);
}

/* Succeeds if the server answers. */
static int try_store(struct qless_store *store, struct qless_store_error *error)
{
	const struct qless_str ping = STR_INIT("PING");
	struct client_reply reply;
	int rc = store_call(store, &ping, 1, &LINK_NO_LIMITS, &reply, error);

	if (rc == 0)
		client_reply_done(&reply);
	return rc;
}

int qless_store_open(const char *directory, const struct qless_store_options *options,
		     struct qless_store **ret_store, struct qless_store_error *error)
{
	struct qless_store_options own;
	struct qless_store *store;
	int rc = MEMBERS_READ(&own, options, error);

	if (rc < 0)
		return rc;
	store = store_new();
	client_settings_set_text(&store->settings.socket, directory);
	store->settings.db = own.database;
	/* The server answers in any case, but it may have to wait for a processor. */
	store->settings.connect_timeout_s = 0;
	rc = resident_start(directory, &own, &store->resident, error);
	if (rc == 0) {
		rc = try_store(store, error);
		if (rc < 0)
			resident_stop(store->resident, NULL);
	}
	if (rc < 0) {
		store_free(store);
		return rc;
	}
	*ret_store = store;
	return failure_none(error, 0);
}

static void set_if_given(char **text, const char *value)
{
	if (value != NULL)
		client_settings_set_text(text, value);
}

static int read_address(struct client_settings *s, const char *address,
			const struct qless_connect_options *options,
			struct qless_store_error *error)
{
	struct buf reason = BUF_INIT(1024);
	int rc = 0;

	if (address == NULL || !client_settings_set_any(s, address, &reason))
		rc = failure_set(error, QLESS_STORE_EARGUMENT, "%s",
				 address == NULL ? "the address is NULL" : buf_cstr(&reason));
	buf_done(&reason);
	set_if_given(&s->user, options->user);
	set_if_given(&s->password, options->password);
	set_if_given(&s->cacert, options->ca_file);
	set_if_given(&s->cert, options->certificate);
	set_if_given(&s->key, options->key);
	set_if_given(&s->sni, options->server_name);
	if (options->database != 0)
		s->db = options->database;
	if (options->connect_timeout_s > 0)
		s->connect_timeout_s = options->connect_timeout_s;
	return rc;
}

int qless_connect(const char *address, const struct qless_connect_options *options,
		  struct qless_store **ret_store, struct qless_store_error *error)
{
	struct qless_connect_options own;
	struct qless_store *store;
	int rc = MEMBERS_READ(&own, options, error);

	if (rc < 0)
		return rc;
	store = store_new();
	if (own.patience_s > 0)
		store->patience_s = own.patience_s;
	store->log = own.log;
	store->log_arg = own.log_arg;
	rc = read_address(&store->settings, address, &own, error);
	if (rc == 0)
		rc = try_store(store, error);
	if (rc < 0) {
		store_free(store);
		return rc;
	}
	*ret_store = store;
	return failure_none(error, 0);
}

int qless_store_close(struct qless_store *store, struct qless_store_error *error)
{
	struct link *link;
	int rc = 0;

	if (store == NULL)
		return failure_none(error, 0);
	if (store->owner != getpid()) {
		while ((link = take_idle(store)) != NULL)
			link_free(link);
		if (store->resident != NULL)
			resident_abandon(store->resident);
		return failure_none(error, 0);
	}
	keeper_free(store->keeper);
	while ((link = take_idle(store)) != NULL)
		link_free(link);
	if (store->resident != NULL)
		rc = resident_stop(store->resident, error);
	store_free(store);
	return rc == 0 ? failure_none(error, 0) : rc;
}

void store_tell(struct qless_store *store, enum qless_store_level level, const char *line)
{
	if (store->log != NULL)
		store->log(store->log_arg, level, line);
}
