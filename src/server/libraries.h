/*
 * Counts connections by the client library that they name with CLIENT SETINFO.
 */
#ifndef SERVER_LIBRARIES_H
#define SERVER_LIBRARIES_H

#include <stddef.h>

struct server;

/* Number of libraries that are counted separately. Clients choose the names, and could invent
 * any number. */
#define LIBRARIES_MAX 32

struct libraries {
	unsigned count;
	struct {
		const char *name; /* belongs to a connection; valid until one is freed */
		size_t clients;
	} of[LIBRARIES_MAX];
};

void libraries_count(const struct server *s, struct libraries *ret_libraries);

#endif
