/*
 * Synopses: the text that says what arguments a command takes, and its meaning.
 *
 *	username		an argument
 *	ON			a word to be sent as it is: no lower-case letter in it
 *	'on'			the same in lower case
 *	TYPE name		a word and the argument that it announces
 *	[name]			may be left out
 *	a|b			one of several words; no blanks around the bar
 *	<MODULE name | NONE>	one of several runs of arguments; blanks around the bar
 *	name ...		once or more often
 *	[field value ...]	any number of pairs: within brackets, all that stands there
 *	[GET pattern] ...	any number of times, each with its word
 *	name [name ...]		another way to write "name ..."; a pair can be written so, too
 *
 * COMMAND DOCS gives clients the parsed form; people get the text itself.
 */
#ifndef COMMAND_SYNOPSIS_H
#define COMMAND_SYNOPSIS_H

#include <stdbool.h>

#include "util/str.h"

#define SYNOPSIS_MAX_ARGS 64

enum synopsis_type {
	SYNOPSIS_STRING,
	SYNOPSIS_INTEGER,
	SYNOPSIS_DOUBLE,
	SYNOPSIS_PATTERN,
	SYNOPSIS_TOKEN, /* a word alone */
	SYNOPSIS_ONEOF, /* has children, of which one is given */
	SYNOPSIS_BLOCK, /* has children, which are given one after the other */
};

struct synopsis_arg {
	enum synopsis_type type;
	struct qless_str name;	/* as written; empty if there are children */
	struct qless_str token; /* the word in front of it; empty if there is none */
	bool optional;
	bool multiple;	     /* may be repeated */
	bool multiple_token; /* with its word each time */
	int child;	     /* the first of its children, or -1 */
	int next;	     /* the one behind it in the same run, or -1 */
};

/* The slices point into the text. */
struct synopsis {
	struct synopsis_arg args[SYNOPSIS_MAX_ARGS];
	int count;
	int first; /* or -1 */
};

/* False if the text is not a synopsis or has too many arguments. */
bool synopsis_parse(const char *text, struct synopsis *ret_synopsis);

/* How many there are in the run that begins with `arg`. */
int synopsis_run_length(const struct synopsis *s, int arg);

#endif
