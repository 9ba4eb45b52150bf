#include "command/objects.h"

#include "command/classic.h"
#include "command/complete_args.h"
#include "command/endpoint_args.h"
#include "command/job_states.h"
#include "command/job_wait.h"
#include "command/json.h"
#include "command/limit_names.h"
#include "command/native_jobs.h"
#include "command/options.h"
#include "command/table.h"
#include "util/num.h"

#define R  ((unsigned)ACL_READ)
#define W  ((unsigned)ACL_WRITE)
#define RW (R | W)

/* ---- walks ---- */

static bool visit(const struct object_walk *walk, const struct object *object)
{
	return walk->visit(walk->arg, object);
}

/* Visits the object that argument i names, if there is one. */
static bool at(const struct object_walk *walk, enum object_kind kind, unsigned access, size_t i)
{
	return i >= walk->nargs ||
	       visit(walk, &(struct object){ kind, access, walk->args[i], NULL });
}

/* Visits what the arguments from number i on name. */
static bool from(const struct object_walk *walk, enum object_kind kind, unsigned access, size_t i)
{
	for (; i < walk->nargs; i++) {
		if (!at(walk, kind, access, i))
			return false;
	}
	return true;
}

/* Visits the job in argument i, which the command moves to a queue. */
static bool moved(const struct object_walk *walk, enum object_kind kind, size_t i,
		  const struct qless_str *queue)
{
	if (i >= walk->nargs)
		return true;
	if (walk->is_native && kind != OBJECT_JOB &&
	    (str_equal(walk->args[i], STR("*")) || str_equal(walk->args[i], STR("+"))))
		return true;
	return visit(walk, &(struct object){ kind, W, walk->args[i], queue });
}

/*
 * Visits the jobs in a JSON array of jids. A job that others depend on cannot be cancelled, so a
 * dependency changes the job that it names, too.
 */
static bool dependencies(const struct object_walk *walk, struct qless_str json)
{
	struct json_strings jids = { 0 };
	bool goes_on = true;

	if (!json_read_strings(json, true, &jids))
		return true;
	for (size_t i = 0; goes_on && i < jids.count; i++)
		goes_on = visit(walk, &(struct object){ OBJECT_JOB, W, jids.items[i], NULL });
	json_strings_done(&jids);
	return goes_on;
}

/* Whether an argument is a literal word. Native commands take it in any case, and the reference
 * ignores or refuses other spellings than lower case. */
static bool is_word(const struct object_walk *walk, size_t i, const char *word)
{
	return i < walk->nargs && (walk->is_native ? str_equal_nocase(walk->args[i], str_from(word))
						   : str_equal(walk->args[i], str_from(word)));
}

/* Arguments of the option at argument i. */
static size_t width(const struct object_walk *walk, size_t i)
{
	return walk->is_native ? option_width(walk->args[i]) : 2;
}

/* Visits the dependencies in the options from argument i on, up to argument `end`. */
static bool put_options(const struct object_walk *walk, size_t i, size_t end)
{
	for (; i + 1 < end; i += width(walk, i)) {
		if (is_word(walk, i, "depends") && !dependencies(walk, walk->args[i + 1]))
			return false;
	}
	return true;
}

/* ---- jobs ---- */

bool objects_of_get(const struct object_walk *walk)
{
	return at(walk, OBJECT_JOB, R, 0);
}

bool objects_of_job_wait(const struct object_walk *walk)
{
	struct object_walk jids = *walk;
	bool any;

	jids.nargs = JOB_WAIT_JIDS_AT + job_wait_count_jids(walk->args, walk->nargs, &any);
	return from(&jids, OBJECT_JOB, R, JOB_WAIT_JIDS_AT);
}

bool objects_of_meta(const struct object_walk *walk)
{
	return at(walk, OBJECT_JOB, is_word(walk, 1, "get") ? R : W, 0);
}

/* The reply has the data of the job. */
bool objects_of_start(const struct object_walk *walk)
{
	return at(walk, OBJECT_JOB, RW, 0);
}

/* FAIL, HEARTBEAT, JOB.ABORT, JOB.PROGRESS, LOG and PRIORITY. */
bool objects_of_job(const struct object_walk *walk)
{
	return at(walk, OBJECT_JOB, W, 0);
}

/* CANCEL, JOB.DELETE and TIMEOUT. */
bool objects_of_cancel(const struct object_walk *walk)
{
	return from(walk, OBJECT_JOB, W, 0);
}

bool objects_of_complete(const struct object_walk *walk)
{
	size_t first = walk->is_native ? complete_options_at(walk->args, walk->nargs)
				       : COMPLETE_DATA_AT + 1;

	if (!at(walk, OBJECT_JOB, W, 0) || !at(walk, OBJECT_QUEUE, W, 2))
		return false;
	for (size_t i = first; i + 1 < walk->nargs; i += width(walk, i)) {
		const struct qless_str *value = &walk->args[i + 1];

		if (is_word(walk, i, "next") &&
		    (!at(walk, OBJECT_QUEUE, W, i + 1) || !moved(walk, OBJECT_JOB, 0, value)))
			return false;
		if (is_word(walk, i, "depends") && !dependencies(walk, *value))
			return false;
	}
	return true;
}

/* The jobs are answered one by one; see permit_job_of(). */
bool objects_of_multicomplete(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, W, 1);
}

bool objects_of_depends(const struct object_walk *walk)
{
	bool is_on = is_word(walk, 1, "on");

	return at(walk, OBJECT_JOB, W, 0) && (!is_on || from(walk, OBJECT_JOB, W, 2));
}

bool objects_of_put(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, W, 1) && moved(walk, OBJECT_NEW_JOB, 2, &walk->args[1]) &&
	       put_options(walk, 6, walk->nargs);
}

bool objects_of_requeue(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, W, 1) && moved(walk, OBJECT_JOB, 2, &walk->args[1]) &&
	       put_options(walk, 6, walk->nargs);
}

bool objects_of_multiput(const struct object_walk *walk)
{
	size_t first = classic_multiput_jobs(walk->args, walk->nargs,
					     walk->is_native ? REQUEST_NATIVE : REQUEST_QLESS);

	if (!at(walk, OBJECT_QUEUE, W, 1) || !put_options(walk, 3, first))
		return false;
	for (size_t i = first; i < walk->nargs; i += CLASSIC_MULTIPUT_JOB_ARGS) {
		if (!moved(walk, OBJECT_NEW_JOB, i, &walk->args[1]))
			return false;
	}
	return true;
}

bool objects_of_retry(const struct object_walk *walk)
{
	return at(walk, OBJECT_JOB, W, 0) && at(walk, OBJECT_QUEUE, W, 1) &&
	       (walk->nargs < 2 || moved(walk, OBJECT_JOB, 0, &walk->args[1]));
}

/* TAG get and TAG top list what the user may see. The other forms return the tags of the job. */
bool objects_of_tag(const struct object_walk *walk)
{
	bool lists = is_word(walk, 0, "get") || is_word(walk, 0, "top");

	return lists || at(walk, OBJECT_JOB, RW, 1);
}

bool objects_of_track(const struct object_walk *walk)
{
	return at(walk, OBJECT_JOB, W, 1);
}

/* ---- queues ---- */

/* LENGTH, PEEK and STATS. */
bool objects_of_peek(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, R, 0);
}

/* A pop returns the jobs and locks them. */
bool objects_of_pop(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, RW, 0);
}

/* Visits the queues that follow their number, which is argument i. */
static bool counted(const struct object_walk *walk, unsigned access, size_t i)
{
	int64_t count;

	if (i >= walk->nargs || !num_parse_i64(walk->args[i], &count))
		return true;
	for (i++; count > 0 && i < walk->nargs; count--, i++) {
		if (!at(walk, OBJECT_QUEUE, access, i))
			return false;
	}
	return true;
}

bool objects_of_mpop(const struct object_walk *walk)
{
	return counted(walk, RW, 1);
}

bool objects_of_bpop(const struct object_walk *walk)
{
	return counted(walk, RW, 2);
}

/* PAUSE, UNPAUSE and QUEUE.FORGET. */
bool objects_of_queues(const struct object_walk *walk)
{
	return from(walk, OBJECT_QUEUE, W, 0);
}

bool objects_of_jobs(const struct object_walk *walk)
{
	bool has_queue = walk->nargs > 0 && !is_word(walk, 0, "complete");

	if (walk->is_native && native_jobs_has_list(walk->args, walk->nargs))
		has_queue = true;
	return !has_queue || at(walk, OBJECT_QUEUE, R, 1);
}

/* Only jobs that the user may use are moved; see classic_unfail(). */
bool objects_of_unfail(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, W, 0);
}

/* WORKER.DEREGISTER, WORKER.DETACH and WORKER.HEARTBEAT. */
bool objects_of_workers(const struct object_walk *walk)
{
	return from(walk, OBJECT_WORKER, W, 0);
}

/* The worker will belong to the client, and other workers may be kept off the queue. */
bool objects_of_attach(const struct object_walk *walk)
{
	if (!at(walk, OBJECT_WORKER, W, 0))
		return false;
	for (size_t i = 1; i + 1 < walk->nargs; i += 2) {
		if (str_equal_nocase(walk->args[i], STR("EXCLUSIVE")) &&
		    !at(walk, OBJECT_QUEUE, RW, i + 1))
			return false;
	}
	return true;
}

/* The search itself leaves out jobs that the user may not read. */
bool objects_of_search(const struct object_walk *walk)
{
	size_t i = 0;

	while (i < walk->nargs && !is_word(walk, i, "with")) {
		if (is_word(walk, i, "queue") && !at(walk, OBJECT_QUEUE, R, i + 1))
			return false;
		if (!is_word(walk, i, "state")) {
			i += is_word(walk, i, "data") ? 3 : 2;
			continue;
		}
		for (i++; i < walk->nargs && job_states_find(walk->args[i]) != 0; i++)
			continue;
	}
	return true;
}

bool objects_of_worker_list(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, R, 1);
}

bool objects_of_release(const struct object_walk *walk)
{
	return at(walk, OBJECT_WORKER, W, 0);
}

bool objects_of_config_get(const struct object_walk *walk)
{
	return at(walk, OBJECT_OPTION, R, 0);
}

bool objects_of_config_set(const struct object_walk *walk)
{
	return at(walk, OBJECT_OPTION, W, 0);
}

/* ---- limits ---- */

/* The limit of a queue belongs to the queue. Other limits belong to no queue, so permissions for
 * commands alone decide about them. */
static bool limit(const struct object_walk *walk, unsigned access)
{
	struct qless_str queue;

	return walk->nargs == 0 || !limit_is_of_queue(walk->args[0], &queue) ||
	       visit(walk, &(struct object){ OBJECT_QUEUE, access, queue, NULL });
}

bool objects_of_limit_get(const struct object_walk *walk)
{
	return limit(walk, R);
}

/* LIMIT.SET, LIMIT.HOLD and LIMIT.DELETE. */
bool objects_of_limit_set(const struct object_walk *walk)
{
	return limit(walk, W);
}

/* ---- endpoints ---- */

/* ENDPOINT.SET: the endpoint pops the jobs. */
bool objects_of_endpoint_set(const struct object_walk *walk)
{
	size_t count, first = endpoint_queues_at(walk->args, walk->nargs, &count);

	for (size_t i = 0; first != 0 && i < count; i++) {
		if (!at(walk, OBJECT_QUEUE, RW, first + i))
			return false;
	}
	return true;
}

/* ---- recurring jobs ---- */

bool objects_of_recur(const struct object_walk *walk)
{
	return at(walk, OBJECT_QUEUE, W, 0) && moved(walk, OBJECT_NEW_RECUR, 1, &walk->args[0]);
}

bool objects_of_recur_get(const struct object_walk *walk)
{
	return at(walk, OBJECT_RECUR, R, 0);
}

/* RECUR.TAG and RECUR.UNTAG return the tags. */
bool objects_of_recur_tag(const struct object_walk *walk)
{
	return at(walk, OBJECT_RECUR, RW, 0);
}

/* RECUR.UPDATE and UNRECUR. */
bool objects_of_recur_update(const struct object_walk *walk)
{
	if (!at(walk, OBJECT_RECUR, W, 0))
		return false;
	for (size_t i = 1; i + 1 < walk->nargs; i += 2) {
		const struct qless_str *queue = &walk->args[i + 1];

		if (is_word(walk, i, "queue") &&
		    (!at(walk, OBJECT_QUEUE, W, i + 1) ||
		     !visit(walk, &(struct object){ OBJECT_RECUR, W, walk->args[0], queue })))
			return false;
	}
	return true;
}

/* ---- all commands ---- */

static bool by_flags(const struct object_walk *walk, unsigned flags)
{
	unsigned access = (flags & CMD_WRITE) != 0 ? W : R;

	if ((flags & CMD_KEYS_ALL) != 0)
		return from(walk, OBJECT_KEY, access, 0);
	if ((flags & CMD_KEY_FIRST) != 0)
		return at(walk, OBJECT_KEY, access, 0);
	if ((flags & CMD_CHANNELS) != 0)
		return from(walk, OBJECT_CHANNEL, R, 0);
	if ((flags & CMD_CHANNEL) != 0)
		return at(walk, OBJECT_CHANNEL, W, 0);
	if ((flags & CMD_PATTERNS) != 0)
		return from(walk, OBJECT_PATTERN, R, 0);
	if ((flags & CMD_EVERYTHING) != 0)
		return visit(walk, &(struct object){ OBJECT_EVERYTHING, RW, STR("*"), NULL });
	return true;
}

bool objects_each(const struct object_request *request, object_fn *fn, void *arg)
{
	const struct object_walk walk = {
		.args = request->args,
		.nargs = request->nargs,
		.is_native = request->form == REQUEST_NATIVE,
		.visit = fn,
		.arg = arg,
	};

	if (request->row->objects != NULL)
		return request->row->objects(&walk);
	return by_flags(&walk, request->row->flags);
}

/* Takes the words of a queue command, its name and its time. */
static void unwrap(const struct command_table *table, struct object_request *request, size_t before,
		   enum request_form form)
{
	const struct command *row;

	if (request->nargs < before + 2)
		return;
	row = command_table_find_queue(table, request->args[before]);
	if (row == NULL || (row->forms & 1U << form) == 0)
		return;
	*request = (struct object_request){ row, form, request->args + before + 2,
					    request->nargs - before - 2 };
}

void objects_unwrap(const struct command_table *table, struct object_request *request)
{
	struct qless_str name = str_from(request->row->name);

	if (request->form != REQUEST_NATIVE)
		return;
	if (str_equal(name, STR("qless")))
		unwrap(table, request, 0, REQUEST_QLESS);
	else if (str_starts_with(name, STR("eval")) && request->nargs > 1 &&
		 str_equal(request->args[1], STR("0")))
		unwrap(table, request, 2, REQUEST_SCRIPT);
}
