/*
 * How many connections say by CLIENT SETINFO that they are of which client library.
 */
#ifndef SERVER_LIBRARIES_H
#define SERVER_LIBRARIES_H

#include <stddef.h>

struct server;

/* So many are told apart; the names come from clients, who may invent any number. */
#define LIBRARIES_MAX 32

struct libraries {
	unsigned count;
	struct {
		const char *name; /* of a connection: good until one is freed */
		size_t clients;
	} of[LIBRARIES_MAX];
};

void libraries_count(const struct server *s, struct libraries *ret_libraries);

#endif
