/*
 * Whether a result matches the recorded one: the rules of README.md.
 */
#ifndef CONFORMANCE_COMPARE_H
#define CONFORMANCE_COMPARE_H

#include <stdbool.h>

#include "util/str.h"

bool compare_numbers(double a, double b);

/* Two strings: as JSON if both begin like an object or an array and can be parsed. */
bool compare_texts(struct qless_str a, struct qless_str b);

/* compare_texts() for any JSON, also for scalars. */
bool compare_documents(struct qless_str a, struct qless_str b);

/* A field of a hash: equal bytes, equal numbers, or equal JSON if the field holds JSON. */
bool compare_fields(struct qless_str name, struct qless_str a, struct qless_str b);

#endif
