/*
 * Building a request.
 */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "util/num.h"
#include "util/str.h"

/* Arguments of a request, without the names of queues. */
#define COMMAND_ARGS_MAX    24
#define COMMAND_NUMBERS_MAX 6

struct command {
	struct qless_str args[COMMAND_ARGS_MAX];
	size_t count;
	char numbers[COMMAND_NUMBERS_MAX][NUM_MAX];
	size_t number_count;
};

/* Begins with the name of a command. */
void command_begin(struct command *c, struct qless_str name);
/* The argument is borrowed. */
void command_add(struct command *c, struct qless_str arg);
void command_add_number(struct command *c, double number);
void command_add_integer(struct command *c, int64_t number);

#endif
