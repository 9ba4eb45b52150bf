/*
 * The ledger: which jobs were put and which were popped, to find jobs that are popped twice or
 * never.
 *
 * Jobs have numbers. A jid is a hash of the seed and the number, followed by the number. So jids
 * are spread like those of real clients, and the number of a job is part of its jid.
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
	int64_t waiting, running; /* jobs that the server should have now */
	int64_t scheduled;	  /* jobs that the server should have and that are never due */
	uint64_t *popped;	  /* a bit for each job */
	size_t words;		  /* of `popped` */
};

enum ledger_result {
	LEDGER_GOOD,
	LEDGER_TWICE,	/* the job is held by a worker, or complete */
	LEDGER_UNKNOWN, /* not a job of this run */
};

void ledger_init(struct ledger *l, uint64_t seed);
void ledger_done(struct ledger *l);

/* splitmix64: different numbers have different results, which do not reveal each other. */
uint64_t ledger_mix(uint64_t number);

/* Writes the jid of a job, without a NUL. */
void ledger_write_jid(const struct ledger *l, uint64_t number, char to[LEDGER_JID_BYTES]);
/* The number of the job with this jid. Returns false if there is no such job yet. */
bool ledger_find(const struct ledger *l, struct qless_str jid, uint64_t *ret_number);

/* Records that a job was popped. */
enum ledger_result ledger_pop(struct ledger *l, struct qless_str jid);
/* Records that its worker has returned the job. */
void ledger_give_back(struct ledger *l, struct qless_str jid);

#endif
