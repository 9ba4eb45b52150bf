#include "server/persist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "command/databases.h"
#include "journal/journal.h"
#include "server/commands.h"
#include "server/server_int.h"
#include "server/queues.h"
#include "server/server_int.h"
#include "server/stored.h"
#include "server/users_log.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/mem.h"
#include "util/num.h"

#define REFUSAL_MAX    512
#define LOAD_REPORT_US INT64_C(5000000)
#define LOAD_TURN_US   INT64_C(20000)
#define SECOND_US      INT64_C(1000000)
/* The service manager is told each second that it takes longer; if it hears nothing for so long,
 * the process hangs. */
#define PATIENCE_US   (30 * SECOND_US)
#define SAVE_CHECK_MS 100
/* A mark is written once a second, so commands of the server's own time are hardly later than one
 * by more than this. */
#define MARK_DISTANCE_US (2 * SECOND_US)
/* How long none is begun by itself after a rewrite that failed: it would mostly fail again, and
 * fill a disk that is full already. */
#define AUTO_DELAY_US	  (60 * SECOND_US)
#define AUTO_DELAY_MAX_US (3600 * SECOND_US)
/* Lengths and numbers that are recorded beside the arguments take less than they do. */
#define ADMIT_MAX (RECORD_PAYLOAD_MAX / 2)

struct persist {
	struct journal *journal;
	struct commit_log *log; /* the journal's */
	struct rebuild_options rebuild;
	struct event *wake; /* the helper thread has news */
	int wake_fd;
	struct event *rewrite; /* the process that writes a base has news */
	int rewrite_fd;
	enum commit_log_state state; /* as it was said last */
	uint64_t rewrites;
	uint64_t rewrite_failures;
	uint64_t rebuild_failures;
	uint64_t noted_syncs;
	uint64_t noted_forks;
	int64_t auto_delay_us; /* after failures, longer each time; 0: the last one was good */
	int64_t auto_after_us;
	bool is_loaded;
	bool was_rewriting;
	int64_t patience_us; /* when we asked the service manager for it */
	char refusal[REFUSAL_MAX];

	/* While loading. */
	struct recovery_progress progress;
	int64_t load_us; /* when it began */
	int64_t turn_us;
	int64_t report_us; /* when to say next how far it is */
	int64_t mark_us;
	int64_t newest_us; /* of commands that may have got their time from a server */
};

/*
 * Recording
 */

static void record_change(void *arg, unsigned db, double now, struct qless_str name,
			  const struct qless_str *args, size_t count)
{
	struct server *s = arg;
	struct record_command command = {
		.db = db, .now = now, .name = name, .args = args, .count = count
	};

	commit_log_append(s->persist->log, &command);
}

void persist_record(struct server *s, const struct record_command *command)
{
	if (s->persist != NULL && s->persist->is_loaded)
		commit_log_append(s->persist->log, command);
}

void persist_begin_group(struct server *s)
{
	if (s->persist != NULL && s->persist->is_loaded)
		commit_log_begin_group(s->persist->log);
}

void persist_end_group(struct server *s)
{
	if (s->persist != NULL && s->persist->is_loaded)
		commit_log_end_group(s->persist->log);
}

void persist_begin_batch(struct server *s)
{
	if (s->persist != NULL && s->persist->is_loaded)
		commit_log_begin_batch(s->persist->log);
}

void persist_end_batch(struct server *s)
{
	if (s->persist != NULL && s->persist->is_loaded)
		commit_log_end_batch(s->persist->log);
}

void persist_split_batch(struct server *s)
{
	if (s->persist != NULL && s->persist->is_loaded)
		commit_log_split_batch(s->persist->log);
}

static void record_script(void *arg, const struct script *script)
{
	struct qless_str args[STORED_SCRIPT_ARGS];
	struct record_command command = stored_describe_script(script, args);

	persist_record(arg, &command);
}

static void record_scripts_clear(void *arg)
{
	struct record_command command = stored_describe_scripts_clear();

	persist_record(arg, &command);
}

const struct scripts_hooks persist_scripts_hooks = {
	.added = record_script,
	.cleared = record_scripts_clear,
};

static struct stored stored_of(const struct server *s)
{
	return (struct stored){ s->env.databases, s->env.scripts };
}

static void add_to_base(void *arg, const struct record_command *command)
{
	base_add_command(arg, command);
}

/* In the process that writes a base. */
static void save_state(void *arg, struct base_writer *w)
{
	struct server *s = arg;
	struct stored stored = stored_of(s);

	stored_save(&stored, w);
	users_log_save(s, add_to_base, w);
}

static void add_to_extra(void *arg, const struct record_command *command)
{
	record_add_command(arg, command);
}

static void save_users(void *arg, struct buf *out)
{
	users_log_save(arg, add_to_extra, out);
}

static uint64_t state_bytes(void *arg)
{
	const struct server *s = arg;

	return memory_gauge_read(&s->memory.gauge);
}

/*
 * Loading
 */

static struct qless *engine_to_load(void *arg, unsigned db)
{
	struct stored stored = stored_of(arg);

	return stored_engine(&stored, db);
}

/* The server's clock must not give times again that it gave before. What clients say is no guide.
 */
static void note_time(struct persist *p, double now)
{
	double us = now * 1e6;

	if (us > (double)p->newest_us && us <= (double)(p->mark_us + MARK_DISTANCE_US))
		p->newest_us = (int64_t)us;
}

static int apply_record(void *arg, const struct record_command *command, struct buf *ret_error)
{
	struct server *s = arg;
	struct stored stored = stored_of(s);

	if (users_log_is_record(command->name))
		return users_log_apply(s, command, ret_error);
	note_time(s->persist, command->now);
	return stored_apply(&stored, command, ret_error);
}

static void visit_record(void *arg, const char *path, uint64_t offset, const struct record *record)
{
	struct server *s = arg;
	struct record_mark mark;

	(void)path;
	(void)offset;
	if (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark))
		s->persist->mark_us = mark.wall_us;
}

/* If it goes on as it has gone so far. */
static double seconds_to_go(const struct persist *p, int64_t now_us)
{
	const struct recovery_progress *progress = &p->progress;
	uint64_t left = progress->bytes_total - progress->bytes_done;

	if (progress->bytes_done == 0 || progress->bytes_done > progress->bytes_total)
		return 0;
	return (double)(now_us - p->load_us) / 1e6 * (double)left / (double)progress->bytes_done;
}

/* Without word of us the service manager would set a limit to what takes as long as it takes. Once
 * a second is enough. */
static void ask_for_patience(struct server *s)
{
	int64_t now_us = clock_mono_us();

	if (now_us - s->persist->patience_us < SECOND_US)
		return;
	s->persist->patience_us = now_us;
	notify_extend_timeout(&s->notify, PATIENCE_US);
}

/* The first moments say nothing about those to come. */
static void report_loading(struct server *s)
{
	const struct persist *p = s->persist;
	const struct recovery_progress *progress = &p->progress;
	int64_t now_us = clock_mono_us();
	char text[160], left[64] = "";

	if (now_us - p->load_us >= SECOND_US)
		snprintf(left, sizeof left, ", done in about %.0f seconds",
			 seconds_to_go(p, now_us));
	snprintf(text, sizeof text, "loading: %" PRIu64 " of %" PRIu64 " MB, %" PRIu64 " records%s",
		 progress->bytes_done >> 20, progress->bytes_total >> 20, progress->records, left);
	log_notice("%s", text);
	notify_status(&s->notify, text);
}

/* Serve those who ask how far it is, now and then. */
static bool on_progress(void *arg, const struct recovery_progress *progress)
{
	struct server *s = arg;
	struct persist *p = s->persist;
	int64_t now_us = clock_mono_us();

	p->progress = *progress;
	ask_for_patience(s);
	if (now_us - p->turn_us < LOAD_TURN_US)
		return !s->stop.is_begun;
	if (now_us >= p->report_us) {
		p->report_us = now_us + LOAD_REPORT_US;
		report_loading(s);
	}
	turn_run(s, /* wait= */ false);
	p->turn_us = clock_mono_us();
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

static void describe_recovery(const struct recovery *r, int64_t took_us)
{
	if (r->cut_bytes > 0)
		log_warning("log-%08" PRIu64 " had %" PRIu64
			    " bytes behind its last intact record, "
			    "sequence %" PRIu64 ", at offset %" PRIu64
			    ": what a crash leaves. They were cut off",
			    r->tail.number, r->cut_bytes, r->last_sequence, r->tail_size);
	log_notice("loaded up to sequence %" PRIu64 ": %" PRIu64 " records, %" PRIu64
		   " MB, in %.3f seconds",
		   r->last_sequence, r->records, (r->base_bytes + r->log_bytes) >> 20,
		   (double)took_us / 1e6);
}

static int load_from(struct server *s, const struct persist_origin *origin,
		     struct recovery *ret_recovery, struct buf *error)
{
	struct recovery_limit limit = { origin->sequence, origin->wall_us };
	struct recovery_target target = make_target(s);
	int rc =
		recovery_run(ret_recovery, &journal_io_system, origin->dir, &limit, &target, error);

	if (rc == -ENOENT && error->len == 0)
		buf_printf(error, "there is no log in %s", origin->dir);
	if (rc == 0)
		rc = journal_create(s->persist->journal, ret_recovery->last_sequence, error);
	return rc;
}

static void begin_recording(struct server *s, int64_t newest_us)
{
	struct classic_recorder recorder = { .record = record_change, .arg = s };

	databases_set_recorder(s->env.databases, &recorder);
	steady_clock_pass(&s->clocks.native, newest_us);
	s->persist->is_loaded = true;
	users_log_loaded(s);
}

int persist_load(struct server *s, const struct persist_origin *origin)
{
	struct recovery_target target = make_target(s);
	struct buf error = BUF_INIT(8192);
	struct persist *p = s->persist;
	int64_t start_us = clock_mono_us();
	struct recovery recovery;
	int rc;

	if (p == NULL)
		return 0;
	p->load_us = p->turn_us = start_us;
	s->loading = true;
	ask_for_patience(s);
	databases_set_limits(s->env.databases, NULL);
	if (origin->dir != NULL)
		rc = load_from(s, origin, &recovery, &error);
	else
		rc = journal_recover(p->journal, &target, &recovery, &error);
	s->loading = false;
	server_apply_config(s);
	if (rc == 0) {
		describe_recovery(&recovery, clock_mono_us() - start_us);
		queues_begin(s);
		begin_recording(s,
				recovery.last_us > p->newest_us ? recovery.last_us : p->newest_us);
	} else {
		/* It speaks of the directory as "." */
		log_write(LOG_LEVEL_WARNING, LOG_FIELDS(LOG_TEXT("dir", s->config->dir)), "%s",
			  buf_cstr(&error));
	}
	recovery_done(&recovery);
	buf_done(&error);
	return rc == 0 ? 0 : -1;
}

bool persist_parse_limit(const char *text, struct persist_origin *origin)
{
	struct qless_str all = str_from(text);
	struct tm tm = { 0 };
	const char *end;
	double seconds;

	if (num_parse_u64(all, 1, UINT64_MAX, &origin->sequence))
		return true;
	if (text[0] == '@' && num_parse_double(str_from(text + 1), &seconds) && seconds > 0 &&
	    seconds < 1e12) {
		origin->wall_us = (int64_t)(seconds * 1e6);
		return true;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0))
		return false;
	origin->wall_us = (int64_t)timegm(&tm) * SECOND_US;
	return true;
}

/*
 * Beginning and end
 */

static enum journal_sync sync_of(const struct config *config)
{
	switch ((enum config_appendfsync)config->appendfsync) {
	case CONFIG_APPENDFSYNC_ALWAYS:
		return JOURNAL_SYNC_ALWAYS;
	case CONFIG_APPENDFSYNC_NO:
		return JOURNAL_SYNC_NO;
	case CONFIG_APPENDFSYNC_EVERYSEC:
		break;
	}
	return JOURNAL_SYNC_EVERYSEC;
}

/* From the helper thread. */
static void wake_up(void *arg)
{
	struct server *s = arg;
	uint64_t one = 1;

	if (write(s->persist->wake_fd, &one, sizeof one) < 0)
		return; /* it is full of such news */
}

/* All else is done at the end of the turn. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;

	(void)what;
	server_read_clock(arg);
	if (read(fd, &count, sizeof count) < 0)
		return;
}

static void on_rewrite_news(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
}

int persist_open(struct server *s, struct buf *ret_error)
{
	struct journal_options options = {
		.dir = ".", /* the directive dir is where we are */
		.sync = sync_of(s->config),
		.segment_bytes = s->config->log_segment_bytes,
		.rewrite_bytes_per_second = s->config->rewrite_rate_bytes,
		.keep_bases = (unsigned)s->config->log_keep_bases,
		.threads = true,
		.wake = wake_up,
		.save = save_state,
		.state_bytes = state_bytes,
		.fork_max_bytes = s->config->fork_max_bytes,
		.save_extra = save_users,
		.arg = s,
	};
	struct persist *p;

	if (!s->config->appendonly)
		return 0;
	p = s->persist = mem_zalloc(sizeof *p);
	p->rewrite_fd = -1;
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0) {
		buf_printf(ret_error, "cannot make an eventfd: %s", strerror(errno));
		return -1;
	}
	p->wake = event_new(s->base, p->wake_fd, EV_READ | EV_PERSIST, on_wake, s);
	event_add(p->wake, NULL);
	p->rebuild = stored_rebuild(s->config);
	options.rebuild = &p->rebuild;
	p->journal = journal_open(&options, ret_error);
	if (p->journal == NULL)
		return -1;
	p->log = journal_log(p->journal);
	if (journal_rebuild_error(p->journal)[0] != '\0')
		log_warning("bases cannot be made from the log: %s",
			    journal_rebuild_error(p->journal));
	return 0;
}

static void forget_rewrite_event(struct persist *p)
{
	if (p->rewrite == NULL)
		return;
	event_free(p->rewrite);
	p->rewrite = NULL;
	p->rewrite_fd = -1;
}

/* However long that takes. */
static void write_last_base(struct server *s)
{
	struct persist *p = s->persist;
	bool is_asked_for = false;

	log_notice("writing a new base before the end");
	p->patience_us = 0; /* what was granted for loading is over */
	journal_set_rewrite_rate(p->journal, 0);
	journal_set_fork_max(p->journal, UINT64_MAX); /* nobody is held up any more */
	journal_give_up_rewrite(p->journal);
	do {
		struct pollfd news[] = { { .fd = p->wake_fd, .events = POLLIN },
					 { .fd = journal_rewrite_fd(p->journal),
					   .events = POLLIN } };

		if (!is_asked_for)
			is_asked_for = commit_log_snapshot(p->log);
		ask_for_patience(s);
		poll(news, sizeof news / sizeof news[0], SAVE_CHECK_MS);
		on_wake(p->wake_fd, EV_READ, s);
		commit_log_flush(p->log, &(struct commit_log_turn){ .mono_us = clock_mono_us(),
								    .wall_us = clock_wall_us() });
	} while (!is_asked_for ||
		 (journal_is_rewriting(p->journal) && p->log->state == COMMIT_LOG_HEALTHY));
	journal_wait(p->journal);
}

void persist_close(struct server *s, bool save)
{
	struct persist *p = s->persist;
	struct buf error = BUF_INIT(4096);

	if (p == NULL)
		return;
	if (save && p->is_loaded)
		write_last_base(s);
	journal_close(p->journal, &error);
	if (error.len > 0)
		log_warning("%s", buf_cstr(&error));
	buf_done(&error);
	forget_rewrite_event(p);
	if (p->wake != NULL)
		event_free(p->wake);
	if (p->wake_fd >= 0)
		close(p->wake_fd);
	free(p);
	s->persist = NULL;
}

void persist_apply_config(struct server *s)
{
	if (s->persist == NULL || s->persist->journal == NULL)
		return;
	journal_set_sync(s->persist->journal, sync_of(s->config));
	journal_set_segment_bytes(s->persist->journal, s->config->log_segment_bytes);
	journal_set_rewrite_rate(s->persist->journal, s->config->rewrite_rate_bytes);
	journal_set_keep_bases(s->persist->journal, (unsigned)s->config->log_keep_bases);
	journal_set_fork_max(s->persist->journal, s->config->fork_max_bytes);
}

/* Output of this turn that tells of records that failed. Its clients have to find out what has
 * become of them, as after any connection that is lost. */
static void drop_turn(struct server *s)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns.writable); c != NULL; c = next) {
		next = TAILQ_NEXT(c, writable);
		conn_kill(c, CONN_OUTPUT_LOST);
	}
}

static void note_state(struct server *s)
{
	struct persist *p = s->persist;
	enum commit_log_state state = p->log->state;

	if (state == p->state)
		return;
	if (state == COMMIT_LOG_HEALTHY) {
		log_notice("the log can be written again");
		notify_status(&s->notify, SERVER_STATUS_READY);
	} else {
		log_warning("the log cannot be written: %s. Commands that change something are "
			    "refused until it can",
			    commit_log_complaint(p->log));
		notify_status(&s->notify, "The log cannot be written, changes are refused");
	}
	if (p->state == COMMIT_LOG_HEALTHY) {
		gate_fail(&s->gate);
		if (p->log->last > p->log->committed)
			drop_turn(s);
	}
	p->state = state;
}

static void describe_rewrite(const struct journal_info *info)
{
	char how[64] = "from the log";

	if (!info->last_is_rebuilt)
		snprintf(how, sizeof how, "fork took %.3f ms", (double)info->fork_us / 1e3);
	log_notice("new base written: %" PRIu64 " MB in %.3f seconds, %s", info->base_bytes >> 20,
		   (double)info->last_rewrite_us / 1e6, how);
}

static void note_rewrites(struct server *s)
{
	struct persist *p = s->persist;
	struct journal_info info;

	journal_get_info(p->journal, &info);
	if (info.rebuild_failures != p->rebuild_failures)
		log_warning("no base could be made from the log: %s. It is made by a fork",
			    journal_rebuild_error(p->journal));
	if (info.rewrites != p->rewrites) {
		describe_rewrite(&info);
		p->auto_delay_us = 0;
	}
	if (info.rewrite_failures != p->rewrite_failures) {
		p->auto_delay_us = p->auto_delay_us == 0 ? AUTO_DELAY_US : 2 * p->auto_delay_us;
		if (p->auto_delay_us > AUTO_DELAY_MAX_US)
			p->auto_delay_us = AUTO_DELAY_MAX_US;
		p->auto_after_us = s->clocks.mono_us + p->auto_delay_us;
		log_warning("no new base could be written: %s. None is begun because of the size "
			    "of the log for %" PRId64 " seconds",
			    info.last_rewrite_rc == -ECHILD ? "its process was killed"
							    : strerror(-info.last_rewrite_rc),
			    p->auto_delay_us / SECOND_US);
	}
	p->rewrites = info.rewrites;
	p->rewrite_failures = info.rewrite_failures;
	p->rebuild_failures = info.rebuild_failures;
}

static void watch_rewrite(struct server *s)
{
	struct persist *p = s->persist;
	int fd = journal_rewrite_fd(p->journal);

	if (fd == p->rewrite_fd)
		return;
	forget_rewrite_event(p);
	if (fd < 0)
		return;
	p->rewrite_fd = fd;
	p->rewrite = event_new(s->base, fd, EV_READ | EV_PERSIST, on_rewrite_news, s);
	event_add(p->rewrite, NULL);
}

/* One client waits for what it asked for in this turn, and nobody else for anything. */
static bool is_one_alone(const struct server *s)
{
	const struct conn *c = TAILQ_FIRST(&s->conns.writable);

	/* Whoever has sent something, and whose turn it was not yet, is on no list. */
	return c != NULL && TAILQ_NEXT(c, writable) == NULL && gate_is_empty(&s->gate) &&
	       TAILQ_EMPTY(&s->conns.ready) && !event_base_got_break(s->base);
}

/* What the helper thread and the process that writes a base took. */
static void note_latencies(struct server *s)
{
	struct persist *p = s->persist;
	struct journal_info info;

	journal_get_info(p->journal, &info);
	if (info.syncs != p->noted_syncs)
		stats_note_latency(s, "aof-fsync", (int64_t)info.sync_us_last);
	if (info.forks != p->noted_forks)
		stats_note_latency(s, "fork", info.fork_us);
	p->noted_syncs = info.syncs;
	p->noted_forks = info.forks;
}

bool persist_wants_end_of_turn(const struct server *s)
{
	return persist_is_loaded(s) && commit_log_wants_flush(s->persist->log);
}

void persist_end_turn(struct server *s)
{
	struct persist *p = s->persist;
	int64_t begin_us = stats_begin_latency(s);

	gate_open(&s->gate);
	if (p == NULL || !p->is_loaded)
		return;
	commit_log_flush(p->log, &(struct commit_log_turn){ .mono_us = s->clocks.mono_us,
							    .wall_us = s->clocks.wall_us,
							    .is_urgent = is_one_alone(s) });
	stats_end_latency(s, "aof-write", begin_us);
	if (begin_us != 0)
		note_latencies(s);
	note_state(s);
	if (journal_is_rewriting(p->journal) || p->rewrite_fd >= 0 || p->was_rewriting) {
		watch_rewrite(s);
		note_rewrites(s);
	}
	p->was_rewriting = journal_is_rewriting(p->journal);
	if (p->state == COMMIT_LOG_HEALTHY)
		gate_advance(&s->gate, p->log->committed, p->log->last);
}

/*
 * What others ask for
 */

void persist_cron(struct server *s)
{
	const struct config *config = s->config;
	struct persist *p = s->persist;

	if (p == NULL || !p->is_loaded || journal_is_rewriting(p->journal) ||
	    p->state != COMMIT_LOG_HEALTHY ||
	    (p->auto_delay_us != 0 && s->clocks.mono_us < p->auto_after_us) ||
	    !journal_is_overgrown(p->journal, (unsigned)config->auto_rewrite_percentage,
				  config->auto_rewrite_min_bytes))
		return;
	log_notice("the log has grown by %d percent, writing a new base",
		   config->auto_rewrite_percentage);
	commit_log_snapshot(p->log);
}

const char *persist_refusal(void *arg, size_t bytes)
{
	struct server *s = arg;
	struct persist *p = s->persist;

	if (p == NULL || !p->is_loaded)
		return NULL;
	if (bytes > ADMIT_MAX)
		return "ERR the command is larger than a record of the log may be, 1 GB";
	if (commit_log_admit(p->log, bytes))
		return NULL;
	snprintf(
		p->refusal, sizeof p->refusal,
		"MISCONF Errors writing to the log: %s. Commands that change something are refused "
		"until it can be written again.",
		commit_log_complaint(p->log));
	return p->refusal;
}

void cmd_bgrewriteaof(struct call *call)
{
	struct persist *p = server_of(call)->persist;

	if (p == NULL)
		reply_error(call->reply, "ERR", STR("there is no log: appendonly is no"));
	else if (!commit_log_snapshot(p->log))
		reply_error(call->reply, "ERR",
			    STR("Background append only file rewriting already in progress"));
	else
		reply_status(call->reply, STR("Background append only file rewriting started"));
}

int64_t persist_last_save_s(const struct server *s)
{
	struct journal_info info = { 0 };

	if (s->persist != NULL && s->persist->is_loaded)
		journal_get_info(s->persist->journal, &info);
	return (info.last_base_wall_us != 0 ? info.last_base_wall_us : s->clocks.started_wall_us) /
	       SECOND_US;
}

bool persist_is_loaded(const struct server *s)
{
	return s->persist != NULL && s->persist->is_loaded;
}

void persist_get_info(const struct server *s, struct persist_info *ret)
{
	const struct persist *p = s->persist;

	*ret = (struct persist_info){ .state = COMMIT_LOG_HEALTHY };
	if (p == NULL)
		return;
	ret->progress = p->progress;
	ret->load_start_s = (s->clocks.wall_us - (s->clocks.mono_us - p->load_us)) / SECOND_US;
	ret->load_left_s = seconds_to_go(p, s->clocks.mono_us);
	if (!p->is_loaded)
		return;
	journal_get_info(p->journal, &ret->log);
	ret->state = p->log->state;
}

const char *persist_complaint(const struct server *s)
{
	if (!persist_is_loaded(s) || s->persist->log->state == COMMIT_LOG_HEALTHY)
		return NULL;
	return commit_log_complaint(s->persist->log);
}

void persist_append_words(const struct server *s, struct buf *out)
{
	static const char *const states[] = {
		[COMMIT_LOG_HEALTHY] = "ok",
		[COMMIT_LOG_FULL] = "full",
		[COMMIT_LOG_FAILED] = "failed",
	};
	struct persist_info info;

	if (!persist_is_loaded(s))
		return;
	persist_get_info(s, &info);
	buf_printf(out, "aof_last_bgrewrite_status:%s\r\n",
		   info.log.last_rewrite_rc == 0 ? "ok" : "err");
	buf_printf(out, "aof_last_write_status:%s\r\n",
		   info.state == COMMIT_LOG_HEALTHY ? "ok" : "err");
	buf_printf(out, "log_state:%s\r\n", states[info.state]);
	buf_printf(out, "log_error:%s\r\n", commit_log_complaint(s->persist->log));
}
