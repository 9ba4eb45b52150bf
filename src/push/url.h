/*
 * URLs that jobs are posted to.
 *
 * A URL is absolute, and begins with http:// or https://. It has a host, and no user, password or
 * fragment. It consists of printable ASCII characters, so it cannot break a line of a request.
 */
#ifndef PUSH_URL_H
#define PUSH_URL_H

#include <stdbool.h>

#include "util/str.h"

struct buf;

/* Bytes of the longest URL. */
#define URL_MAX 2048

/* The parts borrow from the URL. */
struct url {
	bool is_secure;
	struct qless_str host; /* a name, or an address without brackets */
	bool is_ipv6;
	unsigned port;
};

/* Appends a URL without what may be secret: what stands before the host, and the values of the
 * parameters. The path stays. The URL need not be valid. */
void url_append_masked(struct buf *out, struct qless_str text);

/* Reads a URL. Returns NULL, or what is wrong with it: "has no host". */
const char *url_read(struct qless_str text, struct url *ret_url);

#endif
