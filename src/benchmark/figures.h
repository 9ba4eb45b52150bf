/*
 * What is known about the server at a moment: from INFO, and from /proc if it runs on this machine.
 */
#ifndef BENCHMARK_FIGURES_H
#define BENCHMARK_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "benchmark/control.h"

#define FIGURES_NAME_MAX 64

/* Who the server is. */
struct figures_server {
	char name[FIGURES_NAME_MAX]; /* "qlessd 0.1.0", "redis 7.0.15" */
	bool is_qlessd;
	pid_t pid; /* 0 unless it is on this machine */
};

struct figures {
	double cpu_s;	   /* processor time so far */
	uint64_t rss;	   /* bytes */
	uint64_t log;	   /* bytes of the log, those not yet written included */
	uint64_t log_base; /* of these, what the last rewriting left */
	bool has_log;
};

/* Returns 0, or -1 with a line in `error`. */
int figures_identify(struct control *control, struct figures_server *ret_server, struct buf *error);

/* The log, by asking the server: the same results. */
int figures_read_log(struct control *control, struct figures *f, struct buf *error);
/* The process, without asking it. Of one elsewhere all is 0. */
void figures_read_process(const struct figures_server *server, struct figures *f);

/* Processor time of this process, in seconds. */
double figures_own_cpu_s(void);

#endif
