/*
 * The status of an error, by its code word.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_STATUSES_H
#define HTTP_STATUSES_H

#include <stdbool.h>

/* Returns the status of an error. A code that has none of its own is 400. */
int http_status_of(const char *code);

/* Returns whether the same request may succeed later, so that the answer has Retry-After. */
bool http_may_retry(int status);

#endif
