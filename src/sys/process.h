/*
 * Facts about this process and its system.
 */
#ifndef SYS_PROCESS_H
#define SYS_PROCESS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_info {
	char os[200];		   /* "Linux 6.1.0-18-amd64 x86_64" */
	char executable[PATH_MAX]; /* empty if unknown */
	int bits;		   /* 32 or 64 */
	pid_t pid;
};

void process_info_read(struct process_info *ret_info);

struct process_usage {
	int64_t user_us, system_us; /* processor time of this process */
	int64_t children_user_us, children_system_us;
	size_t peak_rss_bytes;
	int64_t minor_faults, major_faults;
	int64_t voluntary_switches, involuntary_switches;
};

void process_usage_read(struct process_usage *ret_usage);

#endif
