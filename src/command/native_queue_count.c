/*
 * QUEUE.COUNT: how many jobs of a queue are in each state, or have each value of one or two fields.
 *
 * A queue counts most of its states itself. For anything else, the call walks through the table of
 * all jobs, as QUEUE.JOBS does. A job that stays as it is during the walk is counted exactly once.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/job_states.h"
#include "command/job_tally.h"
#include "command/options.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/nearest.h"
#include "util/num.h"

/* The states that a queue counts itself exactly as the walk does. A job that TIMEOUT took from its
 * worker is stalled, but the queue counts it among those that wait. */
#define COUNTED_STATES (JOB_RUNNING | JOB_SCHEDULED | JOB_DEPENDS | JOB_FAILED)

/* ---- fields ---- */

/* A job while it is counted. */
struct count_source {
	const struct qless_job_info *info;
	unsigned state;
	bool splits_running; /* reserved and started are told apart */
	char number[NUM_MAX];
};

static struct qless_str state_name(unsigned state)
{
	switch (state) {
	case JOB_WAITING:
		return STR("waiting");
	case JOB_RUNNING:
		return STR("running");
	case JOB_RESERVED:
		return STR("reserved");
	case JOB_STARTED:
		return STR("started");
	case JOB_STALLED:
		return STR("stalled");
	case JOB_SCHEDULED:
		return STR("scheduled");
	case JOB_DEPENDS:
		return STR("depends");
	case JOB_FAILED:
		return STR("failed");
	default:
		return STR("complete");
	}
}

static struct qless_str name_or_null(struct qless_str name)
{
	return name.len != 0 ? name : str_make(NULL, 0);
}

static struct qless_str number_text(struct count_source *of, double number)
{
	return str_make(of->number, num_format_g14(of->number, number));
}

static struct qless_str read_state(struct count_source *of)
{
	if ((of->state & JOB_RUNNING) != 0 && !of->splits_running)
		return state_name(JOB_RUNNING);
	return state_name(of->state);
}

static struct qless_str read_klass(struct count_source *of)
{
	return of->info->klass;
}

static struct qless_str read_priority(struct count_source *of)
{
	return number_text(of, of->info->priority);
}

static struct qless_str read_remaining(struct count_source *of)
{
	return number_text(of, of->info->remaining);
}

static struct qless_str read_worker(struct count_source *of)
{
	return name_or_null(of->info->state == QLESS_RUNNING ? of->info->worker : STR(""));
}

static struct qless_str read_group(struct count_source *of)
{
	return name_or_null(of->info->has_failure ? of->info->failure.group : STR(""));
}

static const struct count_field {
	struct qless_str name;
	/* The text is valid until the next call for the same source. It has no pointer if the job
	 * lacks the field. */
	struct qless_str (*read)(struct count_source *of);
} all_fields[] = {
	{ STR_INIT("state"), read_state },	 { STR_INIT("klass"), read_klass },
	{ STR_INIT("priority"), read_priority }, { STR_INIT("remaining"), read_remaining },
	{ STR_INIT("worker"), read_worker },	 { STR_INIT("group"), read_group },
};

#define FIELD_COUNT (sizeof all_fields / sizeof *all_fields)

/* ---- arguments ---- */

struct count_call {
	unsigned states;     /* 0: all */
	bool splits_running; /* the client named `reserved` or `started` */
	size_t field_count;
	const struct count_field *fields[JOB_TALLY_FIELDS_MAX];
};

static int fail_unknown_field(struct request *req, struct qless_str name)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		nearest_try(&nearest, all_fields[i].name);
	if (nearest.found.ptr != NULL)
		return request_fail(req, QLESS_EBADARG,
				    "BY must name one or two fields; found \"%S\", did you mean "
				    "\"%S\"?",
				    name, nearest.found);
	return request_fail(req, QLESS_EBADARG,
			    "BY must name one or two of \"state\", \"klass\", \"priority\", "
			    "\"remaining\", \"worker\" and \"group\"; found \"%S\"",
			    name);
}

static int add_field(struct request *req, struct count_call *call, struct qless_str name)
{
	const struct count_field *field = all_fields;

	while (field < all_fields + FIELD_COUNT && !str_equal_nocase(field->name, name))
		field++;
	if (field == all_fields + FIELD_COUNT)
		return fail_unknown_field(req, name);
	for (size_t i = 0; i < call->field_count; i++) {
		if (call->fields[i] == field)
			return request_fail(req, QLESS_EBADARG, "BY names field \"%S\" twice",
					    name);
	}
	if (call->field_count == JOB_TALLY_FIELDS_MAX)
		return request_fail(req, QLESS_EBADARG,
				    "BY must name one or two fields; found a third, \"%S\"", name);
	call->fields[call->field_count++] = field;
	return 0;
}

static int parse_states(struct request *req, size_t *at, struct count_call *call)
{
	size_t first = *at;
	int rc = job_states_parse(req, at, &call->states);

	for (size_t i = first; i < *at; i++) {
		unsigned states = job_states_find(req->args[i]);

		if (states == JOB_RESERVED || states == JOB_STARTED)
			call->splits_running = true;
	}
	return rc;
}

/* Reads one option, whose name is in argument *at. BY takes all arguments that follow. */
static int parse_option(struct request *req, size_t *at, struct count_call *call)
{
	const struct qless_str *unused = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("STATE"), &unused, 1 },
		{ STR_INIT("BY"), &unused, 1 },
	};
	struct qless_str name = req->args[(*at)++];
	bool is_state = str_equal_nocase(name, STR("STATE"));
	int rc = 0;

	if (!is_state && !str_equal_nocase(name, STR("BY")))
		return options_fail_unknown(req, name, slots, sizeof slots / sizeof *slots);
	if (is_state && call->states != 0)
		return options_fail_repeated(req, name);
	if (*at >= req->nargs)
		return options_fail_without_value(req, name);
	if (is_state)
		return parse_states(req, at, call);
	for (; rc == 0 && *at < req->nargs; ++*at)
		rc = add_field(req, call, req->args[*at]);
	return rc;
}

static int parse_call(struct request *req, struct count_call *ret)
{
	int rc = 0;

	*ret = (struct count_call){ .states = 0 };
	for (size_t at = 1; rc == 0 && at < req->nargs;)
		rc = parse_option(req, &at, ret);
	return rc;
}

/* ---- one number for each state ---- */

/* The states that a reply shows, in this order. */
static const unsigned whole_states[] = { JOB_WAITING, JOB_RUNNING, JOB_STALLED, JOB_SCHEDULED,
					 JOB_DEPENDS, JOB_FAILED,  JOB_COMPLETE };
static const unsigned split_states[] = { JOB_WAITING,	JOB_RESERVED, JOB_STARTED, JOB_STALLED,
					 JOB_SCHEDULED, JOB_DEPENDS,  JOB_FAILED,  JOB_COMPLETE };

#define WHOLE_COUNT (sizeof whole_states / sizeof *whole_states)
#define SPLIT_COUNT (sizeof split_states / sizeof *split_states)

/* The number of jobs in each of `split_states`. */
struct state_counts {
	uint64_t counts[SPLIT_COUNT];
};

static void add_count(struct state_counts *all, unsigned state, uint64_t count)
{
	for (size_t i = 0; i < SPLIT_COUNT; i++) {
		if (split_states[i] == state)
			all->counts[i] += count;
	}
}

static uint64_t count_of(const struct state_counts *all, unsigned states)
{
	uint64_t count = 0;

	for (size_t i = 0; i < SPLIT_COUNT; i++) {
		if (split_states[i] & states)
			count += all->counts[i];
	}
	return count;
}

static void write_counts(const struct count_call *call, const struct state_counts *all,
			 struct reply *reply)
{
	const unsigned *shown = call->splits_running ? split_states : whole_states;
	size_t shown_count = call->splits_running ? SPLIT_COUNT : WHOLE_COUNT, selected = 0;

	for (size_t i = 0; i < shown_count; i++)
		selected += (shown[i] & call->states) != 0;
	reply_map(reply, selected);
	for (size_t i = 0; i < shown_count; i++) {
		if ((shown[i] & call->states) == 0)
			continue;
		reply_bulk(reply, state_name(shown[i]));
		reply_integer(reply, (int64_t)count_of(all, shown[i]));
	}
}

/* Replies with what the queue counts itself. */
static void answer_at_once(struct request *req, const struct count_call *call)
{
	struct view_queue_figures figures;
	struct state_counts all = { { 0 } };

	if (view_queue_figures(req->engine, req->now, req->args[0], &figures)) {
		add_count(&all, JOB_WAITING, figures.waiting);
		add_count(&all, JOB_RESERVED, figures.running);
		add_count(&all, JOB_STALLED, figures.stalled);
		add_count(&all, JOB_SCHEDULED, figures.scheduled);
		add_count(&all, JOB_DEPENDS, figures.depends);
		add_count(&all, JOB_FAILED, figures.failed);
	}
	write_counts(call, &all, req->reply);
}

/* ---- the walk ---- */

struct count_work {
	struct work work;
	struct count_call call;
	uint32_t cursor;
	struct state_counts counts; /* without fields */
	struct job_tally *tally;    /* with fields; otherwise NULL */
};

struct count_part {
	struct request *req;
	struct count_work *count;
	int looked;
};

static void count_values(struct count_work *count, const struct qless_job_info *info,
			 unsigned state)
{
	struct count_source sources[JOB_TALLY_FIELDS_MAX];
	struct qless_str values[JOB_TALLY_FIELDS_MAX];

	for (size_t i = 0; i < count->call.field_count; i++) {
		sources[i].info = info;
		sources[i].state = state;
		sources[i].splits_running = count->call.splits_running;
		values[i] = count->call.fields[i]->read(&sources[i]);
	}
	job_tally_add(count->tally, values);
}

static void look_at(void *arg, const struct qless_job *job)
{
	struct count_part *part = arg;
	struct count_work *count = part->count;
	struct qless_job_info info;
	unsigned state;

	part->looked++;
	qless_job_read(job, &info);
	state = job_states_match(part->req, count->call.states, job, &info);
	if (state == 0)
		return;
	if (count->tally != NULL)
		count_values(count, &info, state);
	else
		add_count(&count->counts, state, 1);
}

static bool go_on(struct work *work, struct request *req)
{
	struct count_work *count = container_of(work, struct count_work, work);
	struct count_part part = { .req = req, .count = count };
	bool more = true;

	for (int i = 0; i < WORK_PART_ELEMENTS && part.looked < WORK_PART_ELEMENTS && more; i++) {
		count->cursor = view_scan_jobs(req->engine, count->cursor, look_at, &part);
		more = count->cursor != 0;
	}
	if (more && reply_is_wanted(req->reply))
		return true;
	if (count->tally != NULL)
		job_tally_write(count->tally, req->reply);
	else
		write_counts(&count->call, &count->counts, req->reply);
	return false;
}

static void free_count(struct work *work)
{
	struct count_work *count = container_of(work, struct count_work, work);

	job_tally_free(count->tally);
	free(count);
}

static void begin_walk(struct request *req, const struct count_call *call)
{
	static const struct work_ops ops = { go_on, free_count };
	struct count_work *count = mem_zalloc(sizeof *count);

	count->work.ops = &ops;
	count->call = *call;
	if (call->field_count != 0)
		count->tally = job_tally_new(view_hash_seed(req->engine), call->field_count);
	work_begin(req, &count->work);
}

int native_queue_count(struct request *req)
{
	struct count_call call;
	int rc = parse_call(req, &call);
	bool is_counted;

	if (rc == 0)
		rc = request_advance(req, QLESS_ADVANCE_QUEUE, req->args[0], QLESS_ADVANCE_MAX);
	if (rc < 0)
		return rc;
	is_counted = call.field_count == 0 && !call.splits_running &&
		     (call.states & ~(unsigned)COUNTED_STATES) == 0;
	if (call.states == 0)
		call.states = is_counted ? JOB_ANY_STATE & ~(unsigned)JOB_COMPLETE : JOB_ANY_STATE;
	if (is_counted)
		answer_at_once(req, &call);
	else
		begin_walk(req, &call);
	return 0;
}
