/*
 * Holds the memory of a waiting job to a budget: resident memory with jemalloc, for jobs with ids
 * of 32 characters and 100 bytes of data. A limit of a job, and a name that limits jobs, have
 * budgets of their own.
 */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "qless.h"

#define JOBS	   300000
#define DATA_BYTES 100
#define JID_BYTES  32
#define NAME_BYTES 32
#define BUDGET	   350

/* Names of limits: few, which hardly count, or one for each job. */
#define FEW_NAMES 50

/* Bytes for the limit of a job, and for the limit itself while it has jobs in one queue. */
#define LIMIT_BUDGET 64
#define NAME_BUDGET  800

/* Counts page by page, because other figures of the kernel are off by some pages for each
 * processor. */
static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kilobytes = 0;
	char line[200];

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Rss: %lu", &kilobytes) != 1)
		;
	fclose(file);
	return kilobytes * 1024;
}

/* Bytes for each of the jobs that are put into an empty engine, with limits of that many names; 0
 * if a put fails. */
static size_t measure(struct qless *q, unsigned names)
{
	char jid[JID_BYTES + 1], data[DATA_BYTES], name[NAME_BYTES];
	struct qless_str limit = { name, 0 };
	struct qless_put put = { .worker = QLESS_STR("client"),
				 .queue = QLESS_STR("queue"),
				 .jid = { jid, JID_BYTES },
				 .klass = QLESS_STR("Klass"),
				 .data = { data, DATA_BYTES },
				 .has_limits = names > 0,
				 .limits = &limit,
				 .limit_count = names > 0 };
	size_t before = resident_bytes();

	memset(data, '1', sizeof data);
	for (unsigned i = 0; i < JOBS; i++) {
		snprintf(jid, sizeof jid, "%08x%024x", i * 2654435761u, i);
		if (names > 0)
			limit.len = (size_t)snprintf(name, sizeof name, "domain-%u.example.com",
						     i % names);
		if (qless_put(q, 1700000000.0 + i, &put) != 0)
			return 0;
	}
	return before > 0 ? (resident_bytes() - before) / JOBS : 0;
}

int main(void)
{
	/* All are freed at the end, so that none is in memory that another one freed. */
	struct qless *plain = qless_new(NULL), *few = qless_new(NULL), *many = qless_new(NULL);
	const char *version = "none";
	size_t len = sizeof version;
	size_t each, limit, name;

	/* Huge pages, which some systems use for every process, would be resident as a whole. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mallctl("version", &version, &len, NULL, 0);
	each = measure(plain, 0);
	limit = measure(few, FEW_NAMES) - each;
	name = measure(many, JOBS) - each - limit;
	printf("%zu bytes resident for each waiting job, budget %d, jemalloc %s\n", each, BUDGET,
	       version);
	printf("%zu bytes more with a limit, budget %d\n", limit, LIMIT_BUDGET);
	printf("%zu bytes for each name of a limit, budget %d\n", name, NAME_BUDGET);
	qless_free(plain);
	qless_free(few);
	qless_free(many);
	/* A failed put wraps the differences around. */
	return each == 0 || each > BUDGET || limit > LIMIT_BUDGET || name > NAME_BUDGET;
}
