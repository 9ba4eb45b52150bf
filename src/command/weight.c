#include "command/weight.h"

#include <math.h>

#include "command/classic_int.h"
#include "command/handlers.h"
#include "command/table.h"

/* The arguments of a queue command. */
struct words {
	const struct command *row;
	const struct qless_str *args;
	size_t count;
};

/* Finds the queue command that a request runs. Its row is NULL if there is none. */
static struct words find_words(const struct request *req)
{
	const struct command *row = req->row;
	size_t at = row->handler == cmd_qless ? 0 : 2;
	struct words words = { row, req->args, req->nargs };

	if (row->run != NULL)
		return words;
	words.row = NULL;
	if (row->handler != cmd_qless && row->handler != cmd_eval && row->handler != cmd_evalsha)
		return words;
	if (at < req->nargs)
		words.row = command_table_find_queue(req->env->table, req->args[at]);
	/* The name, and the time. */
	at += 2;
	words.args += at < words.count ? at : words.count;
	words.count -= at < words.count ? at : words.count;
	return words;
}

/* The number in argument `i`, or `otherwise` if it is missing. */
static size_t number_at(const struct words *words, size_t i, size_t otherwise)
{
	double number;

	if (i >= words->count)
		return otherwise;
	if (!text_is_number(words->args[i], &number) || !(number >= 1))
		return 1;
	return number < 1e15 ? (size_t)number : (size_t)1e15;
}

/* The value of the option COUNT, or 1. */
static size_t count_option(const struct words *words)
{
	for (size_t i = words->count; i-- > 0;) {
		if (str_equal_nocase(words->args[i], STR("count")))
			return number_at(words, i + 1, 1);
	}
	return 1;
}

/* The jobs that a command without a number handles: one, or those that it names. */
static size_t count_named(const struct words *words)
{
	int (*run)(struct request *) = words->row->run;

	if (run == classic_multiput)
		return words->count / CLASSIC_MULTIPUT_JOB_ARGS;
	if (run == classic_multicomplete)
		return words->count / 2;
	if (run == classic_multiget || run == classic_multiheartbeat || run == classic_cancel ||
	    run == classic_timeout || run == classic_depends ||
	    (words->row->flags & CMD_NAMES) != 0)
		return words->count;
	return 1;
}

bool weight_is_slow_read(const struct request *req)
{
	struct words words = find_words(req);

	if (words.row == NULL)
		words = (struct words){ req->row, req->args, req->nargs };
	return (words.row->flags & CMD_FAST) == 0 &&
	       !command_changes(words.row, words.args, words.count);
}

size_t weight_of(const struct request *req)
{
	struct words words = find_words(req);
	size_t weight;

	if (words.row == NULL)
		return 1;
	if (words.row->run == classic_pop)
		weight = number_at(&words, 2, 1);
	else if (words.row->run == classic_peek)
		weight = number_at(&words, 1, 1);
	else if (words.row->run == classic_unfail)
		weight = number_at(&words, 2, 25);
	else if (words.row->run == native_mpop || words.row->run == native_bpop)
		weight = count_option(&words);
	else
		weight = count_named(&words);
	return weight != 0 ? weight : 1;
}
