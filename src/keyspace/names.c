#include "keyspace/names.h"

const struct qless_str names_queue_suffixes[QUEUE_LISTS] = {
#define QUEUE_LIST_SUFFIX(NAME, ...) [QUEUE_##NAME] = STR_INIT(NAMES_QUEUE_##NAME),
	QUEUE_LIST_ROWS(QUEUE_LIST_SUFFIX)
#undef QUEUE_LIST_SUFFIX
};

const struct names_field_row names_fields[NAMES_FIELD_TOTAL] = {
#define NAMES_FIELD_ROW(suffix, name, of_job, exact) \
	[NAMES_FIELD_##suffix] = { STR_INIT(name), of_job, exact },
	NAMES_FIELDS(NAMES_FIELD_ROW)
#undef NAMES_FIELD_ROW
};

const struct names_field_row *names_find_field(struct qless_str name)
{
	for (int i = 0; i < NAMES_FIELD_TOTAL; i++) {
		if (str_equal(names_fields[i].name, name))
			return &names_fields[i];
	}
	return NULL;
}
