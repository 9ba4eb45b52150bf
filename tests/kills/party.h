/*
 * Producers and workers: processes that use the server, enter in the history what they do, and can
 * be killed at any moment. A process whose connection ends connects again.
 */
#ifndef TESTS_KILLS_PARTY_H
#define TESTS_KILLS_PARTY_H

#include <sys/types.h>

#include "history.h"

/* Duration of a lock, and of its grace period, in seconds. A worker that falls asleep loses it. */
#define PARTY_LOCK_S  0.3
#define PARTY_GRACE_S 0.1
/* Seconds for which the jobs of an attached worker wait for it. */
#define PARTY_ATTACH_GRACE_S 0.2

struct party {
	struct history *history;
	const char *socket_path;
	uint32_t process;	 /* number of this process */
	uint32_t name;		 /* of the worker; several processes may have it */
	bool is_attached;	 /* the server keeps its locks */
	unsigned long long seed; /* of its random numbers */
};

/* Both return the process, which runs until it is killed, or until its parent ends. */
pid_t party_start_producer(const struct party *p);
pid_t party_start_worker(const struct party *p);

#endif
