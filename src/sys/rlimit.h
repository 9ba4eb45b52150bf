/*
 * Limits the system sets the process.
 */
#ifndef SYS_RLIMIT_H
#define SYS_RLIMIT_H

#include <stdint.h>

/* Raise the number of open files to `wanted` or as near as the system lets us; never lowers it.
 * Returns what is possible now. */
uint64_t rlimit_raise_files(uint64_t wanted);

#endif
