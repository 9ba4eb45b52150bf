#include "push/allow.h"

#include <string.h>

#include "util/glob.h"
#include "util/hex.h"
#include "util/num.h"

#define IPV4_BYTES 4
/* Groups of an address of IPv6, and digits of a group. */
#define GROUPS	     8
#define GROUP_DIGITS 4

static size_t read_ipv4(struct qless_str text, unsigned char *to)
{
	for (size_t i = 0; i < IPV4_BYTES; i++) {
		const char *dot = memchr(text.ptr, '.', text.len);
		size_t len =
			i + 1 < IPV4_BYTES && dot != NULL ? (size_t)(dot - text.ptr) : text.len;
		uint64_t byte;

		if (!num_parse_u64(str_make(text.ptr, len), 0, 255, &byte))
			return 0;
		to[i] = (unsigned char)byte;
		if (i + 1 == IPV4_BYTES)
			break;
		if (len == text.len)
			return 0;
		text = str_make(text.ptr + len + 1, text.len - len - 1);
	}
	return IPV4_BYTES;
}

/* Reads groups up to the end of the text, or to two colons. Returns false for anything else. */
static bool read_groups(struct qless_str *text, unsigned char *to, size_t *ret_bytes)
{
	size_t bytes = 0;

	while (text->len != 0 && text->ptr[0] != ':') {
		size_t digits = 0;
		unsigned group = 0;

		while (digits < text->len && digits < GROUP_DIGITS &&
		       hex_value(text->ptr[digits]) >= 0)
			group = group << 4 | (unsigned)hex_value(text->ptr[digits++]);
		if (digits < text->len && text->ptr[digits] == '.') {
			if (bytes > ALLOW_ADDRESS_MAX - IPV4_BYTES ||
			    read_ipv4(*text, to + bytes) == 0)
				return false;
			bytes += IPV4_BYTES;
			*text = str_make(text->ptr + text->len, 0);
			break;
		}
		if (digits == 0 || bytes == ALLOW_ADDRESS_MAX)
			return false;
		to[bytes++] = (unsigned char)(group >> 8);
		to[bytes++] = (unsigned char)group;
		*text = str_make(text->ptr + digits, text->len - digits);
		if (text->len == 0 || str_starts_with(*text, STR("::")))
			break;
		if (text->ptr[0] != ':' || text->len == 1)
			return false;
		*text = str_make(text->ptr + 1, text->len - 1);
	}
	*ret_bytes = bytes;
	return true;
}

static size_t read_ipv6(struct qless_str text, unsigned char *to)
{
	unsigned char tail[ALLOW_ADDRESS_MAX];
	size_t head_bytes, tail_bytes;

	memset(to, 0, ALLOW_ADDRESS_MAX);
	if (!read_groups(&text, to, &head_bytes))
		return 0;
	if (text.len == 0)
		return head_bytes == ALLOW_ADDRESS_MAX ? ALLOW_ADDRESS_MAX : 0;
	if (!str_strip_prefix(text, STR("::"), &text) || !read_groups(&text, tail, &tail_bytes) ||
	    text.len != 0 || head_bytes + tail_bytes >= ALLOW_ADDRESS_MAX)
		return 0;
	memcpy(to + ALLOW_ADDRESS_MAX - tail_bytes, tail, tail_bytes);
	return ALLOW_ADDRESS_MAX;
}

size_t allow_read_address(struct qless_str text, unsigned char ret_address[ALLOW_ADDRESS_MAX])
{
	if (text.len == 0)
		return 0;
	if (memchr(text.ptr, ':', text.len) != NULL)
		return read_ipv6(text, ret_address);
	return read_ipv4(text, ret_address);
}

/* Reads `10.0.0.0/8`, or an address alone. Returns the length of the address, or 0. */
static size_t read_network(struct qless_str element, unsigned char *ret_address, size_t *ret_bits)
{
	const char *slash = memchr(element.ptr, '/', element.len);
	size_t len = slash != NULL ? (size_t)(slash - element.ptr) : element.len;
	size_t bytes = allow_read_address(str_make(element.ptr, len), ret_address);
	uint64_t bits = bytes * 8;

	if (bytes == 0)
		return 0;
	if (slash != NULL &&
	    !num_parse_u64(str_make(slash + 1, element.len - len - 1), 0, bytes * 8, &bits))
		return 0;
	*ret_bits = (size_t)bits;
	return bytes;
}

bool allow_is_element(struct qless_str element)
{
	unsigned char address[ALLOW_ADDRESS_MAX];
	size_t bits;

	if (element.len == 0 || element.len > GLOB_MAX_BYTES)
		return false;
	return memchr(element.ptr, '/', element.len) == NULL ||
	       read_network(element, address, &bits) != 0;
}

bool allow_host(struct qless_str element, struct qless_str host)
{
	return glob_match(element, host, true);
}

/* An address of IPv4 that is written as one of IPv6 is that of IPv4. */
static void unmap(const unsigned char **address, size_t *len)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (*len != ALLOW_ADDRESS_MAX || memcmp(*address, mapped, sizeof mapped) != 0)
		return;
	*address += sizeof mapped;
	*len = IPV4_BYTES;
}

bool allow_address(struct qless_str element, const unsigned char *address, size_t len)
{
	unsigned char network[ALLOW_ADDRESS_MAX];
	size_t bits, bytes = read_network(element, network, &bits);
	unsigned char mask;

	unmap(&address, &len);
	if (bytes == 0 || bytes != len || memcmp(network, address, bits / 8) != 0)
		return false;
	if (bits % 8 == 0)
		return true;
	mask = (unsigned char)(0xff00 >> bits % 8);
	return (network[bits / 8] & mask) == (address[bits / 8] & mask);
}
