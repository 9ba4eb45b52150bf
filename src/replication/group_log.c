/*
 * The commit log of a group, and the end of a turn.
 */
#include "replication/group_int.h"

#include <assert.h>
#include <stdlib.h>

#include "util/mem.h"
#include "util/minmax.h"

static bool admit(struct commit_log *log, size_t bytes)
{
	struct group *g = group_of(log);

	return g->is_ready && commit_log_admit(g->disk, g->turn.bytes.len + bytes);
}

static void append(struct commit_log *log, struct qless_str operations)
{
	struct group *g = group_of(log);
	struct group_turn *turn = &g->turn;
	size_t begin = turn->count > 1 ? turn->ends[turn->count - 2] : 0;

	if (!g->is_ready) {
		group_engine_spoil(g);
		log->last++;
		return;
	}
	if (turn->count == 0 || turn->bytes.len - begin >= GROUP_ENTRY_BYTES) {
		turn->ends = mem_grow(turn->ends, &turn->cap, turn->count + 1, sizeof *turn->ends);
		turn->count++;
		log->last++;
	}
	buf_append_str(&turn->bytes, operations);
	turn->ends[turn->count - 1] = turn->bytes.len;
}

/* The leader has an entry of its own term that is committed, so all before it are, and its engine
 * has all of them. */
static void look_whether_ready(struct group *g)
{
	if (g->is_ready || g->has_ceased || g->is_holding || group_has_failed(g) ||
	    core_is_transferring(g->core))
		return;
	g->is_ready = g->role == CORE_LEADER && g->barrier != 0 && !g->engine.is_wrong &&
		      g->commit >= g->barrier && g->engine.index == journal_last_index(g->journal);
}

static enum commit_log_state state_of(const struct group *g)
{
	return g->is_ready ? g->disk->state : COMMIT_LOG_FAILED;
}

static void publish(struct group *g)
{
	struct commit_log *log = &g->log;

	look_whether_ready(g);
	g->has_ceased = false;
	log->last = journal_last_index(g->journal);
	log->committed = min_u64(g->commit, log->last);
	log->state = state_of(g);
}

/* A sync in the loop would delay the messages to the other nodes, and their syncs. */
static struct commit_log_turn turn_of_disk(const struct group *g,
					   const struct commit_log_turn *turn)
{
	struct commit_log_turn own = *turn;

	own.is_urgent = turn->is_urgent && members_voters(group_members(g)) == 1;
	return own;
}

static void flush(struct commit_log *log, const struct commit_log_turn *turn)
{
	struct group *g = group_of(log);
	struct commit_log_turn own;

	g->now_ms = turn->mono_us / 1000;
	if (!group_has_failed(g) && !g->is_holding)
		core_set_time(g->core, g->now_ms);
	group_submit(g);
	group_read_inbox(g);
	group_install_fetched(g);
	if (!group_has_failed(g) && !g->is_holding) {
		core_tick(g->core, g->now_ms);
		group_work(g);
	}
	/* The disk has news, which may give it more to do. */
	own = turn_of_disk(g, turn);
	do {
		g->has_written = false;
		commit_log_flush(g->disk, &own);
		group_take_news(g);
		group_read_inbox(g);
	} while (g->has_written && !group_has_failed(g));
	publish(g);
}

static bool wants_flush(const struct commit_log *log)
{
	const struct group *g = container_of(log, const struct group, log);

	return g->turn.bytes.len >= GROUP_ENTRY_BYTES && g->is_ready;
}

static bool snapshot(struct commit_log *log)
{
	return commit_log_snapshot(group_of(log)->disk);
}

static const char *complaint(const struct commit_log *log)
{
	const struct group *g = container_of(log, const struct group, log);

	if (group_has_failed(g))
		return g->failure;
	if (g->is_ready)
		return commit_log_complaint(g->disk);
	return g->role == CORE_LEADER ? "this node has only begun to lead its group"
				      : "another node leads the group";
}

static const struct commit_log_ops ops = {
	.admit = admit,
	.append = append,
	.flush = flush,
	.wants_flush = wants_flush,
	.snapshot = snapshot,
	.complaint = complaint,
};

void group_log_init(struct group *g)
{
	commit_log_init(&g->log, &ops);
	buf_init(&g->turn.bytes, BUF_NO_MAX);
	publish(g);
}

void group_log_done(struct group *g)
{
	commit_log_done(&g->log);
	buf_done(&g->turn.bytes);
	free(g->turn.ends);
}
