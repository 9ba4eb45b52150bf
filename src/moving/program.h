/*
 * Shared by qlessd-import and qlessd-export: reading all keys with a line of progress, detecting
 * changes while they were read, and options.
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
	PROGRAM_REFUSED = 1, /* nothing was moved, or the result differs */
	PROGRAM_TROUBLE = 2, /* wrong arguments, no connection, no disk */
};

struct program {
	const char *name;
	bool progress;
	int64_t started_us;
};

/* Print "name: " and the message to standard error. */
void program_complain(const struct program *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Seconds since the start of the program. */
double program_seconds(const struct program *p);

/* Read all keys of the peer into `keys`, which is empty. On failure prints the cause and returns
 * false. */
bool program_read(const struct program *p, struct peer *peer, const char *what, struct keys *keys);

/* Read all keys again and compare them. *ret_changed counts keys that are different, new or gone.
 * On failure prints the cause and returns false. */
bool program_read_again(const struct program *p, struct peer *peer, const char *what,
			const struct keys *keys, uint64_t *ret_changed);

/* Handles the value of the option with this letter. Returns false if the value is invalid. */
typedef bool program_set_option(void *arg, int option, const char *value);

/* Parses the options; 'v' is the version and 'h' the usage. Returns true if the program should run.
 * Otherwise messages have been printed, and *ret_result is the exit code. */
bool program_parse_args(const struct program *p, const struct option *options, const char *usage,
			program_set_option *set, void *arg, int argc, char **argv,
			enum program_result *ret_result);

/* Parses a number of the command line. */
bool program_parse(const char *text, uint64_t min, uint64_t max, unsigned *ret_value);

/* Sets the address from "host", "host:port", the path of a socket, or a URI. Returns false if it is
 * none of these. */
bool program_set_address(struct peer_options *options, const char *value);

/* Sets the password from the environment variable, unless there is one. An empty password is
 * none. */
void program_set_password(struct peer_options *options, const char *variable);

#endif
