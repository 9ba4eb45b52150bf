/*
 * The journal as its owner sees it: settings, figures, and the commit log.
 */
#include "journal/journal_int.h"

#include <assert.h>

#include "util/container.h"

struct commit_log *journal_log(struct journal *j)
{
	return &j->log;
}

void journal_publish(struct journal *j)
{
	const struct positions *p = &j->positions;

	assert(p->synced <= p->written && p->written <= j->log.last);
	j->log.committed = j->options.sync == JOURNAL_SYNC_ALWAYS ? p->synced : p->written;
}

void journal_set_sync(struct journal *j, enum journal_sync sync)
{
	/* Nothing but a sync makes an entry of a group durable. */
	if (j->group == NULL)
		j->options.sync = sync;
	journal_publish(j);
}

int64_t journal_unsynced_since_us(const struct journal *j)
{
	return unsynced_since_us(&j->unsynced);
}

void journal_set_segment_bytes(struct journal *j, uint64_t bytes)
{
	j->options.segment_bytes = bytes;
}

void journal_set_rewrite_rate(struct journal *j, uint64_t bytes_per_second)
{
	j->options.rewrite_bytes_per_second = bytes_per_second;
}

void journal_set_fork_max(struct journal *j, uint64_t bytes)
{
	j->options.fork_max_bytes = bytes;
}

void journal_set_keep_bases(struct journal *j, unsigned count)
{
	j->options.keep_bases = count;
}

void journal_get_info(const struct journal *j, struct journal_info *ret_info)
{
	*ret_info = j->info;
	ret_info->last_sequence = j->log.last;
	ret_info->durable_sequence = j->positions.synced;
	ret_info->base_bytes = j->files.base_bytes;
	ret_info->log_bytes = j->files.ended_bytes + j->segment.size;
	ret_info->pending_bytes = backlog_bytes(&j->backlog);
	ret_info->segments = j->files.manifest.log_count;
	ret_info->rewriting = journal_is_rewriting(j);
	ret_info->rewrite_bytes = ret_info->rewriting ? j->rewrite.process.bytes : 0;
	ret_info->last_base_wall_us = j->files.base_wall_us;
}

static bool snapshot(struct commit_log *log)
{
	return journal_rewrite(journal_of(log));
}

static const char *complaint(const struct commit_log *log)
{
	return container_of(log, const struct journal, log)->complaint;
}

/* The entries of a group come from journal_append_entry(). */
static void refuse_operations(struct commit_log *log, struct qless_str operations)
{
	(void)log;
	(void)operations;
	assert(0);
}

const struct commit_log_ops journal_group_ops = {
	.admit = journal_admit,
	.append = refuse_operations,
	.flush = turn_flush,
	.wants_flush = turn_wants_flush,
	.snapshot = snapshot,
	.complaint = complaint,
};

const struct commit_log_ops journal_log_ops = {
	.admit = journal_admit,
	.append = journal_append,
	.flush = turn_flush,
	.wants_flush = turn_wants_flush,
	.snapshot = snapshot,
	.complaint = complaint,
};
