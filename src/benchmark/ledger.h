/*
 * The books: which jobs have been put and which have been given out, to find those that were given
 * out twice or never.
 *
 * Jobs are numbered. A jid is a hash of seed and number, so that jids are spread as those of real
 * clients, with the number behind it, so that it can be found again.
 */
#ifndef BENCHMARK_LEDGER_H
#define BENCHMARK_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

#define LEDGER_JID_BYTES ((size_t)32)

struct ledger {
	uint64_t seed;
	uint64_t next;		  /* number of the next job */
	int64_t waiting, running; /* what the server should have at the moment */
	int64_t scheduled;	  /* the same, of those that are never due */
	uint64_t *popped;	  /* a bit for each job */
	size_t words;		  /* of `popped` */
};

enum ledger_result {
	LEDGER_GOOD,
	LEDGER_TWICE,	/* the job is with some worker already, or done */
	LEDGER_UNKNOWN, /* not one of ours */
};

void ledger_init(struct ledger *l, uint64_t seed);
void ledger_done(struct ledger *l);

/* splitmix64: a different number for each, and none to be guessed from another. */
uint64_t ledger_mix(uint64_t number);

/* The jid of a job, without a NUL. */
void ledger_write_jid(const struct ledger *l, uint64_t number, char to[LEDGER_JID_BYTES]);
/* The number of a job; false if no job so far has this jid. */
bool ledger_find(const struct ledger *l, struct qless_str jid, uint64_t *ret_number);

/* A job has been given to a worker. */
enum ledger_result ledger_pop(struct ledger *l, struct qless_str jid);
/* The worker has given it back. */
void ledger_give_back(struct ledger *l, struct qless_str jid);

#endif
