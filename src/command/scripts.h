/*
 * The scripts that clients have loaded, by SHA-1.
 *
 * The text of a script is not kept. A call by its SHA-1 needs the dialect that was recognised, and
 * the options of `put` that the script knows and qlessd does not.
 */
#ifndef COMMAND_SCRIPTS_H
#define COMMAND_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/dialect.h"
#include "util/hash.h"
#include "util/str.h"

/* Known at once. Every version of every client there ever was would fit. */
#define SCRIPTS_MAX 1024
/* A SHA-1 in hexadecimal. */
#define SCRIPT_SHA_BYTES 40
/* Options of one script that are remembered; forks have two. */
#define SCRIPT_OPTIONS_MAX 16

struct script {
	struct hash_node node;
	const struct dialect *dialect;
	char sha[SCRIPT_SHA_BYTES]; /* lower case */
	/* Of `put` in the script, which qlessd lacks. */
	struct qless_str options[SCRIPT_OPTIONS_MAX];
	size_t option_count;
	char text[]; /* of the options */
};

static inline struct qless_str script_sha(const struct script *script)
{
	return str_make(script->sha, SCRIPT_SHA_BYTES);
}

static inline bool script_has_option(const struct script *script, struct qless_str name)
{
	for (size_t i = 0; i < script->option_count; i++) {
		if (str_equal(script->options[i], name))
			return true;
	}
	return false;
}

/* Told of every change, for a log to record; each may be NULL. */
struct scripts_hooks {
	void (*added)(void *arg, const struct script *script);
	void (*cleared)(void *arg);
	void *arg;
};

struct scripts;

/* Copies the hooks, which may be NULL. */
struct scripts *scripts_new(uint64_t hash_seed, const struct scripts_hooks *hooks);
void scripts_free(struct scripts *s);

/* The SHA-1 of a text, without a NUL behind it. */
void scripts_compute_sha(struct qless_str text, char ret_sha[SCRIPT_SHA_BYTES]);

/* The script with that SHA-1, in upper or lower case; NULL if there is none. Quickest for the one
 * that was found last. */
const struct script *scripts_find(struct scripts *s, struct qless_str sha);

/* Remember a script, or find it. Copies the options, the first SCRIPT_OPTIONS_MAX of them. NULL if
 * there are SCRIPTS_MAX scripts, or if `sha` is no SHA-1. */
const struct script *scripts_add(struct scripts *s, struct qless_str sha,
				 const struct dialect *dialect, const struct qless_str *options,
				 size_t option_count);

/* Forget all. */
void scripts_clear(struct scripts *s);

size_t scripts_count(const struct scripts *s);
/* Visit all, in no order anybody should rely on. */
void scripts_each(const struct scripts *s, void (*visit)(void *arg, const struct script *script),
		  void *arg);

#endif
