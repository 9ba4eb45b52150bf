#include "embed/members.h"

#include <string.h>

#include "embed/failure.h"

int members_read(void *to, size_t to_size, const void *from, struct qless_store_error *error)
{
	const char *bytes = from;
	size_t size = to_size;

	memset(to, 0, to_size);
	if (from == NULL)
		return 0;
	memcpy(&size, from, sizeof size);
	if (size < sizeof size)
		return failure_set(error, QLESS_STORE_EARGUMENT,
				   "the member `size` of the options is %zu: set it to sizeof",
				   size);
	for (size_t i = to_size; i < size; i++) {
		if (bytes[i] != 0)
			return failure_set(error, QLESS_STORE_EARGUMENT,
					   "the options have a member that version %s of the "
					   "library does not know",
					   qless_store_version());
	}
	memcpy(to, from, size < to_size ? size : to_size);
	return 0;
}
