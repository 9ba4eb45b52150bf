#include "run/command.h"

#include <assert.h>

void command_begin(struct command *c, struct qless_str name)
{
	c->count = 0;
	c->number_count = 0;
	command_add(c, name);
}

void command_add(struct command *c, struct qless_str arg)
{
	assert(c->count < COMMAND_ARGS_MAX);
	c->args[c->count++] = arg;
}

void command_add_number(struct command *c, double number)
{
	char *text = c->numbers[c->number_count];

	assert(c->number_count < COMMAND_NUMBERS_MAX);
	c->number_count++;
	command_add(c, str_make(text, num_format_g17(text, number)));
}

void command_add_integer(struct command *c, int64_t number)
{
	char *text = c->numbers[c->number_count];

	assert(c->number_count < COMMAND_NUMBERS_MAX);
	c->number_count++;
	command_add(c, str_make(text, num_format_i64(text, number)));
}
