#include "moving/exportable.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "keyspace/names.h"
#include "util/json_read.h"
#include "util/mem.h"

static const struct {
	const char *name;
	const char *fate;
} members[] = {
	{ "unique", "the keys are not moved" },
	{ "backoff", "it is not moved" },
	{ "runtime", "it is not moved" },
	{ "retain", "it is not moved" },
	{ "raw", "the data becomes JSON with the bytes in base64" },
	{ "started", "the start is not moved" },
	{ "progress", "it is not moved" },
	{ "note", "it is not moved" },
	{ "meta", "the fields are not moved" },
	{ "result", "it is not moved" },
	{ "error", "it is not moved" },
};

static_assert(sizeof members / sizeof *members == EXPORTABLE_MEMBERS, "a counter for each");

size_t exportable_count_schedules(const struct keys *keys, struct qless_str *ret_first)
{
	size_t count, schedules = 0;
	struct key **sorted = keys_sorted(keys, &count);
	struct qless_str jid;

	for (size_t i = 0; i < count; i++) {
		if (sorted[i]->type != KEY_HASH ||
		    !str_strip_prefix(sorted[i]->name, STR(NAMES_RECUR), &jid) ||
		    key_field(sorted[i], NAMES_FIELD(CRON)).ptr == NULL)
			continue;
		if (schedules++ == 0)
			*ret_first = jid;
	}
	free(sorted);
	return schedules;
}

struct qless_str *exportable_find_jids(const struct keys *keys, bool recurring, size_t *ret_count)
{
	struct qless_str prefix = recurring ? STR(NAMES_RECUR) : STR(NAMES_JOB);
	size_t count, found = 0;
	struct key **sorted = keys_sorted(keys, &count);
	struct qless_str *jids = mem_realloc_array(NULL, count + 1, sizeof *jids);

	for (size_t i = 0; i < count; i++) {
		/* The other keys of a job are lists and sets. */
		if (sorted[i]->type == KEY_HASH &&
		    str_strip_prefix(sorted[i]->name, prefix, &jids[found]))
			found++;
	}
	free(sorted);
	*ret_count = found;
	return jids;
}

void exportable_note(struct exportable_losses *losses, struct qless_str json)
{
	struct qless_str object, value;

	if (!json_read_check(json, &object))
		return;
	for (size_t i = 0; i < EXPORTABLE_MEMBERS; i++)
		losses->counts[i] += json_read_find(object, members[i].name, &value);
}

void exportable_print(const struct exportable_losses *losses, FILE *to)
{
	bool is_first = true;

	for (size_t i = 0; i < EXPORTABLE_MEMBERS; i++) {
		if (losses->counts[i] == 0)
			continue;
		if (is_first)
			fputs("warning: jobs have what qless lacks, by kind and number of jobs:\n",
			      to);
		is_first = false;
		fprintf(to, "  %s: %" PRIu64 "; %s\n", members[i].name, losses->counts[i],
			members[i].fate);
	}
}
