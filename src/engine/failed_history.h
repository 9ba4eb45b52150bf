/*
 * The oldest failed job, which the options failed-history and failed-history-count delete first.
 *
 * A job that others depend on is kept, and does not keep younger ones. Each group is in a heap by a
 * number below which none of its failures can be deleted. The number may be too low, and the search
 * raises it. It is in no snapshot, because the log records which jobs were deleted.
 */
#ifndef ENGINE_FAILED_HISTORY_H
#define ENGINE_FAILED_HISTORY_H

#include <stdbool.h>

#include "engine/fail.h"

/* Note that a job is put into a group with this failure number, or is taken out. */
void failed_history_add(struct qless *q, struct group *group, double number);
void failed_history_remove(struct qless *q);

/* Note that no other job depends on a failed job any more. */
void failed_history_free(struct qless *q, struct qless_job *job);

/* Note that a repair changes groups without the calls above. The next search begins anew. */
void failed_history_forget(struct qless *q);

/* Whether the heap and the count match the groups, for qless_check(). Walks over all groups. */
bool failed_history_is_sound(const struct qless *q);
/* Whether the search does not pass over the job. */
bool failed_history_finds(const struct qless *q, const struct group *group,
			  const struct qless_job *job);

#endif
