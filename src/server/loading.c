/*
 * Loading the state from the log, before anything is recorded.
 *
 * Clients are served now and then during loading, so that they can ask how far it is: between two
 * records on_progress() runs a turn of the loop. That is safe for these reasons:
 *
 * - No turn runs already: server_run() loads before its first turn, and turn_run() asserts that
 *   turns do not nest.
 * - While `loading` is set, only commands with CMD_LOADING run. None of them reads or changes a
 *   database, which may be loaded in part.
 * - Nothing is recorded before recording_begin(), so no output waits and no batch is open.
 * - If a turn begins to stop the server, on_progress() ends the loading.
 */
#include "server/loading.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command/databases.h"
#include "server/persist_int.h"
#include "server/push.h"
#include "server/users_log.h"
#include "sys/log.h"

/* Microseconds between two log lines about the progress. */
#define REPORT_US INT64_C(5000000)
/* Microseconds between two turns for clients. */
#define TURN_US INT64_C(20000)
/* Microseconds. The log has a mark about once a second, so native commands are hardly later than
 * the mark before them by more than this. */
#define MARK_DISTANCE_US (2 * PERSIST_SECOND_US)

static struct qless *engine_to_load(void *arg, unsigned db)
{
	struct stored stored = persist_stored(arg);

	return stored_engine(&stored, db);
}

/* Find the newest time that came from a server's clock, which must not give that time again.
 * Times of clients may be anything, so times far after the last mark do not count. A step of
 * the clock makes the times before it worthless. */
static void note_time(struct loading *l, const struct operation *op)
{
	double us = op->now * 1e6;

	if (op->kind == OPERATION_STEP_CLOCK)
		l->newest_us = l->mark_us = clock_from_seconds(op->now);
	else if (us > (double)l->newest_us && us <= (double)(l->mark_us + MARK_DISTANCE_US))
		l->newest_us = (int64_t)us;
}

static int apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct server *s = arg;
	struct stored stored = persist_stored(s);

	if (operation_is_for_user(op))
		return users_log_apply(s, op, ret_error);
	note_time(&s->persist->loading, op);
	return stored_apply(&stored, op, ret_error);
}

static int apply_record(void *arg, const struct record *record, uint64_t *ret_count,
			struct buf *ret_error)
{
	struct server *s = arg;

	return stored_replay(&s->persist->loading.replay, record, ret_count, ret_error);
}

static void visit_record(void *arg, const char *path, uint64_t offset, const struct record *record)
{
	struct server *s = arg;
	struct record_mark mark;

	(void)path;
	(void)offset;
	if (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark))
		s->persist->loading.mark_us = mark.wall_us;
}

double loading_seconds_left(const struct loading *l, int64_t mono_us)
{
	const struct recovery_progress *progress = &l->progress;
	uint64_t left = progress->bytes_total - progress->bytes_done;

	if (progress->bytes_done == 0 || progress->bytes_done > progress->bytes_total)
		return 0;
	return (double)(mono_us - l->begin_us) / 1e6 * (double)left / (double)progress->bytes_done;
}

/* An estimate from the first second would be wrong. */
static void report_loading(struct server *s)
{
	const struct loading *l = &s->persist->loading;
	const struct recovery_progress *progress = &l->progress;
	int64_t now_us = clock_mono_us();
	char text[160], left[64] = "";

	if (now_us - l->begin_us >= PERSIST_SECOND_US)
		snprintf(left, sizeof left, ", done in about %.0f seconds",
			 loading_seconds_left(l, now_us));
	snprintf(text, sizeof text, "loading: %" PRIu64 " of %" PRIu64 " MB, %" PRIu64 " records%s",
		 progress->bytes_done >> 20, progress->bytes_total >> 20, progress->records, left);
	log_notice("%s", text);
	notify_status(&s->notify, text);
}

/* Serve clients now and then. Returns false to end the loading. */
static bool on_progress(void *arg, const struct recovery_progress *progress)
{
	struct server *s = arg;
	struct loading *l = &s->persist->loading;
	int64_t now_us = clock_mono_us();

	l->progress = *progress;
	persist_ask_for_patience(s);
	if (now_us - l->turn_us < TURN_US)
		return !s->stop.is_begun;
	if (now_us >= l->report_us) {
		l->report_us = now_us + REPORT_US;
		report_loading(s);
	}
	turn_run(s, /* wait= */ false);
	l->turn_us = clock_mono_us();
	return !s->stop.is_begun;
}

static struct recovery_target make_target(struct server *s)
{
	return (struct recovery_target){
		.arg = s,
		.engine = engine_to_load,
		.apply = apply_record,
		.visit = visit_record,
		.progress = on_progress,
	};
}

static void warn_of_orphans(const struct recovery *r)
{
	struct qless_str rest = buf_str(&r->orphans);

	while (rest.len > 0) {
		size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);

		log_warning(
			"a file that is not in the manifest holds records that the log lacks, or "
			"cannot be read. It was renamed to %.*s. Remove it if no job is missing",
			(int)len, rest.ptr);
		rest = str_make(rest.ptr + len + 1, rest.len - len - 1);
	}
}

static void describe_recovery(const struct recovery *r, int64_t took_us)
{
	if (r->cut_bytes > 0)
		log_warning("log-%08" PRIu64 " had %" PRIu64 " bytes after its last intact record, "
			    "sequence %" PRIu64 ", at offset %" PRIu64
			    ", as a crash leaves them. They were cut off",
			    r->tail.number, r->cut_bytes, r->last_sequence, r->tail_size);
	warn_of_orphans(r);
	log_notice("loaded up to sequence %" PRIu64 ": %" PRIu64 " records, %" PRIu64
		   " MB, in %.3f seconds",
		   r->last_sequence, r->records, (r->base_bytes + r->log_bytes) >> 20,
		   (double)took_us / 1e6);
}

static int load_from(struct server *s, const struct loading_origin *origin,
		     struct recovery *ret_recovery, struct buf *error)
{
	struct recovery_target target = make_target(s);
	int rc = recovery_run(ret_recovery, &journal_io_system, origin->dir, &origin->limit,
			      &target, error);

	if (rc == -ENOENT && error->len == 0)
		buf_printf(error, "there is no log in %s", origin->dir);
	if (rc == 0)
		rc = journal_create(s->persist->journal, ret_recovery->last_sequence, error);
	return rc;
}

/* Returns the newest time in the log. Without records after the snapshot, its own time counts. */
static int64_t newest_time(const struct loading *l, const struct recovery *recovery)
{
	int64_t logged_us = l->mark_us > l->newest_us ? l->mark_us : l->newest_us;

	return logged_us != 0 ? logged_us : recovery->last_us;
}

static void finish_loading(struct server *s, const struct recovery *recovery)
{
	struct loading *l = &s->persist->loading;
	int64_t newest_us = newest_time(l, recovery);

	queues_begin(s);
	recording_begin(s);
	if (s->member != NULL)
		return; /* it follows at first */
	clock_watch_begin(s, newest_us);
	users_log_loaded(s);
	ticks_look(s);
	overtime_look(s);
	push_begin(s);
}

int loading_run(struct server *s, const struct loading_origin *origin)
{
	struct recovery_target target = make_target(s);
	struct buf error = BUF_INIT(8192);
	struct persist *p = s->persist;
	struct recovery recovery;
	int rc;

	if (p == NULL && (origin->birth.begins || origin->birth.joins)) {
		log_fatal("a group of servers needs a log: set appendonly to yes");
		return -1;
	}
	if (p == NULL) {
		recording_begin(s);
		return 0;
	}
	assert(!p->is_loaded && !s->loading);
	p->loading.begin_us = p->loading.turn_us = clock_mono_us();
	replay_init(&p->loading.replay, s->env.databases, apply, s);
	s->loading = true;
	persist_ask_for_patience(s);
	databases_set_limits(s->env.databases, NULL);
	if (origin->dir != NULL)
		rc = load_from(s, origin, &recovery, &error);
	else
		rc = journal_recover(p->journal, &target, &recovery, &error);
	s->loading = false;
	server_apply_config(s);
	if (rc == 0) {
		describe_recovery(&recovery, clock_mono_us() - p->loading.begin_us);
		rc = member_begin(s, &origin->birth, newest_time(&p->loading, &recovery), &error);
	}
	if (rc == 0) {
		finish_loading(s, &recovery);
	} else {
		/* The error names the directory as ".". */
		log_write(LOG_LEVEL_FATAL, LOG_FIELDS(LOG_TEXT("dir", s->config->dir)), "%s",
			  buf_cstr(&error));
	}
	replay_done(&p->loading.replay);
	recovery_done(&recovery);
	buf_done(&error);
	return rc == 0 ? 0 : -1;
}

/* Throws the state away. What it consists of is freed in the next turns. */
static void begin_anew(struct server *s)
{
	struct databases *databases = s->env.databases;

	for (unsigned db = 0; db < databases_count(databases); db++)
		databases_apply(databases, &(struct operation){ .kind = OPERATION_FLUSH, .db = db },
				&(struct buf)BUF_INIT(0));
	scripts_clear(s->env.scripts);
	users_log_forget(s);
}

void loading_repeat(struct server *s)
{
	struct recovery_target target = make_target(s);
	uint64_t index = member_loadable(s);
	struct buf error = BUF_INIT(8192);
	struct persist *p = s->persist;
	int rc;

	log_notice("the state is not that of the log of the group, and is loaded again");
	p->loading.begin_us = p->loading.turn_us = clock_mono_us();
	replay_init(&p->loading.replay, s->env.databases, apply, s);
	s->loading = true;
	begin_anew(s);
	databases_set_limits(s->env.databases, NULL);
	rc = journal_load_state(p->journal, index, &target, &error);
	s->loading = false;
	server_apply_config(s);
	if (rc == 0) {
		log_notice("loaded up to sequence %" PRIu64 " in %.3f seconds", index,
			   (double)(clock_mono_us() - p->loading.begin_us) / 1e6);
		member_loaded(s, index);
	} else if (!s->stop.is_begun) {
		log_fatal("the state cannot be loaded again: %s", buf_cstr(&error));
		s->turn.loop_failed = true;
	}
	replay_done(&p->loading.replay);
	buf_done(&error);
}
