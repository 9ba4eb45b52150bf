/*
 * Figures about the server: rows of figures.def, all read at once.
 */
#ifndef SERVER_FIGURES_H
#define SERVER_FIGURES_H

#include <stdbool.h>

#include "util/buf.h"

struct server;

/* In the order of figures.def. LOADING is shown while the state is loaded, LOG afterwards. */
enum figures_group {
	FIGURES_SERVER,
	FIGURES_CLIENTS,
	FIGURES_TLS,
	FIGURES_MEMORY,
	FIGURES_PERSISTENCE,
	FIGURES_LOADING,
	FIGURES_LOG,
	FIGURES_STATS,
	FIGURES_REPLICATION,
	FIGURES_CPU,
	FIGURES_CLUSTER,
	FIGURES_QUEUES,
	FIGURES_NONE,
};

/* Append the lines of one group for INFO. */
void figures_append_info(struct server *s, enum figures_group group, struct buf *out);
/* Append all groups for /metrics, each figure with its help and type. */
void figures_append_metrics(struct server *s, struct buf *out);

/* Append a line for INFO with a size such as "1.50M". */
void figures_append_human(struct buf *out, const char *name, double bytes);
/* Append a number for /metrics, and end its line. */
void figures_append_value(struct buf *out, double value);

#endif
