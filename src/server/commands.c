#include "server/commands.h"

#include "command/handlers.h"

const struct command server_commands[] = {
#define COMMAND(name_, handler_, min_, max_, flags_, categories_, group_, since_, arguments_, \
		summary_, complexity_)                                                        \
	{ .name = name_,                                                                      \
	  .handler = handler_,                                                                \
	  .min_args = min_,                                                                   \
	  .max_args = max_,                                                                   \
	  .flags = flags_,                                                                    \
	  .categories = categories_,                                                          \
	  .group = group_,                                                                    \
	  .since = since_,                                                                    \
	  .arguments = arguments_,                                                            \
	  .summary = summary_,                                                                \
	  .complexity = complexity_ },
#include "command/commands.def"
#undef COMMAND
};

const int server_command_count = (int)(sizeof server_commands / sizeof server_commands[0]);
