#include "server/persist.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/member.h"
#include "server/persist_int.h"
#include "server/users_log.h"
#include "sys/log.h"
#include "util/mem.h"

/* Microseconds. The server asks for more time every second. If the service manager hears nothing
 * for this long, it takes the process for hung. */
#define PATIENCE_US (30 * PERSIST_SECOND_US)
/* Bytes of arguments. Lengths and numbers in a record take less than the arguments. */
#define ADMIT_MAX (RECORD_PAYLOAD_MAX / 2)

/*
 * Contents of a new snapshot
 */

static void save_users(void *arg, struct buf *out)
{
	users_log_save(arg, out);
}

/* Runs in the process that writes a snapshot. */
static void save_state(void *arg, struct base_writer *w)
{
	struct server *s = arg;
	struct stored stored = persist_stored(s);
	struct buf users = BUF_INIT(BUF_NO_MAX);

	stored_save(&stored, w);
	save_users(s, &users);
	if (users.len > 0)
		base_add_operations(w, buf_str(&users));
	buf_done(&users);
}

static uint64_t state_bytes(void *arg)
{
	const struct server *s = arg;

	return memory_gauge_read(&s->memory.gauge);
}

/*
 * Opening and closing
 */

void persist_ask_for_patience(struct server *s)
{
	int64_t now_us = clock_mono_us();

	if (now_us - s->persist->patience_us < PERSIST_SECOND_US)
		return;
	s->persist->patience_us = now_us;
	notify_extend_timeout(&s->notify, PATIENCE_US);
}

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

/* Called by the helper thread. */
static void wake_up(void *arg)
{
	struct server *s = arg;
	uint64_t one = 1;

	if (write(s->persist->wake_fd, &one, sizeof one) < 0)
		return; /* the counter is full: the loop has news already */
}

void persist_take_news(struct server *s)
{
	uint64_t count;

	/* The number of wake-ups does not matter. */
	if (read(s->persist->wake_fd, &count, sizeof count) < 0)
		return;
}

/* The end of the turn deals with the news. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
	persist_take_news(arg);
}

int persist_open(struct server *s, struct buf *ret_error)
{
	struct journal_options options = {
		/* Otherwise the working directory is that of the directive dir. */
		.dir = s->is_inside ? s->config->dir : ".",
		.sync = sync_of(s->config),
		.segment_bytes = s->config->log_segment_bytes,
		.rewrite_bytes_per_second = s->config->rewrite_rate_bytes,
		.keep_bases = (unsigned)s->config->log_keep_bases,
		.threads = true,
		.no_processes = s->is_inside,
		.wake = wake_up,
		.save = save_state,
		.state_bytes = state_bytes,
		.fork_max_bytes = s->is_inside ? 0 : s->config->fork_max_bytes,
		.save_extra = save_users,
		.arg = s,
	};
	struct persist *p;

	if (!s->config->appendonly)
		return 0;
	p = s->persist = mem_zalloc(sizeof *p);
	rewrite_watch_init(&p->rewrites);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0) {
		buf_printf(ret_error, "cannot make an eventfd: %s", strerror(errno));
		return -1;
	}
	p->wake = event_new(s->base, p->wake_fd, EV_READ | EV_PERSIST, on_wake, s);
	event_add(p->wake, NULL);
	p->rebuild = s->is_inside ? stored_rebuild_in_thread(&s->config->databases)
				  : stored_rebuild(&s->config->databases);
	options.rebuild = &p->rebuild;
	p->journal = journal_open(&options, ret_error);
	if (p->journal == NULL)
		return -1;
	p->log = journal_log(p->journal);
	if (journal_rebuild_error(p->journal)[0] != '\0')
		log_warning("snapshots cannot be made from the log, so they are made by a fork: %s",
			    journal_rebuild_error(p->journal));
	return 0;
}

void persist_close(struct server *s, bool save)
{
	struct persist *p = s->persist;
	struct buf error = BUF_INIT(4096);

	if (p == NULL)
		return;
	recording_end_batch(s);
	if (save && p->is_loaded && s->member == NULL)
		rewrite_watch_save(s);
	member_done(s);
	journal_close(p->journal, &error);
	if (error.len > 0)
		log_warning("%s", buf_cstr(&error));
	s->has_lost_records = error.len > 0;
	buf_done(&error);
	rewrite_watch_done(&p->rewrites);
	if (p->wake != NULL)
		event_free(p->wake);
	if (p->wake_fd >= 0)
		close(p->wake_fd);
	free(p);
	s->persist = NULL;
}

void persist_abandon(struct server *s)
{
	if (s->persist != NULL && s->persist->journal != NULL)
		journal_abandon(s->persist->journal);
}

void persist_apply_config(struct server *s)
{
	if (s->persist == NULL || s->persist->journal == NULL)
		return;
	journal_set_sync(s->persist->journal, sync_of(s->config));
	journal_set_segment_bytes(s->persist->journal, s->config->log_segment_bytes);
	journal_set_rewrite_rate(s->persist->journal, s->config->rewrite_rate_bytes);
	journal_set_keep_bases(s->persist->journal, (unsigned)s->config->log_keep_bases);
	if (!s->is_inside)
		journal_set_fork_max(s->persist->journal, s->config->fork_max_bytes);
}

/*
 * Questions about the log
 */

const char *persist_refusal(void *arg, size_t bytes)
{
	struct server *s = arg;
	struct persist *p = s->persist;

	if (p == NULL || !p->is_loaded)
		return NULL;
	if (bytes > ADMIT_MAX)
		return "ERR the command is too large for a record of the log, which holds 1 GB";
	if (s->member != NULL && member_refusal(s) != NULL)
		return member_refusal(s);
	if (commit_log_admit(p->log, bytes))
		return NULL;
	snprintf(
		p->refusal, sizeof p->refusal,
		"MISCONF Errors writing to the log: %s. Commands that change something are refused "
		"until it can be written again.",
		commit_log_complaint(p->log));
	return p->refusal;
}

int64_t persist_last_save_s(const struct server *s)
{
	struct journal_info info = { 0 };

	if (s->persist != NULL && s->persist->is_loaded)
		journal_get_info(s->persist->journal, &info);
	return (info.last_base_wall_us != 0 ? info.last_base_wall_us : s->clocks.started_wall_us) /
	       PERSIST_SECOND_US;
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
	ret->progress = p->loading.progress;
	ret->load_start_s =
		(s->clocks.wall_us - (s->clocks.mono_us - p->loading.begin_us)) / PERSIST_SECOND_US;
	ret->load_left_s = loading_seconds_left(&p->loading, s->clocks.mono_us);
	if (!p->is_loaded)
		return;
	journal_get_info(p->journal, &ret->log);
	ret->state = p->log->state;
	ret->unsynced_age_us = sync_watch_age_us(s);
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
