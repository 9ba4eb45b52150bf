#include "command/fence.h"

#include <stdlib.h>
#include <string.h>

#include "command/classic_int.h"
#include "command/options.h"
#include "util/mem.h"
#include "util/num.h"

/* Finds the option. Returns the number of its argument, or `nargs`. */
static size_t find_option(const struct request *req, size_t first)
{
	size_t count = req->nargs;

	if (count < 2)
		return count;
	if (first == 0)
		return str_equal_nocase(req->args[count - 2], STR("lock")) ? count - 2 : count;
	for (size_t i = first; i + 1 < count; i += option_width(req->args[i])) {
		if (str_equal_nocase(req->args[i], STR("lock")))
			return i;
	}
	return count;
}

static bool parse_number(struct request *req, struct qless_str text, uint64_t *ret_number)
{
	int64_t number;

	if (num_parse_i64(text, &number) && number > 0 && number <= (int64_t)QLESS_LOCK_MAX) {
		*ret_number = (uint64_t)number;
		return true;
	}
	request_fail(req, QLESS_EBADARG,
		     "LOCK must be the number of a hand-out, a whole number above 0; found \"%S\"",
		     text);
	answer_expected(req);
	return false;
}

/* Returns whether the command has the option once, among the options that begin at argument `at`.
 */
static bool check_once(struct request *req, size_t at)
{
	for (size_t i = at + 2; i < req->nargs; i += option_width(req->args[i])) {
		if (!str_equal_nocase(req->args[i], STR("lock")))
			continue;
		options_fail_repeated(req, req->args[i]);
		answer_expected(req);
		return false;
	}
	return true;
}

bool fence_take(struct fence *fence, struct request *req, size_t first)
{
	size_t at = find_option(req, first);
	size_t after;

	*fence = (struct fence){ .is_set = at < req->nargs };
	if (!fence->is_set)
		return true;
	if (!check_once(req, at) || !parse_number(req, req->args[at + 1], &fence->number))
		return false;
	after = req->nargs - at - 2;
	if (after != 0) {
		fence->args = mem_realloc_array(NULL, req->nargs - 2, sizeof *fence->args);
		memcpy(fence->args, req->args, at * sizeof *fence->args);
		memcpy(fence->args + at, req->args + at + 2, after * sizeof *fence->args);
		req->args = fence->args;
	}
	req->nargs -= 2;
	return true;
}

void fence_done(struct fence *fence)
{
	free(fence->args);
	fence->args = NULL;
}

bool fence_check(const struct fence *fence, struct request *req, enum qless_operation operation)
{
	int rc = qless_check_lock(req->engine, operation, req->args[0], fence->number);

	if (rc < 0)
		answer_error(req, rc);
	return rc == 0;
}
