/*
 * Holds the memory of a waiting job to a budget: resident memory with jemalloc, for jobs with ids
 * of 32 characters and 100 bytes of data. Jobs with a limit may take more, by a budget of its own.
 */
#include <jemalloc/jemalloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "qless.h"

#define JOBS	   300000
#define DATA_BYTES 100
#define JID_BYTES  32
#define NAMES	   1000 /* of limits */
#define NAME_BYTES 32
#define BUDGET	   350

/* Bytes for the limit of a job. */
#define LIMIT_BUDGET 80

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

/* Bytes for each of the jobs that are put into an empty engine; 0 if a put fails. */
static size_t measure(struct qless *q, bool is_limited)
{
	char jid[JID_BYTES + 1], data[DATA_BYTES], name[NAME_BYTES];
	struct qless_str limit = { name, 0 };
	struct qless_put put = { .worker = QLESS_STR("client"),
				 .queue = QLESS_STR("queue"),
				 .jid = { jid, JID_BYTES },
				 .klass = QLESS_STR("Klass"),
				 .data = { data, DATA_BYTES },
				 .has_limits = is_limited,
				 .limits = &limit,
				 .limit_count = is_limited };
	size_t before = resident_bytes();

	memset(data, '1', sizeof data);
	for (unsigned i = 0; i < JOBS; i++) {
		snprintf(jid, sizeof jid, "%08x%024x", i * 2654435761u, i);
		limit.len = (size_t)snprintf(name, sizeof name, "domain-%u.example.com", i % NAMES);
		if (qless_put(q, 1700000000.0 + i, &put) != 0)
			return 0;
	}
	return before > 0 ? (resident_bytes() - before) / JOBS : 0;
}

int main(void)
{
	/* Both are freed at the end, so that neither is in memory that the other one freed. */
	struct qless *plain = qless_new(NULL), *limited = qless_new(NULL);
	const char *version = "none";
	size_t len = sizeof version;
	size_t each, with_limit;

	/* Huge pages, which some systems use for every process, would be resident as a whole. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mallctl("version", &version, &len, NULL, 0);
	each = measure(plain, false);
	with_limit = measure(limited, true);
	printf("%zu bytes resident for each waiting job, budget %d, jemalloc %s\n", each, BUDGET,
	       version);
	printf("%zu bytes resident for each waiting job with a limit, budget %d more\n", with_limit,
	       LIMIT_BUDGET);
	qless_free(plain);
	qless_free(limited);
	return each == 0 || each > BUDGET || with_limit == 0 || with_limit > each + LIMIT_BUDGET;
}
