#include "command/options.h"

#include "command/classic_int.h"
#include "util/nearest.h"

int options_fail_unknown(struct request *req, struct qless_str name,
			 const struct option_slot *slots, size_t count)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < count; i++)
		nearest_try(&nearest, slots[i].name);
	if (nearest.found.ptr == NULL)
		return request_fail(req, QLESS_EBADARG, "Unknown option \"%S\"", name);
	return request_fail(req, QLESS_EBADARG, "Unknown option \"%S\"; did you mean \"%S\"?", name,
			    nearest.found);
}

int options_fail_repeated(struct request *req, struct qless_str name)
{
	return request_fail(req, QLESS_EBADARG, "Option \"%S\" is repeated", name);
}

int options_fail_without_value(struct request *req, struct qless_str name)
{
	return request_fail(req, QLESS_EBADARG, "Option \"%S\" has no value", name);
}

static const struct option_slot *find_slot(struct qless_str name, const struct option_slot *slots,
					   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(slots[i].name, name))
			return &slots[i];
	}
	return NULL;
}

static int fail_values(struct request *req, struct qless_str name, const struct option_slot *slot,
		       size_t found)
{
	if (slot->values == 1)
		return options_fail_without_value(req, name);
	return request_fail(req, QLESS_EBADARG, "Option \"%S\" must have %g values; found %g", name,
			    (double)slot->values, (double)found);
}

int options_read(struct request *req, size_t first, size_t end, const struct option_slot *slots,
		 size_t count)
{
	size_t i = first;

	while (i < end) {
		struct qless_str name = req->args[i];
		const struct option_slot *slot = find_slot(name, slots, count);

		if (slot == NULL)
			return options_fail_unknown(req, name, slots, count);
		if (*slot->value != NULL)
			return options_fail_repeated(req, name);
		if (end - i <= slot->values)
			return fail_values(req, name, slot, end - i - 1);
		*slot->value = &req->args[slot->values > 0 ? i + 1 : i];
		i += 1 + slot->values;
	}
	return 0;
}
