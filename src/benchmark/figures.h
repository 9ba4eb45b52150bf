/*
 * Figures of the server at one moment: from INFO, and from /proc if it runs on this machine.
 */
#ifndef BENCHMARK_FIGURES_H
#define BENCHMARK_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "benchmark/control.h"

#define FIGURES_NAME_MAX 64

/* The identity of the server. */
struct figures_server {
	char name[FIGURES_NAME_MAX]; /* "qlessd 0.1.0", "redis 7.0.15" */
	bool is_qlessd;
	pid_t pid; /* 0 unless it runs on this machine */
};

struct figures {
	double cpu_s;	    /* processor time in seconds */
	double run_delay_s; /* seconds for which the main thread could run but waited for a
			       processor */
	uint64_t rss;	    /* bytes */
	uint64_t log;	    /* bytes of the log, with those not written yet */
	uint64_t log_base;  /* bytes of these in the snapshot of the last rewrite */
	bool has_log;
};

/* Returns 0, or -1 with a line in `error`. */
int figures_identify(struct control *control, struct figures_server *ret_server, struct buf *error);

/* Asks the server about its log. Returns like figures_identify(). */
int figures_read_log(struct control *control, struct figures *f, struct buf *error);
/* Reads the figures of the process from /proc. All are 0 if it is on another machine. */
void figures_read_process(const struct figures_server *server, struct figures *f);

/* Whether a process with this id runs the executable. Through a tunnel a server only seems to be
 * local. */
bool figures_is_running_here(pid_t pid, struct qless_str executable);

/* Processor time of this process, in seconds. */
double figures_own_cpu_s(void);
/* Seconds for which this process could run but waited for a processor. */
double figures_own_run_delay_s(void);

#endif
