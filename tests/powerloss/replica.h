/*
 * A replica: the whole state that records lead to, with scripts and users, and its digest.
 */
#ifndef POWERLOSS_REPLICA_H
#define POWERLOSS_REPLICA_H

#include <stddef.h>
#include <stdint.h>

#include "command/replay.h"
#include "journal/recover.h"
#include "stored/stored.h"
#include "tokens.h"
#include "util/buf.h"

struct replica_user;

struct replica {
	struct stored stored;
	struct replay replay;
	struct replica_user *users; /* that are not as configured */
	size_t user_count, user_cap;
};

void replica_init(struct replica *r);
void replica_done(struct replica *r);

/* Recovery fills the replica through this target. */
struct recovery_target replica_target(struct replica *r);

/* Apply the operations in the payload of a record. Returns a negative code, with a sentence in
 * `ret_error`, if that is impossible. */
int replica_apply(struct replica *r, struct qless_str payload, struct buf *ret_error);

/* Two replicas with the same state have the same digest. */
uint64_t replica_digest(const struct replica *r);

/* Call `each` with every token in the state. */
void replica_find_tokens(const struct replica *r, token_fn *each, void *arg);

/* Append a line for each inconsistency. Returns their number. */
size_t replica_check(const struct replica *r, struct buf *ret_findings);

#endif
