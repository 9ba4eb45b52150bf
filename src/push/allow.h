/*
 * Destinations that jobs may be posted to: the directive push-allow.
 *
 * An element is a network such as 10.0.0.0/8 or fd00::/8, an address, or a glob that the host of
 * the URL has to match, in any case. A destination is allowed if one element allows it.
 */
#ifndef PUSH_ALLOW_H
#define PUSH_ALLOW_H

#include <stdbool.h>

#include "util/str.h"

/* Bytes of an address of IPv6. An address of IPv4 has four. */
#define ALLOW_ADDRESS_MAX 16

/* Returns whether the text is an element: not empty, and a network if it has a slash. */
bool allow_is_element(struct qless_str element);

/* Returns whether an element allows the host by its name. */
bool allow_host(struct qless_str element, struct qless_str host);
/* Returns whether an element is a network with the address, which has four or sixteen bytes. */
bool allow_address(struct qless_str element, const unsigned char *address, size_t len);

/* Reads an address of IPv4 or IPv6. Returns its length, or 0. */
size_t allow_read_address(struct qless_str text, unsigned char ret_address[ALLOW_ADDRESS_MAX]);

#endif
