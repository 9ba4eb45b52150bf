/*
 * What qlessd-import and qlessd-export have in common: reading all keys with a line of progress,
 * and telling whether what was read changed meanwhile.
 */
#ifndef MOVING_PROGRAM_H
#define MOVING_PROGRAM_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "moving/keys.h"
#include "moving/peer.h"

/* Exit codes. */
enum program_result {
	PROGRAM_DONE = 0,
	PROGRAM_REFUSED = 1, /* nothing was moved, or not what should be there */
	PROGRAM_TROUBLE = 2, /* wrong arguments, no connection, no disk */
};

struct program {
	const char *name;
	bool progress;
	int64_t started_us;
};

/* "name: " and the sentence, to standard error. */
void program_complain(const struct program *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Seconds since it started. */
double program_seconds(const struct program *p);

/* Read all keys of the peer into `keys`, which is empty. False, having said why, if that fails. */
bool program_read(const struct program *p, struct peer *peer, const char *what, struct keys *keys);

/* Read all keys once more and compare them with what they were. *ret_changed counts those that are
 * others, new or gone. False, having said why, if reading fails. */
bool program_read_again(const struct program *p, struct peer *peer, const char *what,
			const struct keys *keys, uint64_t *ret_changed);

/* Take the value of an option, whose letter is in the table; false if it is not possible. */
typedef bool program_set_option(void *arg, int option, const char *value);

/* Go through the options, of which 'v' is the version and 'h' the usage. True if there is something
 * to do; otherwise *ret_result says how it ends, and what was wrong has been said. */
bool program_parse_args(const struct program *p, const struct option *options, const char *usage,
			program_set_option *set, void *arg, int argc, char **argv,
			enum program_result *ret_result);

/* A number of the command line. */
bool program_parse(const char *text, uint64_t min, uint64_t max, unsigned *ret_value);

/* The value of the variable, unless `given` is not NULL. */
const char *program_password(const char *given, const char *variable);

#endif
