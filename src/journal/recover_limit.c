/*
 * The notation of a limit of recovery.
 */
#include "journal/recover.h"

#include <string.h>
#include <time.h>

#include "util/num.h"

/* Seconds since 1970 that a limit stays below, far in the future. */
#define SECONDS_LIMIT 1e12

bool recovery_parse_limit(const char *text, struct recovery_limit *limit)
{
	struct tm tm = { 0 };
	const char *end;
	double seconds;

	if (num_parse_u64(str_from(text), 1, UINT64_MAX, &limit->sequence))
		return true;
	if (text[0] == '@' && num_parse_double(str_from(text + 1), &seconds) && seconds > 0 &&
	    seconds < SECONDS_LIMIT) {
		limit->wall_us = (int64_t)(seconds * 1e6);
		return true;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0))
		return false;
	limit->wall_us = (int64_t)timegm(&tm) * 1000000;
	return true;
}
