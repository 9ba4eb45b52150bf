#include "command/key.h"

#include "command/databases.h"
#include "util/glob.h"
#include "util/num.h"

#define SCAN_DEFAULT_COUNT 10

const struct qless *key_engine(const struct request *req)
{
	return databases_peek(req->env->databases, req->session->db);
}

static void write_missing(struct reply *w, enum key_missing missing)
{
	switch (missing) {
	case KEY_MISSING_NULL:
		reply_null(w);
		break;
	case KEY_MISSING_ZERO:
		reply_integer(w, 0);
		break;
	case KEY_MISSING_ARRAY:
		reply_array(w, 0);
		break;
	case KEY_MISSING_MAP:
		reply_map(w, 0);
		break;
	case KEY_MISSING_SET:
		reply_set(w, 0);
		break;
	case KEY_MISSING_SCAN:
		key_write_cursor(w, 0);
		reply_array(w, 0);
		break;
	}
}

bool key_open_any(struct request *req, enum keyspace_type type, struct keyspace_key *ret_key,
		  bool *ret_exists)
{
	*ret_exists = keyspace_find(key_engine(req), req->args[0], ret_key);
	if (!*ret_exists || ret_key->type == type)
		return true;
	reply_error(req->reply, "WRONGTYPE",
		    STR("Operation against a key holding the wrong kind of value"));
	return false;
}

bool key_open(struct request *req, enum keyspace_type type, enum key_missing missing,
	      struct keyspace_key *ret_key)
{
	bool exists;

	if (!key_open_any(req, type, ret_key, &exists))
		return false;
	if (!exists)
		write_missing(req->reply, missing);
	return exists;
}

bool key_parse_integer(struct request *req, struct qless_str text, int64_t *ret_value)
{
	if (num_parse_i64(text, ret_value))
		return true;
	reply_error(req->reply, "ERR", STR("value is not an integer or out of range"));
	return false;
}

void key_write_syntax_error(struct request *req)
{
	reply_error(req->reply, "ERR", STR("syntax error"));
}

/* Converts to an index from the start; an index before the start becomes -1. */
static int64_t absolute_index(size_t total, int64_t index)
{
	if (index >= 0)
		return index;
	return index + (int64_t)total < 0 ? -1 : index + (int64_t)total;
}

bool key_index_range(size_t total, int64_t start, int64_t stop, size_t *ret_first,
		     size_t *ret_count)
{
	int64_t first = absolute_index(total, start);
	int64_t last = absolute_index(total, stop);

	if (first < 0)
		first = 0;
	if (last >= (int64_t)total)
		last = (int64_t)total - 1;
	if (first > last)
		return false;
	*ret_first = (size_t)first;
	*ret_count = (size_t)(last - first) + 1;
	return true;
}

void key_write_value(void *arg, struct qless_str value)
{
	reply_bulk(arg, value);
}

/* ---- SCAN, HSCAN, SSCAN and ZSCAN ---- */

bool key_parse_cursor(struct request *req, struct qless_str text, struct key_scan *ret_scan)
{
	*ret_scan = (struct key_scan){ .count = SCAN_DEFAULT_COUNT };
	if (num_parse_u64(text, 0, UINT64_MAX, &ret_scan->cursor))
		return true;
	reply_error(req->reply, "ERR", STR("invalid cursor"));
	return false;
}

static bool parse_count(struct request *req, struct qless_str text, struct key_scan *scan)
{
	if (!key_parse_integer(req, text, &scan->count))
		return false;
	if (scan->count >= 1)
		return true;
	key_write_syntax_error(req);
	return false;
}

bool key_parse_scan_options(struct request *req, size_t first, bool takes_type,
			    struct key_scan *scan)
{
	for (size_t i = first; i < req->nargs; i += 2) {
		struct qless_str word = req->args[i];
		struct qless_str value;

		if (i + 1 == req->nargs) {
			key_write_syntax_error(req);
			return false;
		}
		value = req->args[i + 1];
		if (str_equal_nocase(word, STR("COUNT"))) {
			if (!parse_count(req, value, scan))
				return false;
		} else if (str_equal_nocase(word, STR("MATCH"))) {
			if (!request_check_pattern(req, value))
				return false;
			scan->pattern = value;
			scan->has_pattern = true;
		} else if (takes_type && str_equal_nocase(word, STR("TYPE"))) {
			scan->type = value;
			scan->has_type = true;
		} else {
			key_write_syntax_error(req);
			return false;
		}
	}
	return true;
}

bool key_scan_matches(const struct key_scan *scan, struct qless_str text)
{
	return !scan->has_pattern || glob_match(scan->pattern, text, false);
}

void key_write_cursor(struct reply *w, uint64_t cursor)
{
	char text[NUM_MAX];
	size_t len = num_format_u64(text, cursor);

	reply_array(w, 2);
	reply_bulk(w, str_make(text, len));
}
