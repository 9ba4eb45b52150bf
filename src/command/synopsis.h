/*
 * Synopses: texts that describe the arguments of a command.
 *
 *	username		an argument
 *	ON			a literal word, in upper case
 *	'on'			a literal word, in lower case
 *	TYPE name		a literal word and its argument
 *	[name]			an optional argument
 *	a|b			one of several words; no blanks around the bar
 *	<MODULE name | NONE>	one of several runs of arguments; blanks around the bar
 *	name ...		one or more times
 *	[field value ...]	any number of pairs: in brackets, "..." repeats everything
 *	[GET pattern] ...	any number of times, each time with its word
 *	name [name ...]		means "name ..."; works for pairs, too
 *
 * Clients get the parsed form from COMMAND DOCS, and people get the text.
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
	SYNOPSIS_TOKEN, /* a literal word */
	SYNOPSIS_ONEOF, /* one of its children */
	SYNOPSIS_BLOCK, /* all of its children, in their order */
};

struct synopsis_arg {
	enum synopsis_type type;
	struct qless_str name;	/* as written; empty if it has children */
	struct qless_str token; /* the literal word before it; empty if there is none */
	bool optional;
	bool multiple;	     /* may be repeated */
	bool multiple_token; /* repeated with its word */
	int child;	     /* index of its first child, or -1 */
	int next;	     /* index of the next argument in the same run, or -1 */
};

/* A parsed synopsis. Its slices point into the text. */
struct synopsis {
	struct synopsis_arg args[SYNOPSIS_MAX_ARGS];
	int count;
	int first; /* or -1 */
};

/* Returns false if the text is not a synopsis, or has more than SYNOPSIS_MAX_ARGS arguments. */
bool synopsis_parse(const char *text, struct synopsis *ret_synopsis);

/* Returns the number of arguments in the run that begins with `arg`. */
int synopsis_run_length(const struct synopsis *s, int arg);

#endif
