/*
 * Prints options.def for scripts/check-docs.sh: a line for each directive, with its name, when it
 * can be changed, and its default; then the lines of a file with all defaults. Tabs separate the
 * fields.
 */
#include <stdio.h>

#include "config/config_int.h"

int main(void)
{
	struct config defaults;
	struct buf lines = BUF_INIT(BUF_NO_MAX);

	config_init(&defaults);
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		const struct config_option *option = &config_options[opt];
		bool is_reloadable = (option->flags & CONFIG_FLAG_RELOADABLE) != 0;
		struct qless_str rest, line;

		printf("option\t%s\t%s\t%s\n", option->name, is_reloadable ? "any" : "start",
		       option->def);
		buf_clear(&lines);
		config_format_lines(&defaults, opt, &lines);
		rest = buf_str(&lines);
		while (config_next_line(&rest, &line))
			printf("line\t%.*s\n", (int)line.len, line.ptr);
	}
	buf_done(&lines);
	config_done(&defaults);
	return 0;
}
