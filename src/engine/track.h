/*
 * Tracked jids: the events of their jobs are published.
 */
#ifndef ENGINE_TRACK_H
#define ENGINE_TRACK_H

#include "qless.h"
#include "util/hash.h"
#include "util/skiplist.h"
#include "util/str.h"

struct tracked {
	struct hash_node hash; /* aux: length of the jid */
	struct skipnode node;  /* score: when it was tracked. The jid follows the levels */
};

struct tracked *tracked_find(const struct qless *q, struct qless_str jid);
/* Track a jid that is not tracked. The caller sets the flag of the job, if there is one. */
void tracked_add(struct qless *q, struct qless_str jid, double now);
struct qless_str tracked_jid(const struct tracked *tracked);
struct qless_str tracked_member(const struct skipnode *node);
struct qless_str tracked_key(const struct hash_node *node);
void tracked_free(struct tracked *tracked);

#endif
