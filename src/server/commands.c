#include "server/commands.h"

#include "command/handlers.h"
#include "command/rows.h"
#include "command/table.h"

static const struct command rows[] = {
#define COMMAND(...) COMMAND_ROW(__VA_ARGS__)
#include "server/commands.def"
#undef COMMAND
};

static const struct command group_rows[] = {
#define COMMAND(...) COMMAND_ROW(__VA_ARGS__)
#include "server/group_commands.def"
#undef COMMAND
};

struct command_table *commands_new(bool has_group)
{
	const struct command_rows parts[] = {
		queue_command_rows,
		layer_command_rows,
		{ rows, sizeof rows / sizeof rows[0] },
		{ group_rows, has_group ? sizeof group_rows / sizeof group_rows[0] : 0 },
	};

	return command_table_new(parts, sizeof parts / sizeof parts[0]);
}
