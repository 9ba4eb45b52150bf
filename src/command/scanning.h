/*
 * Long listings of names: work that visits every queue, worker, group or tag of tables.
 *
 * A name that exists all the time is visited exactly once. One that comes or goes meanwhile may be
 * missing. The order depends on the hash seed.
 */
#ifndef COMMAND_SCANNING_H
#define COMMAND_SCANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/work.h"
#include "engine/view.h"

#define SCANNING_TABLES 2

struct scanning;

struct scanning_form {
	/* An aggregate of what the first table has, or REPLY_TEXT for a text in scratch->json. */
	enum reply_type type;
	unsigned table_count;
	enum view_table tables[SCANNING_TABLES];
	/* Visits a name of table `sc->table`. */
	void (*visit)(struct scanning *sc, struct request *req, struct qless_str name);
	/* Write what precedes the aggregate, what it begins with, and what follows it. With
	 * REPLY_TEXT, the end is a part of the text. NULL: none. */
	void (*begin)(struct scanning *sc, struct request *req);
	void (*begin_values)(struct scanning *sc, struct request *req);
	void (*end)(struct scanning *sc, struct request *req);
};

/* A form may have a struct of its own that begins with this one. */
struct scanning {
	struct work work;
	const struct scanning_form *form;
	unsigned table;
	uint32_t cursor;
	bool has_begun;
	size_t values; /* of the aggregate, or elements of the text; for the form to count */
	struct reply_deferred deferred;
};

/* Makes a scanning of `size` bytes, which are zero after the struct. */
struct scanning *scanning_new(const struct scanning_form *form, size_t size);
/* Writes the reply, now or over several turns. Takes the scanning. */
void scanning_begin(struct request *req, struct scanning *sc);

#endif
