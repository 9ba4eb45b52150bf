/*
 * Limits that the system sets for the process.
 */
#ifndef SYS_RLIMIT_H
#define SYS_RLIMIT_H

#include <stdint.h>

/* Raise the limit of open files to `wanted`, or as far as the system allows. Never lowers it.
 * Returns the limit. */
uint64_t rlimit_raise_files(uint64_t wanted);

#endif
