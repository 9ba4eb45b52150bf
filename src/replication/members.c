#include "replication/members.h"

#include <string.h>

#include "util/wire.h"

#define ENCODING 1

static unsigned position(const struct members *m, uint64_t id)
{
	unsigned i = 0;

	while (i < m->count && m->member[i].id < id)
		i++;
	return i;
}

const struct member *members_find(const struct members *m, uint64_t id)
{
	unsigned i = position(m, id);

	return i < m->count && m->member[i].id == id ? &m->member[i] : NULL;
}

unsigned members_voters(const struct members *m)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->count; i++)
		count += m->member[i].is_voter;
	return count;
}

static bool is_id(uint64_t id)
{
	return id >= 1 && id <= INT64_MAX;
}

bool members_are_valid(const struct members *m)
{
	if (m->count > MEMBERS_MAX || members_voters(m) == 0)
		return false;
	for (unsigned i = 0; i < m->count; i++) {
		const struct member *one = &m->member[i];

		if (!is_id(one->id) || (i > 0 && one->id <= m->member[i - 1].id))
			return false;
		if (one->address[0] == '\0' ||
		    memchr(one->address, '\0', sizeof one->address) == NULL)
			return false;
		for (unsigned k = 0; k < i; k++)
			if (strcmp(one->address, m->member[k].address) == 0)
				return false;
	}
	return true;
}

bool members_set(struct members *m, uint64_t id, const char *address, bool is_voter)
{
	size_t len = strlen(address);
	unsigned i = position(m, id);
	bool is_new = i == m->count || m->member[i].id != id;

	if (!is_id(id) || len == 0 || len >= MEMBERS_ADDRESS_SIZE ||
	    (is_new && m->count == MEMBERS_MAX))
		return false;
	for (unsigned k = 0; k < m->count; k++)
		if (m->member[k].id != id && strcmp(m->member[k].address, address) == 0)
			return false;
	if (is_new) {
		memmove(&m->member[i + 1], &m->member[i], (m->count - i) * sizeof m->member[0]);
		m->count++;
	}
	memset(&m->member[i], 0, sizeof m->member[i]);
	m->member[i].id = id;
	m->member[i].is_voter = is_voter;
	memcpy(m->member[i].address, address, len + 1);
	return true;
}

bool members_remove(struct members *m, uint64_t id)
{
	unsigned i = position(m, id);

	if (i == m->count || m->member[i].id != id)
		return false;
	m->count--;
	memmove(&m->member[i], &m->member[i + 1], (m->count - i) * sizeof m->member[0]);
	return true;
}

bool members_equal(const struct members *a, const struct members *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++) {
		const struct member *one = &a->member[i];
		const struct member *other = &b->member[i];

		if (one->id != other->id || one->is_voter != other->is_voter ||
		    strcmp(one->address, other->address) != 0)
			return false;
	}
	return true;
}

static void put_varint(struct buf *out, uint64_t value)
{
	unsigned char bytes[WIRE_VARINT_MAX];

	buf_append(out, bytes, wire_put_varint(bytes, value));
}

void members_encode(const struct members *m, struct buf *out)
{
	buf_append_char(out, ENCODING);
	put_varint(out, m->count);
	for (unsigned i = 0; i < m->count; i++) {
		const struct member *one = &m->member[i];

		put_varint(out, one->id);
		buf_append_char(out, one->is_voter);
		put_varint(out, strlen(one->address));
		buf_append(out, one->address, strlen(one->address));
	}
}

struct reader {
	const unsigned char *at, *end;
	bool is_bad;
};

static uint64_t take_varint(struct reader *r)
{
	uint64_t value = 0;
	size_t size = wire_get_varint(r->at, (size_t)(r->end - r->at), &value);

	if (size == 0)
		r->is_bad = true;
	r->at += size;
	return value;
}

static unsigned take_byte(struct reader *r)
{
	if (r->at == r->end) {
		r->is_bad = true;
		return 0;
	}
	return *r->at++;
}

static void take_member(struct reader *r, struct member *one)
{
	unsigned is_voter;
	uint64_t len;

	one->id = take_varint(r);
	is_voter = take_byte(r);
	len = take_varint(r);
	if (r->is_bad || is_voter > 1 || len >= sizeof one->address ||
	    len > (size_t)(r->end - r->at) || memchr(r->at, '\0', len) != NULL) {
		r->is_bad = true;
		return;
	}
	one->is_voter = is_voter;
	memcpy(one->address, r->at, len);
	r->at += len;
}

bool members_decode(struct members *m, const void *data, size_t size)
{
	struct reader r = { .at = data, .end = (const unsigned char *)data + size };
	unsigned encoding = take_byte(&r);
	uint64_t count = take_varint(&r);

	memset(m, 0, sizeof *m);
	if (r.is_bad || encoding != ENCODING || count > MEMBERS_MAX)
		return false;
	for (uint64_t i = 0; i < count && !r.is_bad; i++)
		take_member(&r, &m->member[m->count++]);
	return !r.is_bad && r.at == r.end && members_are_valid(m);
}
