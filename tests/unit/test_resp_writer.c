#include "resp/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "unit.h"
#include "util/buf.h"
#include "util/mem.h"

static struct chunk_pool pool;
static struct chain out;
static struct reply w;

void setUp(void)
{
	chunk_pool_init(&pool, 4);
	chain_init(&out, &pool);
	resp_writer_init(&w, &out, 2);
}

void tearDown(void)
{
	chain_done(&out);
	chunk_pool_done(&pool);
}

/* Take everything out of the chain. */
static struct buf take(void)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct iovec piece;

	while (chain_peek(&out, &piece, 1, SIZE_MAX) != 0) {
		buf_append(&bytes, piece.iov_base, piece.iov_len);
		chain_consume(&out, piece.iov_len);
	}
	return bytes;
}

static void assert_written(struct qless_str expected)
{
	struct buf bytes = take();

	TEST_ASSERT_EQUAL_size_t(expected.len, bytes.len);
	if (expected.len != 0)
		TEST_ASSERT_EQUAL_MEMORY(expected.ptr, buf_data(&bytes), expected.len);
	buf_done(&bytes);
}

/* The bytes that a call writes in RESP2 and in RESP3. */
#define WRITES(call, resp2, resp3)            \
	do {                                  \
		resp_writer_set_proto(&w, 2); \
		call;                         \
		assert_written(STR(resp2));   \
		resp_writer_set_proto(&w, 3); \
		call;                         \
		assert_written(STR(resp3));   \
	} while (0)

#define WRITES_SAME(call, both) WRITES(call, both, both)

/* ---- simple replies ---- */

static void statuses_are_simple_strings(void)
{
	WRITES_SAME(reply_ok(&w), "+OK\r\n");
	WRITES_SAME(reply_status(&w, STR("Background saving started")),
		    "+Background saving started\r\n");
	WRITES_SAME(reply_status(&w, STR("")), "+\r\n");
}

static void errors_begin_with_their_code(void)
{
	WRITES_SAME(reply_error(&w, "ERR", STR("unknown command")), "-ERR unknown command\r\n");
	WRITES_SAME(reply_errorf(&w, "NOJOB", "no job %.*s in %d", 2, "abc", 7),
		    "-NOJOB no job ab in 7\r\n");
	WRITES_SAME(reply_error_line(&w, STR("NOAUTH Authentication required.")),
		    "-NOAUTH Authentication required.\r\n");
}

static void line_ends_in_a_text_become_blanks(void)
{
	WRITES_SAME(reply_status(&w, STR("a\r\n+b")), "+a  +b\r\n");
	WRITES_SAME(reply_error(&w, "ERR", STR("\na\rb\n")), "-ERR  a b \r\n");
	WRITES_SAME(reply_errorf(&w, "ERR", "%s", "x\r\n:1"), "-ERR x  :1\r\n");
	WRITES_SAME(reply_error_line(&w, STR("ERR\n\n")), "-ERR  \r\n");
	resp_writer_set_proto(&w, 3);
	reply_big_number(&w, STR("1\r\n2"));
	assert_written(STR("(1  2\r\n"));
}

static void a_formatted_error_is_cut_at_its_maximum(void)
{
	char *text = mem_alloc(REPLY_ERROR_TEXT_MAX + 2);
	struct buf expected = BUF_INIT(BUF_NO_MAX);

	memset(text, 'x', REPLY_ERROR_TEXT_MAX + 1);
	text[REPLY_ERROR_TEXT_MAX + 1] = '\0';
	reply_errorf(&w, "ERR", "%s", text);
	buf_printf(&expected, "-ERR %.*s\r\n", REPLY_ERROR_TEXT_MAX, text);
	assert_written(buf_str(&expected));
	buf_done(&expected);
	free(text);
}

static void errors_are_counted(void)
{
	reply_ok(&w);
	TEST_ASSERT_EQUAL_UINT64(0, w.errors);
	reply_error(&w, "ERR", STR("a"));
	reply_errorf(&w, "ERR", "b");
	reply_error_line(&w, STR("ERR c"));
	TEST_ASSERT_EQUAL_UINT64(3, w.errors);
}

static void integers_look_as_printf_writes_them(void)
{
	static const int64_t edges[] = {
		0, 1, -1, 9, 10, -9, -10, 99, 100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
	};
	unsigned long long state = 3;

	for (size_t i = 0; i < 5000; i++) {
		bool edge = i < sizeof edges / sizeof *edges;
		int64_t value = edge ? edges[i] : (int64_t)unit_random(&state);
		char expected[64];

		if (!edge)
			value >>= unit_random(&state) % 64;
		snprintf(expected, sizeof expected, ":%" PRId64 "\r\n", value);
		reply_integer(&w, value);
		assert_written(str_from(expected));
	}
}

static void booleans_are_integers_in_resp2(void)
{
	WRITES(reply_boolean(&w, true), ":1\r\n", "#t\r\n");
	WRITES(reply_boolean(&w, false), ":0\r\n", "#f\r\n");
}

static void resp2_has_two_kinds_of_nulls(void)
{
	WRITES(reply_null(&w), "$-1\r\n", "_\r\n");
	WRITES(reply_null_array(&w), "*-1\r\n", "_\r\n");
}

static void doubles_are_bulk_strings_in_resp2(void)
{
	WRITES(reply_double(&w, 0), "$1\r\n0\r\n", ",0\r\n");
	WRITES(reply_double(&w, -0.0), "$2\r\n-0\r\n", ",-0\r\n");
	WRITES(reply_double(&w, 3), "$1\r\n3\r\n", ",3\r\n");
	WRITES(reply_double(&w, -1.5), "$4\r\n-1.5\r\n", ",-1.5\r\n");
	WRITES(reply_double(&w, 0.1), "$19\r\n0.10000000000000001\r\n", ",0.10000000000000001\r\n");
	WRITES(reply_short_double(&w, 0.1), "$3\r\n0.1\r\n", ",0.1\r\n");
	WRITES(reply_short_double(&w, 1700000000.123456), "$15\r\n1700000000.1235\r\n",
	       ",1700000000.1235\r\n");
	WRITES(reply_short_double(&w, (double)INFINITY), "$3\r\ninf\r\n", ",inf\r\n");
	WRITES(reply_double(&w, 1e100), "$6\r\n1e+100\r\n", ",1e+100\r\n");
}

static void infinities_and_nan_have_names(void)
{
	WRITES(reply_double(&w, (double)INFINITY), "$3\r\ninf\r\n", ",inf\r\n");
	WRITES(reply_double(&w, (double)-INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n");
	WRITES(reply_double(&w, (double)NAN), "$3\r\nnan\r\n", ",nan\r\n");
	WRITES(reply_double(&w, -(double)NAN), "$3\r\nnan\r\n", ",nan\r\n");
}

static void doubles_look_as_printf_writes_them(void)
{
	unsigned long long state = 5;

	resp_writer_set_proto(&w, 3);
	for (int i = 0; i < 20000; i++) {
		unsigned long long bits = unit_random(&state);
		char expected[64];
		double value;

		memcpy(&value, &bits, sizeof value);
		if (i % 2 == 0)
			value = (double)(int64_t)(bits >> bits % 64) / (double)(1 + i % 8);
		if (isnan(value))
			continue;
		snprintf(expected, sizeof expected, ",%.17g\r\n", value);
		reply_double(&w, value);
		assert_written(str_from(expected));
	}
}

static void big_numbers_are_bulk_strings_in_resp2(void)
{
	WRITES(reply_big_number(&w, STR("-123456789012345678901234567890")),
	       "$31\r\n-123456789012345678901234567890\r\n",
	       "(-123456789012345678901234567890\r\n");
}

/* ---- strings ---- */

static void bulk_strings_hold_any_byte(void)
{
	WRITES_SAME(reply_bulk(&w, STR("")), "$0\r\n\r\n");
	WRITES_SAME(reply_bulk(&w, str_make(NULL, 0)), "$0\r\n\r\n");
	WRITES_SAME(reply_bulk(&w, STR("a\r\n\0b")), "$5\r\na\r\n\0b\r\n");
	WRITES_SAME(reply_bulk(&w, STR("hello, world")), "$12\r\nhello, world\r\n");
}

static void bulk_strings_of_any_length_are_complete(void)
{
	size_t max = 3 * CHAIN_CHUNK_BYTES;
	char *bytes = mem_alloc(max);
	struct buf expected = BUF_INIT(BUF_NO_MAX);
	unsigned long long state = 9;

	for (size_t i = 0; i < max; i++)
		bytes[i] = (char)unit_random(&state);
	for (size_t len = 0; len < max; len = len < 1100 ? len + 1 : len + len / 7) {
		reply_bulk(&w, str_make(bytes, len));
		buf_printf(&expected, "$%zu\r\n", len);
		buf_append(&expected, bytes, len);
		buf_append_str(&expected, STR("\r\n"));
	}
	assert_written(buf_str(&expected));
	buf_done(&expected);
	free(bytes);
}

static void numbers_may_be_bulk_strings(void)
{
	WRITES_SAME(reply_bulk_integer(&w, 0), "$1\r\n0\r\n");
	WRITES_SAME(reply_bulk_integer(&w, INT64_MIN), "$20\r\n-9223372036854775808\r\n");
}

static void formatted_bulk_strings_may_have_any_length(void)
{
	WRITES_SAME(reply_bulkf(&w, "%s", ""), "$0\r\n\r\n");
	WRITES_SAME(reply_bulkf(&w, "ql:q:%s-%d", "main", 7), "$11\r\nql:q:main-7\r\n");
	for (int len = 500; len < 40000; len = len < 520 ? len + 1 : 2 * len) {
		struct buf expected = BUF_INIT(BUF_NO_MAX);

		buf_printf(&expected, "$%d\r\n%*d\r\n", len, len, 5);
		reply_bulkf(&w, "%*d", len, 5);
		assert_written(buf_str(&expected));
		buf_done(&expected);
	}
}

static void verbatim_strings_have_their_type_in_resp3(void)
{
	WRITES(reply_verbatim(&w, "txt", STR("Some\r\nstring")), "$12\r\nSome\r\nstring\r\n",
	       "=16\r\ntxt:Some\r\nstring\r\n");
	WRITES(reply_verbatim(&w, "mkd", STR("")), "$0\r\n\r\n", "=4\r\nmkd:\r\n");
}

/* ---- aggregates ---- */

static void every_aggregate_is_an_array_in_resp2(void)
{
	WRITES(reply_array(&w, 3), "*3\r\n", "*3\r\n");
	WRITES(reply_map(&w, 3), "*6\r\n", "%3\r\n");
	WRITES(reply_set(&w, 0), "*0\r\n", "~0\r\n");
	WRITES(reply_push(&w, 123456), "*123456\r\n", ">123456\r\n");
}

static void write_deferred_map(void)
{
	struct reply_deferred map, list;

	reply_deferred_begin(&w, &map, REPLY_MAP);
	reply_bulk(&w, STR("a"));
	reply_deferred_begin(&w, &list, REPLY_ARRAY);
	reply_integer(&w, 1);
	reply_null(&w);
	reply_deferred_end(&w, &list, 2);
	reply_deferred_end(&w, &map, 1);
	reply_ok(&w);
}

static void a_deferred_count_precedes_its_values(void)
{
	WRITES(write_deferred_map(), "*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n+OK\r\n",
	       "%1\r\n$1\r\na\r\n*2\r\n:1\r\n_\r\n+OK\r\n");
	TEST_ASSERT_EQUAL_PTR(&out, w.out);
}

static void a_deferred_text_is_one_bulk_string(void)
{
	struct reply_deferred bulk;

	reply_ok(&w);
	reply_deferred_begin(&w, &bulk, REPLY_TEXT);
	reply_deferred_append(&w, &bulk, STR("{\"jid\":"));
	reply_deferred_append(&w, &bulk, STR("1}"));
	reply_deferred_end(&w, &bulk, 0);
	assert_written(STR("+OK\r\n$9\r\n{\"jid\":1}\r\n"));

	reply_deferred_begin(&w, &bulk, REPLY_TEXT);
	reply_deferred_end(&w, &bulk, 0);
	assert_written(STR("$0\r\n\r\n"));
}

/* Values after the one that is too large are not written either, at any depth. */
static void a_reply_is_full_when_a_value_exceeds_its_limit(void)
{
	struct reply_deferred map, list;

	reply_status(&w, STR("before"));
	w.max = out.len + 40;
	reply_deferred_begin(&w, &map, REPLY_MAP);
	reply_bulk(&w, STR("a"));
	reply_deferred_begin(&w, &list, REPLY_ARRAY);
	reply_bulk(&w, STR("12345678901234567890"));
	TEST_ASSERT_FALSE(w.is_full);
	reply_bulk(&w, STR("12345678901234567890"));
	TEST_ASSERT_TRUE(w.is_full && !reply_is_wanted(&w));
	reply_integer(&w, 1);
	reply_deferred_end(&w, &list, 3);
	reply_deferred_end(&w, &map, 1);
	reply_cut(&w, 9);
	w.max = REPLY_NO_MAX;
	reply_error(&w, "ERR", STR("large"));
	assert_written(STR("+before\r\n-ERR large\r\n"));
}

static void large_deferred_replies_are_complete(void)
{
	struct buf expected = BUF_INIT(BUF_NO_MAX);
	struct reply_deferred list;

	reply_deferred_begin(&w, &list, REPLY_ARRAY);
	buf_append_str(&expected, STR("*20000\r\n"));
	for (int i = 0; i < 20000; i++) {
		reply_integer(&w, i);
		buf_printf(&expected, ":%d\r\n", i);
	}
	reply_deferred_end(&w, &list, 20000);
	assert_written(buf_str(&expected));
	buf_done(&expected);
}

static void small_deferred_replies_share_chunks(void)
{
	struct reply_deferred list;

	for (int i = 0; i < 1000; i++) {
		reply_deferred_begin(&w, &list, REPLY_ARRAY);
		reply_integer(&w, i);
		reply_deferred_end(&w, &list, 1);
	}
	TEST_ASSERT_TRUE(out.allocated <= 2 * (CHAIN_CHUNK_BYTES + sizeof(struct chunk)));
}

static void deferred_replies_can_be_dropped(void)
{
	struct reply_deferred list;

	reply_ok(&w);
	reply_deferred_begin(&w, &list, REPLY_ARRAY);
	reply_integer(&w, 1);
	reply_error(&w, "ERR", STR("x"));
	reply_deferred_drop(&w, &list);
	reply_null(&w);
	assert_written(STR("+OK\r\n$-1\r\n"));
	TEST_ASSERT_EQUAL_UINT64(1, w.errors);
}

/* ---- the writer ---- */

static void write_one_of_each(void)
{
	struct reply_deferred d;
	char large[2000] = "";

	reply_ok(&w);
	reply_status(&w, STR("x"));
	reply_error(&w, "ERR", STR("x"));
	reply_errorf(&w, "ERR", "x");
	reply_error_line(&w, STR("ERR x"));
	reply_integer(&w, 12);
	reply_boolean(&w, true);
	reply_null(&w);
	reply_null_array(&w);
	reply_double(&w, 1.5);
	reply_big_number(&w, STR("1"));
	reply_bulk(&w, STR("x"));
	reply_bulk(&w, str_make(large, sizeof large));
	reply_bulk_integer(&w, 12);
	reply_bulkf(&w, "%d", 1);
	reply_bulkf(&w, "%2000d", 1);
	reply_verbatim(&w, "txt", STR("x"));
	reply_map(&w, 1);
	reply_status(&w, STR("PONG"));
	reply_deferred_begin(&w, &d, REPLY_SET);
	reply_ok(&w);
	reply_deferred_end(&w, &d, 1);
	reply_deferred_begin(&w, &d, REPLY_TEXT);
	reply_deferred_append(&w, &d, STR("x"));
	reply_deferred_end(&w, &d, 0);
}

static void a_muted_writer_writes_nothing_but_counts_errors(void)
{
	w.muted = true;
	write_one_of_each();
	resp_writer_set_proto(&w, 3);
	write_one_of_each();
	TEST_ASSERT_EQUAL_size_t(0, out.len);
	TEST_ASSERT_EQUAL_size_t(0, out.allocated);
	TEST_ASSERT_EQUAL_UINT64(6, w.errors);
	w.muted = false;
	reply_ok(&w);
	assert_written(STR("+OK\r\n"));
}

static void common_replies_are_complete(void)
{
	reply_ok(&w);
	reply_status(&w, STR("PONG"));
	reply_status(&w, STR("QUEUED"));
	reply_integer(&w, 0);
	reply_integer(&w, 1);
	reply_bulk(&w, STR(""));
	reply_array(&w, 0);
	assert_written(STR("+OK\r\n+PONG\r\n+QUEUED\r\n:0\r\n:1\r\n$0\r\n\r\n*0\r\n"));
}

static void replies_of_many_chunks_keep_their_order(void)
{
	struct buf once, expected = BUF_INIT(BUF_NO_MAX);

	write_one_of_each();
	once = take();
	for (int i = 0; i < 50; i++) {
		write_one_of_each();
		buf_append_str(&expected, buf_str(&once));
	}
	assert_written(buf_str(&expected));
	buf_done(&once);
	buf_done(&expected);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(statuses_are_simple_strings);
	RUN(errors_begin_with_their_code);
	RUN(line_ends_in_a_text_become_blanks);
	RUN(a_formatted_error_is_cut_at_its_maximum);
	RUN(errors_are_counted);
	RUN(integers_look_as_printf_writes_them);
	RUN(booleans_are_integers_in_resp2);
	RUN(resp2_has_two_kinds_of_nulls);
	RUN(doubles_are_bulk_strings_in_resp2);
	RUN(infinities_and_nan_have_names);
	RUN(doubles_look_as_printf_writes_them);
	RUN(big_numbers_are_bulk_strings_in_resp2);
	RUN(bulk_strings_hold_any_byte);
	RUN(bulk_strings_of_any_length_are_complete);
	RUN(numbers_may_be_bulk_strings);
	RUN(formatted_bulk_strings_may_have_any_length);
	RUN(verbatim_strings_have_their_type_in_resp3);
	RUN(every_aggregate_is_an_array_in_resp2);
	RUN(a_deferred_count_precedes_its_values);
	RUN(a_deferred_text_is_one_bulk_string);
	RUN(a_reply_is_full_when_a_value_exceeds_its_limit);
	RUN(large_deferred_replies_are_complete);
	RUN(small_deferred_replies_share_chunks);
	RUN(deferred_replies_can_be_dropped);
	RUN(a_muted_writer_writes_nothing_but_counts_errors);
	RUN(common_replies_are_complete);
	RUN(replies_of_many_chunks_keep_their_order);
	return UNIT_RESULT();
}
