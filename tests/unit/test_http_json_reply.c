#include "http/json_reply.h"

#include <math.h>
#include <stdio.h>

#include "unit.h"
#include "util/buf.h"
#include "util/chain.h"

static struct chunk_pool pool;
static struct chain out;
static struct json_reply state;
static struct reply reply, *r = &reply;
static struct buf text;

void setUp(void)
{
	chunk_pool_init(&pool, 4);
	chain_init(&out, &pool);
	json_reply_init(r, &out, &state);
	buf_init(&text, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&text);
	chain_done(&out);
	chunk_pool_done(&pool);
}

/* Takes the bytes that were written since the last call. */
static const char *written(void)
{
	struct iovec piece;

	buf_clear(&text);
	while (chain_peek(&out, &piece, 1, out.len) != 0) {
		buf_append(&text, piece.iov_base, piece.iov_len);
		chain_consume(&out, piece.iov_len);
	}
	return buf_cstr(&text);
}

static void begin(const char *wrap, enum json_reply_text form)
{
	json_reply_begin(&state, str_from(wrap), form);
}

static void simple_replies_are_values(void)
{
	reply_ok(r);
	TEST_ASSERT_EQUAL_STRING("true", written());
	reply_status(r, STR("Background saving"));
	TEST_ASSERT_EQUAL_STRING("\"Background saving\"", written());
	reply_integer(r, -42);
	TEST_ASSERT_EQUAL_STRING("-42", written());
	reply_boolean(r, false);
	TEST_ASSERT_EQUAL_STRING("false", written());
	reply_double(r, 0.5);
	TEST_ASSERT_EQUAL_STRING("0.5", written());
	reply_short_double(r, 1700000000.25);
	TEST_ASSERT_EQUAL_STRING("1700000000.25", written());
	reply_big_number(r, STR("123456789012345678901234567890"));
	TEST_ASSERT_EQUAL_STRING("123456789012345678901234567890", written());
	reply_verbatim(r, "txt", STR("a\nb"));
	TEST_ASSERT_EQUAL_STRING("\"a\\nb\"", written());
	reply_bulkf(r, "%d of %d", 1, 2);
	TEST_ASSERT_EQUAL_STRING("\"1 of 2\"", written());
}

static void numbers_that_json_lacks_are_replaced(void)
{
	reply_double(r, (double)NAN);
	TEST_ASSERT_EQUAL_STRING("null", written());
	reply_short_double(r, (double)INFINITY);
	TEST_ASSERT_EQUAL_STRING("1.7976931348623157e308", written());
	reply_double(r, -(double)INFINITY);
	TEST_ASSERT_EQUAL_STRING("-1.7976931348623157e308", written());
}

static void strings_are_escaped(void)
{
	reply_bulk(r, str_make("\"\\/\b\t\n\f\r\x01\x1f\x7f\0", 12));
	TEST_ASSERT_EQUAL_STRING("\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\\u0000\"",
				 written());
	reply_bulk(r, STR("Gr\xc3\xbc\xc3\x9f"));
	TEST_ASSERT_EQUAL_STRING("\"Gr\xc3\xbc\xc3\x9f\"", written());
	reply_bulk(r, STR(""));
	TEST_ASSERT_EQUAL_STRING("\"\"", written());
}

/* A string of many pieces, with characters of two bytes across their borders. */
static void a_long_string_is_written_whole(void)
{
	struct buf long_text = BUF_INIT(BUF_NO_MAX), expected = BUF_INIT(BUF_NO_MAX);

	buf_append_char(&long_text, 'x');
	buf_append_str(&expected, STR("\"x"));
	for (int i = 0; i < 40000; i++) {
		buf_append_str(&long_text, i % 7 == 0 ? STR("\n") : STR("\xc3\xa4"));
		buf_append_str(&expected, i % 7 == 0 ? STR("\\n") : STR("\xc3\xa4"));
	}
	buf_append_char(&expected, '"');
	reply_bulk(r, buf_str(&long_text));
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&expected), written());
	buf_done(&long_text);
	buf_done(&expected);
}

static void bytes_that_are_not_utf8_become_base64(void)
{
	reply_bulk(r, STR("\xff\x00\x01"));
	TEST_ASSERT_EQUAL_STRING("{\"base64\":\"/wAB\"}", written());
	reply_bytes(r, STR("text"));
	TEST_ASSERT_EQUAL_STRING("{\"base64\":\"dGV4dA==\"}", written());
}

static void a_key_that_is_not_utf8_is_still_a_string(void)
{
	reply_map(r, 1);
	reply_bulk(r, STR("a\xff"));
	reply_bulk(r, STR("\xff"));
	TEST_ASSERT_EQUAL_STRING("{\"a\\u00ff\":{\"base64\":\"/w==\"}}", written());
}

static void aggregates_nest(void)
{
	reply_array(r, 3);
	reply_integer(r, 1);
	reply_map(r, 2);
	reply_bulk(r, STR("a"));
	reply_array(r, 0);
	reply_integer(r, 7);
	reply_map(r, 0);
	reply_set(r, 1);
	reply_null(r);
	TEST_ASSERT_EQUAL_STRING("[1,{\"a\":[],\"7\":{}},[null]]", written());
}

static void json_texts_are_embedded(void)
{
	reply_array(r, 2);
	reply_json(r, STR("{\"jid\":\"j\"}"));
	reply_json(r, STR("\"Bytes \xff that are not UTF-8, \xc3\xa4\""));
	TEST_ASSERT_EQUAL_STRING("[{\"jid\":\"j\"},\"Bytes \\u00ff that are not UTF-8, \xc3\xa4\"]",
				 written());
}

static void a_deferred_list_needs_no_count(void)
{
	struct reply_deferred list, map;

	reply_deferred_begin(r, &list, REPLY_ARRAY);
	reply_bulk(r, STR("a"));
	reply_deferred_begin(r, &map, REPLY_MAP);
	reply_bulk(r, STR("b"));
	reply_integer(r, 1);
	reply_bulk(r, STR("c"));
	reply_integer(r, 2);
	reply_deferred_end(r, &map, 2);
	reply_bulk(r, STR("d"));
	reply_deferred_end(r, &list, 3);
	TEST_ASSERT_EQUAL_STRING("[\"a\",{\"b\":1,\"c\":2},\"d\"]", written());
}

static void what_follows_the_leave_stands_before_the_list(void)
{
	struct reply_deferred list;

	begin("cursor jobs", JSON_REPLY_STRING);
	reply_array(r, 2);
	reply_deferred_begin(r, &list, REPLY_ARRAY);
	reply_bulk(r, STR("j1"));
	reply_bulk(r, STR("j2"));
	reply_deferred_leave(r, &list);
	reply_bulk(r, STR("17"));
	reply_deferred_end(r, &list, 2);
	TEST_ASSERT_EQUAL_STRING("{\"cursor\":\"17\",\"jobs\":[\"j1\",\"j2\"]}", written());
}

static void a_dropped_list_leaves_no_trace(void)
{
	struct reply_deferred list;

	reply_array(r, 2);
	reply_deferred_begin(r, &list, REPLY_ARRAY);
	reply_bulk(r, STR("lost"));
	reply_deferred_drop(r, &list);
	reply_integer(r, 1);
	reply_integer(r, 2);
	TEST_ASSERT_EQUAL_STRING("[1,2]", written());
}

static void a_text_in_pieces_is_one_json_text(void)
{
	struct reply_deferred pieces;

	reply_deferred_begin(r, &pieces, REPLY_TEXT);
	reply_deferred_append(r, &pieces, STR("[{\"jid\""));
	reply_deferred_append(r, &pieces, STR(":\"j\"}]"));
	reply_deferred_end(r, &pieces, 0);
	TEST_ASSERT_EQUAL_STRING("[{\"jid\":\"j\"}]", written());
}

static void a_name_wraps_the_reply(void)
{
	begin("jid", JSON_REPLY_STRING);
	reply_bulk(r, STR("j1"));
	TEST_ASSERT_EQUAL_STRING("{\"jid\":\"j1\"}", written());
	begin("jids", JSON_REPLY_STRING);
	reply_array(r, 2);
	reply_bulk(r, STR("a"));
	reply_bulk(r, STR("b"));
	TEST_ASSERT_EQUAL_STRING("{\"jids\":[\"a\",\"b\"]}", written());
	begin("jids", JSON_REPLY_STRING);
	reply_array(r, 0);
	TEST_ASSERT_EQUAL_STRING("{\"jids\":[]}", written());
}

static void an_error_is_not_wrapped(void)
{
	begin("jid", JSON_REPLY_STRING);
	reply_error(r, "NOJOB", STR("no job \"j\""));
	TEST_ASSERT_EQUAL_STRING(
		"{\"error\":{\"code\":\"NOJOB\",\"message\":\"no job \\\"j\\\"\"}}", written());
	TEST_ASSERT_TRUE(state.is_error);
	TEST_ASSERT_EQUAL_STRING("NOJOB", r->last_error);
}

static void an_error_in_a_list_is_an_element(void)
{
	begin("states", JSON_REPLY_STRING);
	reply_array(r, 2);
	reply_error(r, "NOJOB", STR("no"));
	reply_bulk(r, STR("complete"));
	TEST_ASSERT_EQUAL_STRING("{\"states\":[{\"error\":{\"code\":\"NOJOB\",\"message\":\"no\"}},"
				 "\"complete\"]}",
				 written());
	TEST_ASSERT_FALSE(state.is_error);
}

/* As the server does with a reply that became too large. */
static void an_error_replaces_a_reply_that_was_cut(void)
{
	struct reply_deferred list;

	begin("jids", JSON_REPLY_STRING);
	r->max = 20;
	reply_deferred_begin(r, &list, REPLY_ARRAY);
	reply_bulk(r, STR("a string of more than twenty bytes"));
	reply_deferred_end(r, &list, 1);
	TEST_ASSERT_TRUE(r->is_full);
	reply_cut(r, 0);
	r->max = REPLY_NO_MAX;
	reply_error(r, "LIMIT", STR("large"));
	TEST_ASSERT_EQUAL_STRING("{\"error\":{\"code\":\"LIMIT\",\"message\":\"large\"}}",
				 written());
	TEST_ASSERT_TRUE(state.is_error);
}

static void a_null_is_left_to_the_caller(void)
{
	begin("jid", JSON_REPLY_STRING);
	reply_null(r);
	TEST_ASSERT_TRUE(state.is_null);
	TEST_ASSERT_EQUAL_STRING("", written());
	begin("", JSON_REPLY_STRING);
	reply_null_array(r);
	TEST_ASSERT_TRUE(state.is_null);
	begin("", JSON_REPLY_STRING);
	reply_integer(r, 0);
	TEST_ASSERT_TRUE(state.has_number && state.number == 0 && !state.is_null);
}

static void info_is_an_object_of_sections(void)
{
	begin("", JSON_REPLY_INFO);
	reply_verbatim(r, "txt",
		       STR("# Server\r\nversion:1.2.3\r\npid:17\r\nratio:0.50\r\nrun_id:"
			   "0123456789012345678901234567890123456789\r\n\r\n# Keyspace\r\n"
			   "db0:keys=3,expires=0\r\nname:a,b\r\nlist:\r\nzeros:007\r\nminus:-1\r\n"
			   "qlog:a=\xff\r\nconfig_file:/etc/x\r\n"));
	TEST_ASSERT_EQUAL_STRING(
		"{\"server\":{\"version\":\"1.2.3\",\"pid\":17,\"ratio\":0.50,"
		"\"run_id\":\"0123456789012345678901234567890123456789\"},"
		"\"keyspace\":{\"db0\":{\"keys\":3,\"expires\":0},\"name\":\"a,b\",\"list\":\"\","
		"\"zeros\":\"007\",\"minus\":-1,\"qlog\":{\"a\":\"\\u00ff\"},"
		"\"config_file\":\"/etc/x\"}}",
		written());
	reply_verbatim(r, "txt", STR(""));
	TEST_ASSERT_EQUAL_STRING("{}", written());
	reply_verbatim(r, "txt", STR("# A\xff\"\r\nb:1\r\n"));
	TEST_ASSERT_EQUAL_STRING("{\"a\\u00ff\\\"\":{\"b\":1}}", written());
}

static void clients_are_a_list_of_objects(void)
{
	begin("", JSON_REPLY_CLIENTS);
	reply_verbatim(r, "txt", STR("id=3 addr=127.0.0.1:4 name= flags=N\nid=4 name=x=y\n"));
	TEST_ASSERT_EQUAL_STRING(
		"[{\"id\":3,\"addr\":\"127.0.0.1:4\",\"name\":\"\",\"flags\":\"N\"},"
		"{\"id\":4,\"name\":\"x=y\"}]",
		written());
	reply_verbatim(r, "txt", STR(""));
	TEST_ASSERT_EQUAL_STRING("[]", written());
}

static void nothing_is_written_while_the_reply_is_muted(void)
{
	struct reply_deferred list;

	r->muted = true;
	reply_array(r, 1);
	reply_deferred_begin(r, &list, REPLY_ARRAY);
	reply_bulk(r, STR("x"));
	reply_deferred_end(r, &list, 1);
	r->muted = false;
	reply_bulk(r, STR("y"));
	TEST_ASSERT_EQUAL_STRING("\"y\"", written());
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(simple_replies_are_values);
	RUN(numbers_that_json_lacks_are_replaced);
	RUN(strings_are_escaped);
	RUN(a_long_string_is_written_whole);
	RUN(bytes_that_are_not_utf8_become_base64);
	RUN(a_key_that_is_not_utf8_is_still_a_string);
	RUN(aggregates_nest);
	RUN(json_texts_are_embedded);
	RUN(a_deferred_list_needs_no_count);
	RUN(what_follows_the_leave_stands_before_the_list);
	RUN(a_dropped_list_leaves_no_trace);
	RUN(a_text_in_pieces_is_one_json_text);
	RUN(a_name_wraps_the_reply);
	RUN(an_error_is_not_wrapped);
	RUN(an_error_in_a_list_is_an_element);
	RUN(an_error_replaces_a_reply_that_was_cut);
	RUN(a_null_is_left_to_the_caller);
	RUN(info_is_an_object_of_sections);
	RUN(clients_are_a_list_of_objects);
	RUN(nothing_is_written_while_the_reply_is_muted);
	return UNIT_RESULT();
}
