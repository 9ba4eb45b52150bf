/*
 * Groups and batches: which operations share a record.
 */
#include "journal/commit_log.h"

#include <assert.h>

/* The record of a batch ends when its operations take this many bytes. It spreads the cost of a
 * record's header and checksum over some dozens of commands. */
#define BATCH_BYTES ((size_t)4096)
/* How much memory the buffer of a group keeps after a large one. */
#define GROUP_KEEP_BYTES ((size_t)1024 * 1024)

void commit_log_init(struct commit_log *log, const struct commit_log_ops *ops)
{
	*log = (struct commit_log){ .ops = ops };
	buf_init(&log->group.operations, BUF_NO_MAX);
}

void commit_log_done(struct commit_log *log)
{
	buf_done(&log->group.operations);
}

static void append_group(struct commit_log *log)
{
	struct buf *operations = &log->group.operations;

	if (operations->len == 0)
		return;
	log->ops->append(log, buf_str(operations));
	buf_clear(operations);
	buf_shrink(operations, GROUP_KEEP_BYTES);
}

/* An operation or a group is complete. Its record is complete, too, unless the batch goes on. */
static void end_step(struct commit_log *log)
{
	const struct commit_log_group *group = &log->group;

	if (group->depth == 0 && (!group->in_batch || group->operations.len >= BATCH_BYTES))
		append_group(log);
}

/* Whether an operation fills a record of its own: the detour through the buffer of the group would
 * only copy it once more. */
static bool is_long_alone(const struct commit_log *log, struct qless_str operation)
{
	return log->group.operations.len == 0 && operation.len >= BATCH_BYTES;
}

void commit_log_end_operation(struct commit_log *log)
{
	end_step(log);
}

void commit_log_append_to_group(struct commit_log *log, struct qless_str operation)
{
	assert(log->group.depth > 0 || log->group.in_batch);
	if (log->group.depth == 0 && is_long_alone(log, operation)) {
		log->ops->append(log, operation);
		return;
	}
	buf_append_str(&log->group.operations, operation);
	end_step(log);
}

void commit_log_begin_group(struct commit_log *log)
{
	log->group.depth++;
}

void commit_log_end_group(struct commit_log *log)
{
	assert(log->group.depth > 0);
	log->group.depth--;
	end_step(log);
}

void commit_log_begin_batch(struct commit_log *log)
{
	assert(!log->group.in_batch && log->group.depth == 0);
	log->group.in_batch = true;
}

void commit_log_split_batch(struct commit_log *log)
{
	if (log->group.depth == 0)
		append_group(log);
}

void commit_log_end_batch(struct commit_log *log)
{
	assert(log->group.in_batch && log->group.depth == 0);
	log->group.in_batch = false;
	end_step(log);
}

void commit_log_flush(struct commit_log *log, const struct commit_log_turn *turn)
{
	assert(log->group.depth == 0 && !log->group.in_batch && log->group.operations.len == 0);
	log->ops->flush(log, turn);
	assert(log->committed <= log->last);
}
