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

/* Loaded scripts. Every released version of every client would fit. */
#define SCRIPTS_MAX 1024
/* A SHA-1 in hexadecimal. */
#define SCRIPT_SHA_BYTES 40
/* Options of one script that are kept; known forks have two. */
#define SCRIPT_OPTIONS_MAX 16

struct script {
	struct hash_node node;
	const struct dialect *dialect;
	char sha[SCRIPT_SHA_BYTES]; /* lower case */
	/* The options that the script's `put` knows and qlessd does not. */
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

/* Called after every change, so that the log can record it. Each may be NULL. */
struct scripts_hooks {
	void (*added)(void *arg, const struct script *script);
	void (*cleared)(void *arg);
	void *arg;
};

struct scripts;

/* Copies the hooks. NULL means none. */
struct scripts *scripts_new(uint64_t hash_seed, const struct scripts_hooks *hooks);
void scripts_free(struct scripts *s);

/* Computes the SHA-1 of a text. Writes no NUL. */
void scripts_compute_sha(struct qless_str text, char ret_sha[SCRIPT_SHA_BYTES]);

/* Returns the script with that SHA-1, in upper or lower case, or NULL. Finds the script of the last
 * call fastest. */
const struct script *scripts_find(struct scripts *s, struct qless_str sha);

/* Adds a script, or finds it if it exists. Copies the first SCRIPT_OPTIONS_MAX options. Returns
 * NULL if there are SCRIPTS_MAX scripts already, or if `sha` is not a SHA-1. */
const struct script *scripts_add(struct scripts *s, struct qless_str sha,
				 const struct dialect *dialect, const struct qless_str *options,
				 size_t option_count);

/* Forgets all scripts. */
void scripts_clear(struct scripts *s);

size_t scripts_count(const struct scripts *s);
/* Visits all scripts, in no particular order. */
void scripts_each(const struct scripts *s, void (*visit)(void *arg, const struct script *script),
		  void *arg);

#endif
