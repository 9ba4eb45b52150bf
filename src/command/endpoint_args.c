#include "command/endpoint_args.h"

#include "util/num.h"

/* The arguments that QUEUES takes with its values. */
static size_t queues_width(const struct qless_str *args, size_t nargs, size_t i)
{
	int64_t count;

	if (nargs - i < 2 || !num_parse_i64(args[i + 1], &count) || count < 1 ||
	    (uint64_t)count > nargs - i - 2)
		return 0;
	return (size_t)count + 2;
}

size_t endpoint_option_width(const struct qless_str *args, size_t nargs, size_t i)
{
	static const struct {
		struct qless_str name;
		size_t width;
	} options[] = {
		{ STR_INIT("URL"), 2 },	    { STR_INIT("CONCURRENCY"), 2 },
		{ STR_INIT("TIMEOUT"), 2 }, { STR_INIT("HEADER"), 3 },
		{ STR_INIT("SECRET"), 2 },  { STR_INIT("CLASS"), 2 },
	};

	if (str_equal_nocase(args[i], STR("QUEUES")))
		return queues_width(args, nargs, i);
	for (size_t j = 0; j < sizeof options / sizeof *options; j++) {
		if (str_equal_nocase(args[i], options[j].name))
			return nargs - i >= options[j].width ? options[j].width : 0;
	}
	return 0;
}

size_t endpoint_queues_at(const struct qless_str *args, size_t nargs, size_t *ret_count)
{
	size_t width;

	for (size_t i = 1; i < nargs; i += width) {
		width = endpoint_option_width(args, nargs, i);
		if (width == 0)
			return 0;
		if (str_equal_nocase(args[i], STR("QUEUES"))) {
			*ret_count = width - 2;
			return i + 2;
		}
	}
	return 0;
}
