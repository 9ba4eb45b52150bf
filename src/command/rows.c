#include "command/rows.h"

#include <stdlib.h>

#include "command/classic_int.h"
#include "command/handlers.h"
#include "command/native_endpoint.h"
#include "command/objects.h"

#define FORMS_ALL    (1U << REQUEST_NATIVE | 1U << REQUEST_QLESS | 1U << REQUEST_SCRIPT)
#define FORMS_OURS   (1U << REQUEST_NATIVE | 1U << REQUEST_QLESS)
#define FORMS_NATIVE (1U << REQUEST_NATIVE)

#define COUNT_OF(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct command queue_rows[] = {
#define QUEUE(name_, handler_, run_, decode_, objects_, forms_, min_, max_, flags_, group_, \
	      arguments_, summary_, complexity_)                                            \
	{ .name = name_,                                                                    \
	  .handler = handler_,                                                              \
	  .run = run_,                                                                      \
	  .decode = decode_,                                                                \
	  .objects = objects_,                                                              \
	  .forms = forms_,                                                                  \
	  .min_args = min_,                                                                 \
	  .max_args = max_,                                                                 \
	  .flags = flags_,                                                                  \
	  .categories = CAT_QLESS,                                                          \
	  .group = group_,                                                                  \
	  .since = "0.1.0",                                                                 \
	  .arguments = arguments_,                                                          \
	  .summary = summary_,                                                              \
	  .complexity = complexity_ },
#include "command/queue_commands.def"
#undef QUEUE
};

static const struct command layer_rows[] = {
#define COMMAND(...) COMMAND_ROW(__VA_ARGS__)
#include "command/commands.def"
#undef COMMAND
};

const struct command_rows queue_command_rows = { queue_rows, COUNT_OF(queue_rows) };
const struct command_rows layer_command_rows = { layer_rows, COUNT_OF(layer_rows) };

static int compare(const void *key, const void *row)
{
	return str_compare(*(const struct qless_str *)key,
			   str_from(((const struct command *)row)->name));
}

const struct command *queue_command_find(struct qless_str name)
{
	return bsearch(&name, queue_rows, COUNT_OF(queue_rows), sizeof queue_rows[0], compare);
}
