/*
 * Headers that an endpoint adds to its requests.
 */
#ifndef PUSH_HEADER_H
#define PUSH_HEADER_H

#include <stdbool.h>

#include "util/str.h"

/* Check a header that a client wants to add. Return NULL, or what is wrong: "is not a name of a
 * header". The name must be a token of HTTP, and none that the server or the connection needs. The
 * value must not break the line. */
const char *header_check_name(struct qless_str name);
const char *header_check_value(struct qless_str value);

/* Returns whether the value of the header is probably a secret, which nobody is shown. */
bool header_is_secret(struct qless_str name);

#endif
