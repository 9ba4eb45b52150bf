#include "command/weight.h"

#include "command/classic_int.h"
#include "command/inner.h"
#include "command/limit_names.h"
#include "command/table.h"

/* Limits that follow a changed pattern for the weight of one job. */
#define LIMITS_PER_WEIGHT 10

/* The number in argument `i`, or `otherwise` if it is missing. */
static size_t number_at(const struct inner_command *inner, size_t i, size_t otherwise)
{
	double number;

	if (i >= inner->count)
		return otherwise;
	if (!text_is_number(inner->args[i], &number) || !(number >= 1))
		return 1;
	return number < 1e15 ? (size_t)number : (size_t)1e15;
}

size_t weight_count_option(const struct inner_command *inner)
{
	for (size_t i = inner->count; i-- > 0;) {
		if (str_equal_nocase(inner->args[i], STR("count")))
			return number_at(inner, i + 1, 1);
	}
	return 1;
}

/* The jobs that a command without a number handles: one, or those that it names. */
static size_t count_named(const struct inner_command *inner)
{
	int (*run)(struct request *) = inner->row->run;

	if (run == classic_multiput)
		return inner->count / CLASSIC_MULTIPUT_JOB_ARGS;
	if (run == classic_multicomplete)
		return inner->count / 2;
	if (run == classic_multiget || run == classic_multiheartbeat || run == classic_cancel ||
	    run == native_job_delete || run == classic_timeout || run == classic_depends ||
	    (inner->row->flags & CMD_NAMES) != 0)
		return inner->count;
	return 1;
}

/* A changed pattern walks over all limits. */
static size_t weight_of_rule(const struct request *req, const struct inner_command *inner)
{
	const struct qless *engine = req->engine;

	if (inner->count == 0 || !limit_is_pattern(inner->args[0]))
		return 1;
	if (engine == NULL && req->env->databases != NULL)
		engine = databases_peek(req->env->databases, req->session->db);
	return engine != NULL ? 1 + qless_limit_count(engine) / LIMITS_PER_WEIGHT : 1;
}

bool weight_is_slow_read(const struct request *req)
{
	struct inner_command inner = inner_find(req);

	return inner.row != NULL && (inner.row->flags & CMD_FAST) == 0 &&
	       !command_changes(inner.row, inner.args, inner.count);
}

size_t weight_of(const struct request *req)
{
	struct inner_command inner = inner_find(req);
	size_t weight;

	if (inner.row == NULL || inner.row->run == NULL)
		return 1;
	if (inner.row->run == classic_pop)
		weight = number_at(&inner, 2, 1);
	else if (inner.row->run == classic_peek)
		weight = number_at(&inner, 1, 1);
	else if (inner.row->run == classic_unfail)
		weight = number_at(&inner, 2, 25);
	else if (inner.row->run == native_mpop || inner.row->run == native_bpop)
		weight = weight_count_option(&inner);
	else if (inner.row->run == native_limit_set || inner.row->run == native_limit_delete)
		weight = weight_of_rule(req, &inner);
	else
		weight = count_named(&inner);
	return weight != 0 ? weight : 1;
}
