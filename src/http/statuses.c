#include "http/statuses.h"

#include <stddef.h>
#include <string.h>

int http_status_of(const char *code)
{
	/* A limit is about the size of the request or of its reply, so no wait helps. */
	static const struct {
		const char *code;
		int status;
	} rows[] = {
		{ "NOAUTH", 401 },     { "WRONGPASS", 401 },  { "NOPERM", 403 },
		{ "DENIED", 403 },     { "NOJOB", 404 },      { "NOTFOUND", 404 },
		{ "NOTRUNNING", 409 }, { "NOTOWNER", 409 },   { "WRONGQUEUE", 409 },
		{ "NOTDEPENDS", 409 }, { "DEPENDENTS", 409 }, { "NOTFINISHED", 409 },
		{ "RETRIES", 409 },    { "EXISTS", 409 },     { "LIMIT", 413 },
		{ "BUSY", 503 },       { "LOADING", 503 },    { "MASTERDOWN", 503 },
		{ "MISCONF", 503 },    { "OOM", 503 },	      { "READONLY", 503 },
		{ "UNBLOCKED", 503 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].status;
	}
	return 400;
}

bool http_may_retry(int status)
{
	return status == 429 || status == 503;
}
