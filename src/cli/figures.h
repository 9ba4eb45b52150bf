/*
 * Figures of the server and of its queues, from INFO.
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

/* The name of a queue of the database in use, and its "field=value" pairs as INFO writes them. */
struct figures_queue {
	struct qless_str name; /* decoded */
	struct qless_str fields;
};

struct figures {
	struct buf text; /* the reply to INFO */
	struct buf names;
	struct figures_queue *queues;
	size_t count;
	size_t cap;
};

/* Reads the sections of INFO that `sections` names, separated by blanks. Without permission, and if
 * `must_succeed` is false, the figures are empty. Returns false after a message. */
bool figures_read(struct cli *cli, struct figures *f, const char *sections, bool must_succeed);
/* Reads the figures from a reply to INFO. */
void figures_parse(struct cli *cli, struct figures *f, struct qless_str reply);
void figures_done(struct figures *f);

/* A figure of the server, or an empty text. */
struct qless_str figures_text(const struct figures *f, const char *name);
double figures_number(const struct figures *f, const char *name);

/* Returns NULL if there is no such queue. */
const struct figures_queue *figures_find(const struct figures *f, struct qless_str queue);
/* NAN if the queue has no such figure, or is NULL. */
double figures_of(const struct figures_queue *queue, const char *name);

#endif
