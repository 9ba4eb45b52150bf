/*
 * Packed lists do what other lists do.
 */
#define PACKED true

#include "test_util_skiplist.c" /* NOLINT(bugprone-suspicious-include): all of its cases */
