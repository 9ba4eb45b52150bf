/*
 * Handles a request as the server does: finds its row, asks admission, and runs or refuses it.
 */
#ifndef TESTS_ADMIT_H
#define TESTS_ADMIT_H

#include "command/admission.h"
#include "command/table.h"

/* The request has everything but its row and its arguments, which are in `argv`. */
static inline void admit(struct request *req)
{
	int name_args;
	struct verdict verdict;

	req->row = command_table_lookup(req->env->table, req->argv, req->argc, &name_args);
	req->args = req->argv + name_args;
	req->nargs = (size_t)(req->argc - name_args);
	verdict = admission_decide(req);
	if (verdict.kind == VERDICT_RUN)
		req->row->handler(req);
	else
		admission_refuse(req, &verdict);
}

#endif
