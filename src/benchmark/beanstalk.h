/*
 * The protocol of beanstalkd, as far as a benchmark needs it: lines of text, and bodies whose
 * length the line before has.
 */
#ifndef BENCHMARK_BEANSTALK_H
#define BENCHMARK_BEANSTALK_H

#include <stddef.h>
#include <stdint.h>

#include "benchmark/control.h"
#include "benchmark/figures.h"
#include "benchmark/reply.h"
#include "benchmark/request.h"

/*
 * reply_scan() for beanstalkd. A job is REPLY_BULK: its body, and its id as the integer. A reply
 * with a body but without an id is REPLY_BULK, too. One with a number alone is REPLY_INTEGER, one
 * word is REPLY_STATUS, and everything else is REPLY_ERROR.
 */
ptrdiff_t beanstalk_scan(struct qless_str bytes, struct reply *ret_reply);

/* Requests without arguments in the protocol: the job, its deletion, and waiting for the next. */
void beanstalk_make_put(struct request *r, const char *payload, size_t bytes);
void beanstalk_make_delete(struct request *r);
void beanstalk_make_reserve(struct request *r);

/* Let a connection put to a tube and wait for it. Returns 0, or -1 with a line in `error`. */
int beanstalk_use(struct control *c, struct qless_str tube, struct buf *error);
/* The functions return like beanstalk_use(). */
int beanstalk_identify(struct control *c, struct figures_server *ret_server, struct buf *error);
int beanstalk_count(struct control *c, struct qless_str tube, int64_t *ret_waiting,
		    int64_t *ret_running, struct buf *error);

#endif
