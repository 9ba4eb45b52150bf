/*
 * The state of the server as text: INFO, and the report that a signal asks for.
 */
#ifndef SERVER_INFO_H
#define SERVER_INFO_H

#include "server/server_int.h"

/* Append the sections with these names, each once. "default", "all" and "everything" stand for
 * several. Unknown names are ignored. Without names, appends "default". */
void info_append_sections(struct server *s, const struct qless_str *names, int count,
			  struct buf *out);
/* Returns whether these are names of the section about queues, among others. */
bool info_has_queues(const struct qless_str *names, int count);

/* Write all sections to the log, line by line. */
void info_report(struct server *s);

#endif
