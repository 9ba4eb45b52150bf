/*
 * Holds the memory of a waiting job to a budget: resident memory with jemalloc, for jobs with ids
 * of 32 characters and 100 bytes of data.
 */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "qless.h"

#define JOBS	   300000
#define DATA_BYTES 100
#define JID_BYTES  32
#define BUDGET	   350

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

int main(void)
{
	char jid[JID_BYTES + 1], data[DATA_BYTES];
	struct qless_put put = { .worker = QLESS_STR("client"),
				 .queue = QLESS_STR("queue"),
				 .jid = { jid, JID_BYTES },
				 .klass = QLESS_STR("Klass"),
				 .data = { data, DATA_BYTES } };
	const char *version = "none";
	size_t len = sizeof version;
	struct qless *q = qless_new(NULL);
	size_t before, each;

	/* Huge pages, which some systems use for every process, would be resident as a whole. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mallctl("version", &version, &len, NULL, 0);
	memset(data, '1', sizeof data);
	before = resident_bytes();
	for (unsigned i = 0; i < JOBS; i++) {
		snprintf(jid, sizeof jid, "%08x%024x", i * 2654435761u, i);
		if (qless_put(q, 1700000000.0 + i, &put) != 0)
			return 1;
	}
	each = (resident_bytes() - before) / JOBS;
	printf("%zu bytes resident for each waiting job, budget %d, jemalloc %s\n", each, BUDGET,
	       version);
	qless_free(q);
	return before == 0 || each > BUDGET;
}
