/*
 * Record by record: numbers in order, the group first and the end last.
 */
#include "journal/base_check.h"

void base_check_init(struct base_check *c)
{
	*c = (struct base_check){ .rest = BUF_INIT(BUF_NO_MAX), .members = BUF_INIT(BUF_NO_MAX) };
}

void base_check_done(struct base_check *c)
{
	buf_done(&c->rest);
	buf_done(&c->members);
}

static bool take_header(struct base_check *c)
{
	const unsigned char *bytes = (const unsigned char *)buf_data(&c->rest);

	if (record_decode_header(bytes, c->rest.len, &c->header) != RECORD_OK ||
	    c->header.kind != RECORD_FILE_BASE || c->header.format != RECORD_FORMAT_GROUP ||
	    c->header.sequence == 0)
		return false;
	buf_consume(&c->rest, RECORD_FILE_HEADER_BYTES);
	c->has_header = true;
	return true;
}

static bool take_group(struct base_check *c, const struct record *record)
{
	struct record_group group;

	if (record->type != RECORD_GROUP || !record_decode_group(record->payload, &group) ||
	    group.term == 0)
		return false;
	c->term = group.term;
	c->members_index = group.members_index;
	buf_append_str(&c->members, group.members);
	return true;
}

static bool take_record(struct base_check *c, const struct record *record)
{
	uint64_t count;

	if (c->is_over || record->sequence != ++c->sequence)
		return false;
	if (c->sequence == 1)
		return take_group(c, record);
	switch (record->type) {
	case RECORD_BASE_END:
		c->is_over = true;
		return record_decode_number(record->payload, &count) && count == c->sequence - 1;
	case RECORD_STATE_BEGIN:
	case RECORD_STATE_DATA:
	case RECORD_STATE_END:
	case RECORD_OPERATIONS:
		return true;
	default:
		return false;
	}
}

bool base_check_take(struct base_check *c, struct qless_str bytes)
{
	struct record record;
	size_t size;

	buf_append_str(&c->rest, bytes);
	if (!c->has_header && c->rest.len < RECORD_FILE_HEADER_BYTES)
		return true;
	if (!c->has_header && !take_header(c))
		return false;
	while (c->rest.len > 0) {
		switch (record_decode((const unsigned char *)buf_data(&c->rest), c->rest.len,
				      c->header.salt, &record, &size)) {
		case RECORD_OK:
			if (!take_record(c, &record))
				return false;
			buf_consume(&c->rest, size);
			break;
		case RECORD_SHORT:
			return !c->is_over;
		case RECORD_BAD:
		case RECORD_ALIEN:
			return false;
		}
	}
	return true;
}

bool base_check_is_whole(const struct base_check *c)
{
	return c->is_over && c->rest.len == 0;
}
