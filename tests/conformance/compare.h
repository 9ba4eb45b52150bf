/*
 * When what came out counts as what was recorded: the rules of README.md.
 */
#ifndef CONFORMANCE_COMPARE_H
#define CONFORMANCE_COMPARE_H

#include <stdbool.h>

#include "util/str.h"

bool compare_numbers(double a, double b);

/* Two strings: as JSON if both begin like an object or an array and parse. */
bool compare_texts(struct qless_str a, struct qless_str b);

/* The same if they only parse, scalars included. */
bool compare_documents(struct qless_str a, struct qless_str b);

/* A field of a hash: equal, or equal as numbers, or as JSON where the field holds JSON. */
bool compare_fields(struct qless_str name, struct qless_str a, struct qless_str b);

#endif
