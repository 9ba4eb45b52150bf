#include "command/links.h"

#include "command/classic_int.h"
#include "command/native_recur.h"
#include "command/weight.h"
#include "engine/view.h"

/* Tags that take as long to list or compare as it takes to remove one. */
#define LISTED_TAGS 16

/* Where the options of a command begin. */
enum {
	OPTIONS_OF_COMPLETE = 3, /* or 4, after the data */
	OPTIONS_OF_PUT = 6,
	OPTIONS_OF_RECUR = 7,
};

static struct view_lists lists_of(const struct qless *q, struct qless_str jid)
{
	return q != NULL && view_has_lists(q) ? view_lists(q, jid) : (struct view_lists){ 0 };
}

static size_t recur_tags(const struct qless *q, struct qless_str jid)
{
	return q != NULL ? view_recur_tags(q, jid) : 0;
}

/* The elements of a JSON array, or more if an element has commas. */
static size_t count_elements(struct qless_str json)
{
	size_t count = 0;

	if (json.len <= 2)
		return 0;
	for (size_t i = 0; i < json.len; i++)
		count += json.ptr[i] == ',';
	return count + 1;
}

/* The links of one job that the options from `first` to `end` give. Native commands take words in
 * any case, and the others refuse or ignore those that are not in lower case. Options of the forms
 * have different numbers of values, so each argument is looked at. */
static size_t count_options(const struct inner_command *inner, size_t first, size_t end)
{
	size_t count = 0;

	for (size_t i = first; i + 1 < end; i++) {
		if (str_equal_nocase(inner->args[i], STR("tags")))
			count += count_elements(inner->args[i + 1]);
		else if (str_equal_nocase(inner->args[i], STR("depends")))
			count += 2 * count_elements(inner->args[i + 1]);
	}
	return count;
}

/* The links that a job loses if it is put again or deleted. */
static size_t replaced_links(const struct qless *q, struct qless_str jid)
{
	struct view_lists lists = lists_of(q, jid);

	return lists.tags + lists.dependencies + lists.slots;
}

/* The slots of the jobs that a command renews or returns. */
static size_t count_slots(const struct qless *q, const struct inner_command *inner, size_t first)
{
	size_t count = 0;

	for (size_t i = first; i < inner->count; i++)
		count += lists_of(q, inner->args[i]).slots;
	return count;
}

static size_t count_slots_of_one(const struct qless *q, const struct inner_command *inner)
{
	return lists_of(q, inner->args[0]).slots;
}

/* Completing a job releases its dependents and its slots. */
static size_t completed_links(const struct qless *q, struct qless_str jid)
{
	struct view_lists lists = lists_of(q, jid);

	return lists.dependents + lists.slots;
}

static size_t count_put(const struct qless *q, const struct inner_command *inner)
{
	if (inner->count < OPTIONS_OF_PUT)
		return 0;
	return replaced_links(q, inner->args[2]) +
	       count_options(inner, OPTIONS_OF_PUT, inner->count);
}

static size_t count_multiput(const struct qless *q, const struct inner_command *inner)
{
	size_t first = classic_multiput_jobs(inner->args, inner->count, REQUEST_NATIVE);
	size_t jobs = (inner->count - first) / CLASSIC_MULTIPUT_JOB_ARGS;
	size_t count = jobs * count_options(inner, 3, first);

	for (size_t i = 0; i < jobs; i++)
		count += replaced_links(q, inner->args[first + i * CLASSIC_MULTIPUT_JOB_ARGS]);
	return count;
}

static size_t count_complete(const struct qless *q, const struct inner_command *inner)
{
	return completed_links(q, inner->args[0]) +
	       count_options(inner, OPTIONS_OF_COMPLETE, inner->count);
}

static size_t count_multicomplete(const struct qless *q, const struct inner_command *inner)
{
	size_t count = 0;

	for (size_t i = 2; i < inner->count; i += 2)
		count += completed_links(q, inner->args[i]);
	return count;
}

static size_t count_cancel(const struct qless *q, const struct inner_command *inner)
{
	size_t count = 0;

	for (size_t i = 0; i < inner->count; i++)
		count += replaced_links(q, inner->args[i]);
	return count;
}

static size_t count_depends(const struct qless *q, const struct inner_command *inner)
{
	if (inner->count > 2 && str_equal_nocase(inner->args[1], STR("on")))
		return 2 * (inner->count - 2);
	return lists_of(q, inner->args[0]).dependencies;
}

/* TAG add and remove return all tags of the job. */
static size_t count_tag(const struct qless *q, const struct inner_command *inner)
{
	if (inner->count < 2)
		return 0;
	return lists_of(q, inner->args[1]).tags / LISTED_TAGS + inner->count - 2;
}

static size_t count_recur_tag(const struct qless *q, const struct inner_command *inner)
{
	return recur_tags(q, inner->args[0]) / LISTED_TAGS + inner->count - 1;
}

static size_t count_recur(const struct qless *q, const struct inner_command *inner)
{
	if (inner->count < 2)
		return 0;
	return recur_tags(q, inner->args[1]) +
	       count_options(inner,
			     native_recur_has_cron(inner->args, inner->count)
				     ? NATIVE_RECUR_CRON_OPTIONS
				     : OPTIONS_OF_RECUR,
			     inner->count);
}

/* Each run of a recurring job that is due makes a job with all its tags. `popped` jobs of the queue
 * are counted already. */
static size_t count_due(const struct qless *q, double now, struct qless_str queue, double popped,
			double count)
{
	if (q == NULL)
		return 0;
	return view_due_tags(q, now, queue, popped + count) - view_due_tags(q, now, queue, popped);
}

static size_t count_pop(const struct qless *q, double now, const struct inner_command *inner,
			struct links *links)
{
	double count;

	if (inner->count < 3 || !text_is_number(inner->args[2], &count) || !(count >= 1))
		return 0;
	if (!str_equal(links->queue, inner->args[0])) {
		links->queue = inner->args[0];
		links->popped = 0;
	}
	links->popped += count;
	return count_due(q, now, links->queue, links->popped - count, count);
}

/* `first` is the number of queues, and the queues follow. */
static size_t count_mpop(const struct qless *q, double now, const struct inner_command *inner,
			 size_t first)
{
	double count = (double)weight_count_option(inner);
	size_t sum = 0;
	double queues;

	if (first >= inner->count || !text_is_number(inner->args[first], &queues))
		return 0;
	for (size_t i = 0; (double)i < queues && first + 1 + i < inner->count; i++)
		sum += count_due(q, now, inner->args[first + 1 + i], 0, count);
	return sum;
}

static size_t links_of(const struct qless *q, double now, const struct inner_command *inner,
		       struct links *links)
{
	int (*run)(struct request *) = inner->row != NULL ? inner->row->run : NULL;

	if (run == NULL || inner->count == 0)
		return 0;
	if (run == classic_put || run == classic_requeue)
		return count_put(q, inner);
	if (run == classic_complete)
		return count_complete(q, inner);
	if (run == classic_pop)
		return count_pop(q, now, inner, links);
	if (run == native_mpop)
		return count_mpop(q, now, inner, 1);
	if (run == native_bpop)
		return count_mpop(q, now, inner, 2);
	if (run == classic_multiput)
		return count_multiput(q, inner);
	if (run == classic_multicomplete)
		return count_multicomplete(q, inner);
	if (run == classic_cancel || run == native_job_delete)
		return count_cancel(q, inner);
	if (run == classic_heartbeat || run == classic_fail || run == native_job_abort ||
	    run == classic_retry)
		return count_slots_of_one(q, inner);
	if (run == classic_multiheartbeat)
		return count_slots(q, inner, 1);
	if (run == classic_timeout)
		return count_slots(q, inner, 0);
	if (run == classic_depends)
		return count_depends(q, inner);
	if (run == classic_tag)
		return count_tag(q, inner);
	if (run == classic_log)
		return lists_of(q, inner->args[0]).tags / LISTED_TAGS;
	if (run == classic_recur)
		return count_recur(q, inner);
	if (run == classic_recur_tag || run == classic_recur_untag)
		return count_recur_tag(q, inner);
	if (run == classic_unrecur)
		return recur_tags(q, inner->args[0]);
	return 0;
}

void links_add(struct links *links, const struct qless *q, double now,
	       const struct inner_command *inner)
{
	size_t count = links_of(q, now, inner, links);

	links->sum += count;
	if (count > links->most)
		links->most = count;
}

int links_check_call(struct request *req)
{
	const struct inner_command inner = { req->row, req->args, req->nargs };
	size_t max = req->env->limits.links;
	struct links links = { 0 };

	/* Most calls need no search for their jobs. */
	if (max == 0 || !view_has_lists(req->engine))
		return 0;
	links_add(&links, req->engine, req->now, &inner);
	if (links.sum <= max)
		return 0;
	return request_fail(req, QLESS_ELIMIT,
			    "The jobs of one call have more tags, dependencies, dependents and "
			    "limits than max-links-per-call (%g)",
			    (double)max);
}
