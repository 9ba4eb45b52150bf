#include "moving/exportable.h"

#include <stdlib.h>

#include "keyspace/names.h"

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
