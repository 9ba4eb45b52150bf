/*
 * Zeros ahead of the records: segment.h says why.
 *
 * With `always` the helper writes them together with records, before each sync that would run out
 * of them. Otherwise it writes them while the loop writes records, where the log grows fast: most
 * of the time of such a write goes into finding memory and disk space, and the helper does that on
 * another processor.
 */
#include "journal/journal_int.h"

#include "util/minmax.h"

/* With `always`: if fewer than ZEROS_LEAST bytes of zeros are left, a sync writes ZEROS_BYTES. */
#define ZEROS_BYTES ((uint64_t)4 * 1024 * 1024)
#define ZEROS_LEAST ((uint64_t)512 * 1024)
/* Otherwise: bytes of zeros written at a time. The steps are short because the loop may have to
 * wait for one. */
#define ZEROS_STEP_BYTES ((uint64_t)1024 * 1024)
/* There are as many zeros ahead as the log grows in a second, up to this many bytes. If that is
 * less than a step, there are none. */
#define ZEROS_AHEAD_BYTES ((uint64_t)8 * 1024 * 1024)

uint64_t zeros_of_new_segment(const struct journal *j)
{
	if (j->options.sync != JOURNAL_SYNC_ALWAYS)
		return 0;
	return min_u64(ZEROS_BYTES, j->options.segment_bytes);
}

void zeros_plan(const struct journal *j, uint64_t end, uint64_t *ret_from, uint64_t *ret_to)
{
	/* Few records are written after the size at which a segment ends. */
	uint64_t limit = max_u64(j->options.segment_bytes, end);

	*ret_from = *ret_to = 0;
	if (j->segment.zeroed < min_u64(end + ZEROS_LEAST, limit)) {
		*ret_from = max_u64(j->segment.zeroed, end);
		*ret_to = min_u64(end + ZEROS_BYTES, limit);
	}
}

/* Where the zeros end now. */
static uint64_t zeros_end(const struct journal *j)
{
	return max_u64(j->segment.size, j->segment.zeroed);
}

/* Where they should end. */
static uint64_t wanted_end(const struct journal *j)
{
	uint64_t ahead = min_u64(pace_rate(&j->pace), ZEROS_AHEAD_BYTES);

	if (j->options.sync == JOURNAL_SYNC_ALWAYS || !journal_is_healthy(j) ||
	    ahead < ZEROS_STEP_BYTES)
		return 0;
	return min_u64(j->segment.size + ahead, j->options.segment_bytes);
}

bool zeros_are_due(const struct journal *j)
{
	return zeros_end(j) + ZEROS_STEP_BYTES <= wanted_end(j);
}

void zeros_start(struct journal *j)
{
	uint64_t from = zeros_end(j);

	disk_task_init_zeros(&j->task, j->segment.fd, from, from + ZEROS_STEP_BYTES);
	task_start(j);
}

void zeros_finish(struct journal *j, const struct disk_task *task)
{
	if (task->result.rc < 0)
		write_handle_failure(j, task->result.rc);
	else
		segment_note_zeros(&j->segment, task->result.zeroed);
	/* A disk without space got fewer. The next try comes a second later. */
	if (j->segment.zeroed < task->write.zero_to)
		pace_reset(&j->pace);
}
