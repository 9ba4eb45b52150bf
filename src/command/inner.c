#include "command/inner.h"

#include "command/handlers.h"
#include "command/table.h"
#include "util/minmax.h"

/* Arguments of a queue command in QLESS and scripts before its own: the name, and the time. */
#define WORDS 2

/* Returns where the arguments have the name of a queue command. -1: they have none. */
static int find_name(const struct command *row)
{
	if (row->handler == cmd_qless)
		return 0;
	/* The script or its SHA-1, and the number of keys. */
	return row->handler == cmd_eval || row->handler == cmd_evalsha ? 2 : -1;
}

struct inner_command inner_find(const struct request *req)
{
	struct inner_command inner = { req->row, req->args, req->nargs };
	int at = find_name(req->row);
	size_t before;

	if (at < 0)
		return inner;
	before = min_u64((size_t)at + WORDS, req->nargs);
	inner.row = (size_t)at < req->nargs
			    ? command_table_find_queue(req->env->table, req->args[at])
			    : NULL;
	inner.args += before;
	inner.count -= before;
	return inner;
}
