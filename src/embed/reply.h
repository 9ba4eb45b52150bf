/*
 * Replies as the library shows them, see include/qless_store.h.
 */
#ifndef EMBED_REPLY_H
#define EMBED_REPLY_H

#include "client/client_reply.h"
#include "qless_store.h"

/* The only member, so an array of the one is an array of the other. */
struct qless_reply {
	struct client_reply tree;
};

/* Takes the tree. */
struct qless_reply *reply_take(struct client_reply *tree);

#endif
