/*
 * The scripts that clients have loaded: which SHA-1 stands for which kind.
 *
 * The text of a script is not kept. Once it has been recognised, all that matters is that a call by
 * its SHA-1 is one of that kind.
 */
#ifndef COMMAND_SCRIPTS_H
#define COMMAND_SCRIPTS_H

#include <stdint.h>

#include "command/recognise.h"
#include "util/hash.h"
#include "util/str.h"

/* Known at once. Every version of every client there ever was would fit. */
#define SCRIPTS_MAX 1024
/* A SHA-1 in hexadecimal. */
#define SCRIPT_SHA_BYTES 40

struct script {
	struct hash_node node;
	enum script_kind kind;
	char sha[SCRIPT_SHA_BYTES]; /* lower case */
};

static inline struct qless_str script_sha(const struct script *script)
{
	return str_make(script->sha, SCRIPT_SHA_BYTES);
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

/* Remember one. It is there already, or has been added; NULL if there are SCRIPTS_MAX of them, or
 * if `sha` is no SHA-1. */
const struct script *scripts_add(struct scripts *s, struct qless_str sha, enum script_kind kind);

/* Forget all. */
void scripts_clear(struct scripts *s);

size_t scripts_count(const struct scripts *s);
/* Visit all, in no order anybody should rely on. */
void scripts_each(const struct scripts *s, void (*visit)(void *arg, const struct script *script),
		  void *arg);

#endif
