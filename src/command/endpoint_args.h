/*
 * The arguments of ENDPOINT.SET.
 */
#ifndef COMMAND_ENDPOINT_ARGS_H
#define COMMAND_ENDPOINT_ARGS_H

#include <stddef.h>

#include "util/str.h"

/* Returns how many arguments the option at argument `i` takes with its values, or 0 if it is
 * unknown, or lacks a value. */
size_t endpoint_option_width(const struct qless_str *args, size_t nargs, size_t i);

/* Finds the queues: returns the index of the first one and their number. Returns 0 if the arguments
 * name none. */
size_t endpoint_queues_at(const struct qless_str *args, size_t nargs, size_t *ret_count);

#endif
