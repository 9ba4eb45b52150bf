/*
 * Rewriting: a new snapshot replaces the old one and the log that followed it.
 *
 * First the log continues in a new segment. Then the snapshot is written in one of two ways. In a
 * small server, a child is forked at the end of a turn and has the state in memory. A fork stops
 * all clients, for longer the more memory the server has. So with more memory the rewriter builds
 * the state again from the files that are ended: see rewriter.h. When the snapshot is on the disk,
 * a new manifest names it and the segments from the new one on. Only then are the old files
 * removed. Whenever a crash happens, the current manifest names files that are whole. The next
 * start sweeps away all others.
 *
 * The snapshot of a child may hold records that were written to the new segment before the fork.
 * Recovery skips these. They are synced before the snapshot becomes current, so the log never ends
 * before its snapshot does.
 *
 * In a group the snapshot is always made from the files. The state in memory may have changes that
 * are not committed, and a snapshot must not have those. The snapshot waits until all entries of
 * the ended segments are committed.
 *
 * A log that has failed becomes healthy in the same way, but does not continue in a new segment
 * first. It is unknown which part of the log is on the disk, so the log is dropped together with
 * the old snapshot, and a new segment comes with the new snapshot. A child always writes that one.
 */
#include "journal/journal_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Microseconds until the next attempt to make a failed log healthy, after one that failed. */
#define RECOVER_RETRY_US (2 * SECOND_US)

/* A snapshot is made from the files only if the log has at most REBUILD_LOG_RATIO times the bytes
 * of the state, plus REBUILD_LOG_EXTRA. Running records again takes longer than writing the state.
 */
#define REBUILD_LOG_RATIO 2
#define REBUILD_LOG_EXTRA ((uint64_t)64 * 1024 * 1024)

#define BIT(phase) (1U << (phase))

static bool is_switch(const struct disk_task *task)
{
	return task->kind == DISK_TASK_SWITCH || task->kind == DISK_TASK_RESTART;
}

static void set_phase(struct journal *j, enum rewrite_phase phase)
{
	static const unsigned allowed[] = {
		[REWRITE_NONE] = BIT(REWRITE_WANTED),
		[REWRITE_WANTED] = BIT(REWRITE_READY) | BIT(REWRITE_NONE),
		[REWRITE_READY] = BIT(REWRITE_RUNNING) | BIT(REWRITE_NONE),
		[REWRITE_RUNNING] = BIT(REWRITE_READY) | BIT(REWRITE_SWITCHING) | BIT(REWRITE_NONE),
		[REWRITE_SWITCHING] = BIT(REWRITE_NONE),
	};
	struct rewrite *r = &j->rewrite;

	assert((allowed[r->phase] & BIT(phase)) != 0);
	assert(r->process.kind == BASE_PROCESS_NONE);
	assert((phase == REWRITE_SWITCHING) == is_switch(&j->task));
	r->phase = phase;
}

bool journal_is_rewriting(const struct journal *j)
{
	return j->rewrite.phase != REWRITE_NONE;
}

int journal_rewrite_fd(const struct journal *j)
{
	return j->rewrite.process.fd;
}

bool journal_is_overgrown(const struct journal *j, unsigned percentage, uint64_t min_bytes)
{
	uint64_t bytes = j->files.ended_bytes + j->segment.size;

	if (percentage == 0 || bytes < min_bytes)
		return false;
	return (double)bytes * 100 >= (double)j->files.base_bytes * percentage;
}

/* Whether there is a way to make a snapshot from the files. */
static bool can_read_files(const struct journal *j)
{
	return j->options.rebuild != NULL &&
	       (!j->options.threads || j->options.no_processes || j->rewriter != NULL);
}

bool journal_rewrite(struct journal *j)
{
	if (j->rewrite.phase != REWRITE_NONE || (j->group != NULL && !can_read_files(j)))
		return false;
	set_phase(j, REWRITE_WANTED);
	j->rewrite.must_fork = false;
	j->schedule.rotate_after_us = 0;
	return true;
}

void rewrite_note_rotation(struct journal *j)
{
	if (j->rewrite.phase == REWRITE_WANTED)
		set_phase(j, REWRITE_READY);
}

/* ---- giving up ---- */

/* Remove the snapshot that failed with `rc`. A file that was there before is left alone. */
static void remove_base(const struct journal *j, int rc)
{
	char path[JOURNAL_PATH_MAX];

	if (rc == -EEXIST)
		return;
	journal_base_path(path, j->options.dir, j->rewrite.number);
	j->io->remove(j->io->arg, path);
}

static void end_in_failure(struct journal *j, int rc)
{
	set_phase(j, REWRITE_NONE);
	j->info.rewrite_failures++;
	j->info.last_rewrite_rc = rc;
	j->schedule.retry_after_us = j->schedule.mono_us + RECOVER_RETRY_US;
}

void rewrite_give_up(struct journal *j, int rc)
{
	struct rewrite *r = &j->rewrite;

	if (r->phase == REWRITE_NONE || r->phase == REWRITE_SWITCHING)
		return;
	base_process_kill(j);
	if (r->phase == REWRITE_RUNNING)
		remove_base(j, rc);
	end_in_failure(j, rc);
}

void journal_give_up_rewrite(struct journal *j)
{
	rewrite_give_up(j, -ECANCELED);
}

/* If a snapshot cannot be made from the files, a child makes it, unless the disk is full. */
static void fail_base(struct journal *j, int rc)
{
	struct rewrite *r = &j->rewrite;

	if (!r->from_log || j->group != NULL || journal_is_disk_full(rc) || rc == -EFBIG) {
		rewrite_give_up(j, rc);
		return;
	}
	remove_base(j, rc);
	j->info.rebuild_failures++;
	r->must_fork = true;
	set_phase(j, REWRITE_READY);
}

/* ---- READY: begin ---- */

static bool can_rebuild(const struct journal *j)
{
	uint64_t state;

	if (journal_has_failed(j) || j->rewrite.must_fork || !can_read_files(j))
		return false;
	/* The state of a group's node may have changes that are not committed. */
	if (j->group != NULL)
		return true;
	state = j->options.state_bytes(j->options.arg);
	return state >= j->options.fork_max_bytes &&
	       j->files.ended_bytes <= REBUILD_LOG_RATIO * state + REBUILD_LOG_EXTRA;
}

static void describe_rewrite(struct journal *j)
{
	struct rewrite *r = &j->rewrite;

	r->restarts = journal_has_failed(j);
	r->from_log = can_rebuild(j);
	r->covered_bytes = r->restarts ? j->backlog.pending.len : 0;
	r->number = j->files.next_number++;
	r->sequence = r->from_log ? j->segment.header.sequence - 1 : j->log.last;
	r->first_log = j->segment.header.number;
	r->ended_bytes = j->files.ended_bytes;
	r->wall_us = j->schedule.wall_us;
	r->started_us = j->schedule.mono_us;
}

static void begin_base(struct journal *j)
{
	int rc;

	assert(j->backlog.writing.len == 0);
	assert(j->backlog.pending.len == 0 || journal_has_failed(j));
	describe_rewrite(j);
	/* The snapshot has the records that were dropped. */
	if (j->rewrite.restarts)
		j->backlog.has_gap = false;
	set_phase(j, REWRITE_RUNNING);
	rc = base_process_start(j);
	if (rc < 0)
		fail_base(j, rc);
}

/* The snapshot of a group is made when the entries of the ended segments are committed. They are
 * never replaced then. */
static bool is_committed(const struct journal *j)
{
	return j->group == NULL || j->group->commit + 1 >= j->segment.header.sequence;
}

/* All records that the snapshot covers must be in the log first, unless the log has failed. So the
 * snapshot waits until no records are pending. */
static void try_to_begin(struct journal *j)
{
	if (!journal_is_idle(j) || !is_committed(j))
		return;
	write_pending(j);
	if (j->backlog.pending.len == 0 || journal_has_failed(j))
		begin_base(j);
}

/* ---- RUNNING: watch ---- */

/* The worker of the rewriter gives way to other processes. If the log has grown since by more bytes
 * than the worker had to read, the worker may never catch up. */
static bool is_overtaken(const struct journal *j)
{
	const struct rewrite *r = &j->rewrite;
	uint64_t since = j->files.ended_bytes - r->ended_bytes + j->segment.size;

	return r->from_log && since > r->ended_bytes + j->files.base_bytes + REBUILD_LOG_EXTRA;
}

/* A snapshot that was begun before the log failed does not make it healthy. Another one is needed.
 */
static bool is_useless(const struct journal *j)
{
	return journal_has_failed(j) && !j->rewrite.restarts;
}

static void add_segments(const struct journal *j, struct manifest *to)
{
	const struct manifest *m = &j->files.manifest;

	for (size_t i = 0; i < m->log_count; i++) {
		if (m->logs[i] >= j->rewrite.first_log)
			manifest_add_log(to, m->logs[i]);
	}
}

static void start_switch(struct journal *j)
{
	struct rewrite *r = &j->rewrite;
	struct disk_replace replace = {
		.manifest = { .has_group = j->group != NULL,
			      .base = r->number,
			      .base_sequence = r->sequence },
		.obsolete = &j->files.manifest,
		.keep_bases = j->options.keep_bases,
	};
	struct disk_create create;

	assert(r->process.is_over && r->process.result == 0 && r->sequence <= j->log.last);
	write_begin_syncing(j, j->positions.written);
	if (j->group != NULL)
		group_prepare_switch(j, replace.manifest.group);
	if (r->restarts) {
		create = rotate_describe(j, r->sequence + 1);
		disk_task_init_restart(&j->task, &create, &replace);
	} else {
		add_segments(j, &replace.manifest);
		disk_task_init_switch(&j->task, j->segment.fd, &replace);
		manifest_done(&replace.manifest);
	}
	set_phase(j, REWRITE_SWITCHING);
	task_start(j);
}

static void watch_base(struct journal *j)
{
	struct base_process *p = &j->rewrite.process;

	base_process_watch(j);
	if (!p->is_over && !p->is_cancelled && (is_overtaken(j) || is_useless(j)))
		base_process_cancel(j);
	if (!p->is_over)
		return;
	if (is_useless(j)) {
		p->result = -ECANCELED;
		base_process_note_error(j, "the log has failed");
	}
	if (p->result < 0)
		fail_base(j, p->result);
	else if (journal_is_idle(j))
		start_switch(j);
}

/* ---- SWITCHING: end ---- */

static void fail_switch(struct journal *j, const struct disk_task *task)
{
	if (task->result.reached == DISK_STEP_SYNC || task->result.is_unclear)
		health_fail(j, COMMIT_LOG_FAILED, task->result.rc, "making a new snapshot current");
	/* The manifest that names the snapshot may be current. */
	if (!task->result.is_unclear)
		remove_base(j, task->result.rc);
	end_in_failure(j, task->result.rc);
}

/* The log starts again after the snapshot. */
static void restart_log(struct journal *j)
{
	uint64_t sequence = j->rewrite.sequence;

	assert(j->segment.header.sequence == sequence + 1);
	j->files.ended_bytes = 0;
	j->positions = (struct positions){ .written = sequence, .synced = sequence };
	j->mark.durable = sequence;
	unsynced_init(&j->unsynced, sequence);
	unsynced_note(&j->unsynced, j->log.last, j->schedule.mono_us);
	buf_consume(&j->backlog.pending, j->rewrite.covered_bytes);
	/* If records were dropped in the meantime, one more snapshot is needed. */
	if (!j->backlog.has_gap)
		health_recover(j);
}

void rewrite_finish_switch(struct journal *j, struct disk_task *task)
{
	struct rewrite *r = &j->rewrite;

	assert(r->phase == REWRITE_SWITCHING);
	if (disk_task_has_failed(task)) {
		fail_switch(j, task);
		return;
	}
	task_put_in_force(j);
	j->files.base_bytes = r->process.bytes;
	j->files.base_wall_us = r->wall_us;
	j->files.ended_bytes -= r->ended_bytes;
	if (j->group != NULL)
		group_finish_switch(j);
	if (r->restarts)
		restart_log(j);
	else
		write_end_syncing(j);
	set_phase(j, REWRITE_NONE);
	j->info.rewrites++;
	j->info.rebuilds += r->from_log;
	j->info.last_is_rebuilt = r->from_log;
	j->info.last_rewrite_rc = 0;
	j->info.last_rewrite_us = j->schedule.mono_us - r->started_us;
}

/* ---- each turn ---- */

void rewrite_step(struct journal *j)
{
	const struct rewrite *r = &j->rewrite;

	/* Only a start of the node helps. */
	if (j->group != NULL && journal_has_failed(j)) {
		rewrite_give_up(j, -EIO);
		return;
	}
	if (r->phase == REWRITE_NONE && journal_has_failed(j) &&
	    j->schedule.mono_us >= j->schedule.retry_after_us)
		journal_rewrite(j);
	/* A log that has failed does not continue in a new segment first. */
	if (r->phase == REWRITE_WANTED && journal_has_failed(j) && journal_is_idle(j))
		set_phase(j, REWRITE_READY);
	if (r->phase == REWRITE_READY)
		try_to_begin(j);
	if (r->phase == REWRITE_RUNNING)
		watch_base(j);
}
