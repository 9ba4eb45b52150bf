/*
 * The three states of a log: healthy, full and failed. journal.h has the drawing.
 */
#include "journal/journal_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "util/minmax.h"

#define BIT(state) (1U << (state))

static void set_state(struct journal *j, enum commit_log_state state)
{
	static const unsigned allowed[] = {
		[COMMIT_LOG_HEALTHY] = BIT(COMMIT_LOG_FULL) | BIT(COMMIT_LOG_FAILED),
		[COMMIT_LOG_FULL] =
			BIT(COMMIT_LOG_HEALTHY) | BIT(COMMIT_LOG_FULL) | BIT(COMMIT_LOG_FAILED),
		[COMMIT_LOG_FAILED] = BIT(COMMIT_LOG_HEALTHY) | BIT(COMMIT_LOG_FAILED),
	};

	assert((allowed[j->log.state] & BIT(state)) != 0);
	j->log.state = state;
}

void health_fail(struct journal *j, enum commit_log_state state, int rc, const char *doing)
{
	assert(state != COMMIT_LOG_HEALTHY && rc < 0);
	if (journal_is_healthy(j))
		j->info.failures++;
	set_state(j, journal_has_failed(j) ? COMMIT_LOG_FAILED : state);
	snprintf(j->complaint, sizeof j->complaint, "%s (%s)", strerror(-rc), doing);
	j->schedule.retry_after_us = j->schedule.mono_us + SECOND_US;
}

void health_fail_segment(struct journal *j, enum commit_log_state state, int rc, const char *doing)
{
	char text[64];

	snprintf(text, sizeof text, "%s log-%08llu", doing,
		 (unsigned long long)j->segment.header.number);
	health_fail(j, state, rc, text);
}

void health_recover(struct journal *j)
{
	assert(!j->backlog.has_gap);
	set_state(j, COMMIT_LOG_HEALTHY);
	j->complaint[0] = '\0';
}

/* Space that was reserved before does not count. It was too small for some command, which would
 * find the disk full again at once, and so on every second. */
void health_retry(struct journal *j)
{
	uint64_t end = journal_end(j) + JOURNAL_ADMIT_EXTRA_BYTES;

	assert(j->log.state == COMMIT_LOG_FULL && journal_is_idle(j));
	if (j->schedule.mono_us < j->schedule.retry_after_us)
		return;
	j->schedule.retry_after_us = j->schedule.mono_us + SECOND_US;
	end = max_u64(end, segment_room(&j->segment) + 1);
	if (segment_reserve(&j->segment, j->io, end) < 0)
		return;
	health_recover(j);
	write_pending(j);
}
