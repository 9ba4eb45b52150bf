/*
 * Walks over the jobs of a queue with QUEUE.JOBS, one page at a time.
 */
#ifndef CLI_PAGING_H
#define CLI_PAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

/* Called with the fields of a job, which are gone afterwards. */
typedef void paging_job_fn(void *arg, const struct client_reply *fields);
/* Called after each page. */
typedef void paging_page_fn(void *arg);

struct paging {
	const char *queue;
	const char *states; /* separated by commas; NULL: all */
	const char *klass;  /* only jobs of this class, or NULL */
	const char *fields; /* of QUEUE.JOBS, separated by blanks; with klass if that is given */
	uint64_t limit;	    /* jobs at most; 0: all */
	paging_job_fn *each;
	paging_page_fn *end_page; /* or NULL */
	void *arg;
};

/* Returns false after a message. */
bool paging_run(struct cli *cli, const struct paging *paging);

/* Adds the option STATE with states that commas separate, unless there are none. */
void paging_add_states(struct query *q, const char *states);

/* The text of a field of a job, with every byte as it is. */
struct qless_str paging_field(const struct client_reply *fields, const char *name);

#endif
