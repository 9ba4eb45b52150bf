/*
 * Zone files (TZif, RFC 8536).
 *
 * Only the rule in the last line is of interest: it says what the clocks show in the future. A file
 * may also list changes of the future one by one. They are checked against the rule.
 */
#ifndef CALENDAR_TZIF_H
#define CALENDAR_TZIF_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

/*
 * Find the rule of the zone in the content of a zone file. Returns false, with a phrase in
 * `ret_error` that says what is wrong with the file, if
 *
 *	- it is not a zone file, or of version 1, which has no rule
 *	- its zone has no rule
 *	- it lists changes after `now`, and the rule says something else for the time up to the last
 *	  of them, as in a zone whose clocks follow the moon
 *
 * The rule is a slice of `file` that zone_parse() accepts.
 */
bool tzif_find_rule(struct qless_str file, int64_t now, struct qless_str *ret_rule,
		    struct buf *ret_error);

#endif
