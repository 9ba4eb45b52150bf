#include "embed/resident.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "embed/directives.h"
#include "embed/failure.h"
#include "journal/lock.h"
#include "server/loading.h"
#include "server/server.h"
#include "sys/files.h"
#include "sys/log.h"
#include "util/buf.h"
#include "util/mem.h"

/* Bytes of the stack of the server. A program may have set a small default. */
#define STACK_BYTES ((size_t)8 * 1024 * 1024)
/* Longest reason for which a server does not start, in bytes. */
#define REASON_MAX 8192
/* Longest warning that is kept, in bytes. */
#define WARNING_MAX 400

enum resident_state {
	RESIDENT_STARTING,
	RESIDENT_SERVING,
	RESIDENT_ENDED,
};

struct resident {
	struct config config;
	char *dir;
	qless_store_log_fn *log;
	void *log_arg;
	pthread_t thread;

	pthread_mutex_t mutex; /* guards the fields below */
	pthread_cond_t changed;
	enum resident_state state;
	struct server *server; /* NULL: it could not be made */
	struct buf reason;     /* why it did not start */
	char warning[WARNING_MAX];
};

/* ---- the thread ---- */

static enum qless_store_level level_for_program(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_FATAL:
		return QLESS_STORE_FATAL;
	case LOG_LEVEL_WARNING:
		return QLESS_STORE_WARNING;
	case LOG_LEVEL_DEBUG:
	case LOG_LEVEL_VERBOSE:
	case LOG_LEVEL_NOTICE:
		break;
	}
	return QLESS_STORE_NOTICE;
}

/* The last fatal line is the reason for which the server does not start. */
static void take_line(void *arg, enum log_level level, const char *line)
{
	struct resident *r = arg;

	pthread_mutex_lock(&r->mutex);
	if (level == LOG_LEVEL_FATAL) {
		buf_clear(&r->reason);
		buf_append_str(&r->reason, str_from(line));
	} else if (level == LOG_LEVEL_WARNING) {
		snprintf(r->warning, sizeof r->warning, "%s", line);
	}
	pthread_mutex_unlock(&r->mutex);
	if (r->log != NULL)
		r->log(r->log_arg, level_for_program(level), line);
}

static void enter(struct resident *r, enum resident_state state)
{
	pthread_mutex_lock(&r->mutex);
	r->state = state;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
}

static struct server *make_server(struct resident *r)
{
	struct buf reason = BUF_INIT(REASON_MAX);
	struct server *server = server_new_inside(&r->config, &reason);

	pthread_mutex_lock(&r->mutex);
	r->server = server;
	buf_append_str(&r->reason, buf_str(&reason));
	pthread_mutex_unlock(&r->mutex);
	buf_done(&reason);
	return server;
}

static void *run(void *arg)
{
	const struct loading_origin origin = { .limit = RECOVERY_NO_LIMIT };
	struct resident *r = arg;
	struct server *server;

	pthread_setname_np(pthread_self(), "qless-store");
	log_redirect_thread(take_line, r);
	log_set_level((enum log_level)r->config.loglevel);
	server = make_server(r);
	if (server != NULL && server_load(server, &origin) == 0) {
		enter(r, RESIDENT_SERVING);
		server_serve(server);
	}
	enter(r, RESIDENT_ENDED);
	return NULL;
}

/* Other threads handle signals. A write to a closed socket raises SIGPIPE for the thread that
 * writes, which blocks it. Returns 0 or an error number. */
static int start_thread(struct resident *r)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&r->thread, &attr, run, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

/* ---- its owner ---- */

static void free_memory(struct resident *r)
{
	config_done(&r->config);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->mutex);
	buf_done(&r->reason);
	free(r->dir);
	free(r);
}

/* Every user who can write to the directory could put a log there. */
static int check_dir(const char *dir, char path[PATH_MAX], struct qless_store_error *error)
{
	if (dir == NULL)
		return failure_set(error, QLESS_STORE_EARGUMENT, "the directory is NULL");
	if (realpath(dir, path) == NULL)
		return failure_set(error, QLESS_STORE_EOPEN, "cannot use the directory %s: %s", dir,
				   strerror(errno));
	if (files_is_open_to_all(path))
		return failure_set(error, QLESS_STORE_EOPEN,
				   "every user can write to the directory %s, and so change the "
				   "jobs: take that permission away (chmod o-w)",
				   path);
	return 0;
}

static struct resident *resident_new(const char *path, const struct qless_store_options *options)
{
	struct resident *r = mem_zalloc(sizeof *r);

	config_init(&r->config);
	r->dir = mem_dup(path, strlen(path));
	r->log = options->log;
	r->log_arg = options->log_arg;
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->changed, NULL);
	buf_init(&r->reason, REASON_MAX);
	return r;
}

static void wait_for_start(struct resident *r)
{
	pthread_mutex_lock(&r->mutex);
	while (r->state == RESIDENT_STARTING)
		pthread_cond_wait(&r->changed, &r->mutex);
	pthread_mutex_unlock(&r->mutex);
}

/* The thread has ended, so its fields need no mutex. */
static int fail_start(struct resident *r, struct qless_store_error *error)
{
	bool in_use = str_starts_with(buf_str(&r->reason), STR(DIRECTORY_IN_USE));
	int rc;

	if (in_use)
		rc = failure_set(error, QLESS_STORE_EINUSE,
				 "the directory %s is in use: another process, or another store of "
				 "this process, has it open",
				 r->dir);
	else
		rc = failure_set(error, QLESS_STORE_EOPEN, "%s", buf_cstr(&r->reason));
	pthread_join(r->thread, NULL);
	server_free(r->server);
	free_memory(r);
	return rc;
}

int resident_start(const char *dir, const struct qless_store_options *options,
		   struct resident **ret_resident, struct qless_store_error *error)
{
	char path[PATH_MAX];
	struct resident *r;
	int rc = check_dir(dir, path, error);

	if (rc < 0)
		return rc;
	r = resident_new(path, options);
	rc = directives_read(&r->config, r->dir, options, error);
	if (rc == 0) {
		int why = start_thread(r);

		if (why != 0)
			rc = failure_set(error, QLESS_STORE_EOPEN, "cannot start a thread: %s",
					 strerror(why));
	}
	if (rc < 0) {
		free_memory(r);
		return rc;
	}
	wait_for_start(r);
	if (r->state == RESIDENT_ENDED)
		return fail_start(r, error);
	*ret_resident = r;
	return 0;
}

int resident_stop(struct resident *r, struct qless_store_error *error)
{
	int rc;

	server_ask_to_stop(r->server);
	pthread_join(r->thread, NULL);
	if (server_lost_records(r->server))
		rc = failure_set(error, QLESS_STORE_EOPEN, "%s", r->warning);
	else
		rc = failure_none(error, 0);
	server_free(r->server);
	free_memory(r);
	return rc;
}

void resident_abandon(struct resident *r)
{
	server_abandon(r->server);
}

int resident_connect(struct resident *r)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	if (server_take_socket(r->server, ends[1]) == 0)
		return ends[0];
	close(ends[0]);
	close(ends[1]);
	return -1;
}

void resident_read_warning(struct resident *r, char *text, size_t size)
{
	pthread_mutex_lock(&r->mutex);
	snprintf(text, size, "%s", r->warning);
	pthread_mutex_unlock(&r->mutex);
}
