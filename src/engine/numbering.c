#include "engine/numbering.h"

#include "engine/engine_int.h"
#include "engine/job.h"
#include "util/num.h"

/* Taken numbers after which the steps grow, so that a caller that has put jobs with numbers as jids
 * cannot make a call long. Numbers that are left out are of no harm. */
#define TAKEN_MAX 1000

void numbering_use(struct qless *q, const struct qless_terms *terms)
{
	if (terms != NULL && terms->has_number && terms->number > q->last_number)
		q->last_number = terms->number;
}

static bool is_taken(const struct qless *q, double number)
{
	char text[NUM_MAX];
	struct qless_str jid = str_make(text, num_format_u64(text, (uint64_t)number));

	return job_find(q, jid) != NULL || qless_recur_get(q, jid) != NULL;
}

double qless_next_number(const struct qless *q, double after)
{
	double number = (after > q->last_number ? after : q->last_number) + 1;
	double step = 1;

	for (int taken = 0; is_taken(q, number); taken++) {
		step = taken < TAKEN_MAX ? 1 : 2 * step;
		number += step;
	}
	return number;
}
