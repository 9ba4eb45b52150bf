/*
 * Recording: changes go to the log, and the end of the turn writes them.
 *
 * The changes of a turn are a batch: they share records of a few kilobytes, which saves space and
 * time. A batch begins with the first change of a turn, no matter which client made it, and ends
 * with the turn.
 */
#include "server/recording.h"

#include <assert.h>

#include "command/databases.h"
#include "server/http_history.h"
#include "server/member.h"
#include "server/member_reads.h"
#include "server/persist_int.h"
#include "server/push.h"
#include "server/users_log.h"
#include "sys/log.h"

static bool is_recording(const struct server *s)
{
	return s->persist != NULL && s->persist->is_loaded;
}

/* A node of a group that applies the changes of its leader records none. */
static bool takes_changes(const struct server *s)
{
	return is_recording(s) && (s->member == NULL || member_takes_changes(s));
}

/* Returns the log, in a batch. */
static struct commit_log *log_of(struct server *s)
{
	struct commit_log *log = s->persist->log;

	if (!log->group.in_batch)
		commit_log_begin_batch(log);
	return log;
}

static void record_change(void *arg, const struct operation *op)
{
	struct commit_log *log = log_of(arg);

	operation_encode(op, commit_log_begin_operation(log));
	commit_log_end_operation(log);
}

static void note_change(void *arg, const struct operation *op)
{
	struct server *s = arg;

	/* A flush of the leader, or of a state that is to be loaded again. */
	if (s->member != NULL && !member_takes_changes(s))
		return;
	presence_note(s, &s->presence, op);
	ticks_note_change(&s->ticks, op);
	overtime_note_change(s, &s->overtime, op);
	if (s->persist != NULL)
		record_change(s, op);
	push_note(s, op);
	if (s->http != NULL)
		http_history_note_change(s, op);
}

void recording_append(struct server *s, const struct operation *op)
{
	if (takes_changes(s))
		record_change(s, op);
}

void recording_begin_group(struct server *s)
{
	if (takes_changes(s))
		commit_log_begin_group(log_of(s));
}

void recording_end_group(struct server *s)
{
	if (takes_changes(s))
		commit_log_end_group(s->persist->log);
}

void recording_number(struct server *s)
{
	if (takes_changes(s))
		commit_log_split_batch(s->persist->log);
}

static void record_script(void *arg, const struct script *script)
{
	struct operation op = stored_describe_script(script);

	recording_append(arg, &op);
}

static void record_scripts_clear(void *arg)
{
	recording_append(arg, &(struct operation){ .kind = OPERATION_SCRIPTS_CLEARED });
}

const struct scripts_hooks recording_scripts_hooks = {
	.added = record_script,
	.cleared = record_scripts_clear,
};

void recording_begin(struct server *s)
{
	struct operation_recorder recorder = { .record = note_change, .arg = s };

	assert(!s->loading && !is_recording(s));
	databases_set_recorder(s->env.databases, &recorder);
	if (s->persist != NULL)
		s->persist->is_loaded = true;
}

void recording_end_batch(struct server *s)
{
	if (is_recording(s) && s->persist->log->group.in_batch)
		commit_log_end_batch(s->persist->log);
}

/*
 * The end of a turn
 */

/* Close the connections that have output of this turn, because it tells of records that failed.
 * Their clients have to find out what happened, as after any lost connection. */
static void drop_turn(struct server *s)
{
	conns_kill_with_output(s, CONN_OUTPUT_LOST);
	submissions_lose_turn(s);
}

static void note_state(struct server *s)
{
	struct persist *p = s->persist;
	enum commit_log_state state = p->log->state;

	if (state == p->state)
		return;
	if (s->member != NULL) {
		/* member.c tells about it. */
	} else if (state == COMMIT_LOG_HEALTHY) {
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
		/* Another node may have committed other records already. */
		if (p->log->last > p->log->committed || s->member != NULL)
			drop_turn(s);
	}
	p->state = state;
}

/* Returns whether exactly one client waits for this turn, and no other client for anything. */
static bool is_one_alone(const struct server *s)
{
	/* A client whose request has not been read yet is on no list, but it breaks the loop. */
	return conns_one_has_output(s) && gate_is_empty(&s->gate) && TAILQ_EMPTY(&s->conns.ready) &&
	       !event_base_got_break(s->base);
}

/* Note how long the helper thread and the process that writes a snapshot took. */
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

bool recording_wants_end_of_turn(const struct server *s)
{
	return is_recording(s) && commit_log_wants_flush(s->persist->log);
}

void recording_end_turn(struct server *s)
{
	struct persist *p = s->persist;
	int64_t begin_us = stats_begin_latency(s);

	gate_open(&s->gate);
	if (!is_recording(s))
		return;
	recording_end_batch(s);
	commit_log_flush(p->log, &(struct commit_log_turn){ .mono_us = s->clocks.mono_us,
							    .wall_us = s->clocks.turn_us,
							    .is_urgent = is_one_alone(s) });
	stats_end_latency(s, "aof-write", begin_us);
	if (begin_us != 0)
		note_latencies(s);
	note_state(s);
	if (s->member != NULL)
		member_end_turn(s);
	sync_watch_end_turn(s);
	rewrite_watch_end_turn(s);
	if (p->state != COMMIT_LOG_HEALTHY)
		return;
	if (s->member != NULL)
		member_reads_end_turn(s);
	else
		gate_advance(&s->gate, p->log->committed, p->log->last);
}
