/*
 * The parts of push, for push*.c only.
 */
#ifndef SERVER_PUSH_INT_H
#define SERVER_PUSH_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "command/endpoints.h"
#include "push/circuit.h"
#include "server/push.h"
#include "server/push_client.h"
#include "server/push_job.h"
#include "server/submit.h"
#include "util/hash.h"
#include "util/heap.h"

struct acl;
struct event;
struct test_post;

TAILQ_HEAD(push_job_list, push_job);
TAILQ_HEAD(pusher_list, pusher);
TAILQ_HEAD(test_post_list, test_post);

/* A call at a monotonic time. */
struct push_timer {
	struct heap_node node; /* key: microseconds */
	void (*fn)(struct push_timer *timer);
};

/* Everything about push. There is none before the first endpoint. */
struct push {
	struct server *server;
	struct acl *rights;	    /* its default user may do everything */
	struct push_client *client; /* NULL: libcurl cannot be used */
	struct buf unavailable;	    /* then the reason */
	struct hash by_name;
	struct pusher_list pushers;
	struct pusher_list changed; /* look whether they can take jobs, see push_run() */
	struct heap timers;
	struct event *timer;
	struct test_post_list tests;
	struct push_figures gone; /* of endpoints that were deleted */
	bool is_stopping;
};

/* The worker of an endpoint. It stays until its last job has been told of, also without one. */
struct pusher {
	struct hash_node node;
	struct push *push;
	struct submitter taker; /* sends BPOP */
	struct submitter teller;
	struct circuit circuit;
	struct push_timer wake; /* the end of a pause, or another attempt to take jobs */
	struct push_job_list jobs;
	struct push_job_list over; /* they have ended, and a command refers to them */
	size_t job_count;
	bool is_taking;	 /* a BPOP has not been answered */
	bool is_stale;	 /* the endpoint has changed since that was sent */
	bool is_changed; /* in push->changed */
	struct push_status status;
	struct buf last_error;
	TAILQ_ENTRY(pusher) all;
	TAILQ_ENTRY(pusher) change;
	unsigned db;
	size_t key_len;
	char key[]; /* "<db>:" and the name of the worker */
};

enum push_job_state {
	PUSH_JOB_TAKEN,
	PUSH_JOB_POSTED,
	PUSH_JOB_TELLING,
	PUSH_JOB_DELAYED,
};

/* A job under way. */
struct push_job {
	struct pusher *pusher;
	struct taken_job taken;
	enum push_job_state state;
	struct post *post;	 /* NULL unless it is posted */
	struct push_timer renew; /* its lock, when half of it has passed */
	struct push_timer again; /* to tell the outcome, when nothing could change */
	double lease_s;
	unsigned submitted; /* commands that refer to it */
	bool is_over;
	bool is_probe; /* of the circuit */
	struct push_outcome outcome;
	TAILQ_ENTRY(push_job) link;
};

/* Push, made when it is needed first. */
struct push *push_need(struct server *s);
/* The endpoint of a pusher; NULL: it was deleted. */
const struct endpoint *pusher_endpoint(const struct pusher *p);
struct qless_str pusher_worker(const struct pusher *p);
struct qless_str pusher_name(const struct pusher *p);
/* Let the pusher look whether it can take jobs, in this turn. */
void pusher_change(struct pusher *p);

void push_timer_init(struct push_timer *timer, void (*fn)(struct push_timer *timer));
void push_timer_set(struct push *push, struct push_timer *timer, double seconds);
void push_timer_stop(struct push *push, struct push_timer *timer);

/* push_work.c */
void pusher_begin_job(struct pusher *p, const struct taken_job *taken);
/* The job is no longer under way. */
void push_job_end(struct push_job *job);
/* Free all jobs. No submitted command refers to one any more. */
void push_jobs_free(struct pusher *p);
struct circuit_rules push_circuit_rules(const struct push *push);
/* Monotonic, in seconds. */
double push_now(void);

/* push_test.c */
const char *push_test_begin(void *arg, struct request *req, const struct endpoint *endpoint,
			    const void *work);
void push_test_end(void *arg, const void *work);
void push_tests_cancel(struct push *push);

#endif
