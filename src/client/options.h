/*
 * Options of a command line: rows of a table, and those that name a server.
 *
 * A program may have several tables. It offers an argument to one after the other:
 *
 *	taken = flags_take(own_rows, &own, argc, argv, &at, error);
 *	if (taken == 0)
 *		taken = client_options_take(&server, argc, argv, &at, error);
 *
 * "--name value", "--name=value", "-x value" and "-xvalue" are understood.
 */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client/settings.h"
#include "util/buf.h"

enum flag_type {
	FLAG_SET,     /* bool, without a value */
	FLAG_TEXT,    /* const char *, borrowed from the arguments */
	FLAG_COUNT,   /* uint64_t, from min to max */
	FLAG_SECONDS, /* double, from min to max */
	FLAG_CALL,    /* calls `set` with the value, or with NULL if there is none */
};

/* Returns false, and appends the reason to `error`, if the value is invalid. */
typedef bool flag_set_fn(void *into, const char *value, struct buf *error);

struct flag {
	const char *name; /* without "--"; NULL ends the table */
	char letter;	  /* or 0 */
	enum flag_type type;
	size_t field; /* offset in the struct that flags_take() fills */
	uint64_t min, max;
	const char *value; /* name of the value in the help; NULL: the option has none */
	const char *help;  /* NULL: another name of an option */
	flag_set_fn *set;  /* of FLAG_CALL */
};

/* Takes argv[*at], with its value, if it is an option of the table. Returns 1 and moves *at past
 * it, 0 if it is something else, or -1 if it is invalid, with the reason in `error`. */
int flags_take(const struct flag *rows, void *into, int argc, char *const *argv, int *at,
	       struct buf *error);

/* The row of an argument that is an option of the table, or NULL. */
const struct flag *flags_find(const struct flag *rows, const char *argument);

/* Prints a line for each option that has a help text. */
void flags_print(const struct flag *rows, FILE *to);

/* The server of a program, from its command line and environment. */
struct client_options {
	struct client_settings settings;
	bool ask_password;
	bool no_auth_warning;
	bool has_exposed_password; /* it is in the arguments, which other users can read */
	bool tls;
};

/* The environment variables with the password, and with the address. */
#define CLIENT_OPTIONS_AUTH "QLESSCLI_AUTH"
#define CLIENT_OPTIONS_URL  "QLESSD_URL"

/* Sets the defaults and what the environment says. Returns false if that is invalid, with the
 * reason in `error`. */
bool client_options_init(struct client_options *o, struct buf *error);
void client_options_done(struct client_options *o);

/* The table of the options that name a server. */
extern const struct flag client_options_rows[];

/* flags_take() with that table. */
int client_options_take(struct client_options *o, int argc, char *const *argv, int *at,
			struct buf *error);

/* After all options: asks for a password if that was requested, and warns about one among the
 * arguments. `program` begins the warning. Returns false if there is no terminal to ask. */
bool client_options_finish(struct client_options *o, const char *program, struct buf *error);

#endif
