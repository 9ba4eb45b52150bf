#include "benchmark/request.h"

#include "unit.h"

#define JID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define JID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct request r;
static struct buf out;
static const struct request_values values = {
	.jids = JID_A JID_B,
	.queue = "bench-00000000-000007",
	.worker = "worker-0000003",
	.time = "1795016646.603200",
	.number = "0000000042",
};

void setUp(void)
{
	r = (struct request){ 0 };
	buf_init(&out, BUF_NO_MAX);
}

void tearDown(void)
{
	request_done(&r);
	buf_done(&out);
}

static void a_plain_request_has_only_its_arguments(void)
{
	request_begin(&r, REQUEST_PLAIN, NULL, "PING");
	request_end(&r);
	request_write(&r, &values, &out);
	ASSERT_STR("*1\r\n$4\r\nPING\r\n", buf_str(&out));
}

static void places_are_filled_with_their_values(void)
{
	request_begin(&r, REQUEST_PLAIN, NULL, "x");
	request_add_all(&r, (const char *const[]){ "%q", "%w", "%j", "%n", NULL });
	request_end(&r);
	request_write(&r, &values, &out);
	ASSERT_STR("*5\r\n$1\r\nx\r\n$21\r\nbench-00000000-000007\r\n$14\r\nworker-0000003\r\n"
		   "$32\r\n" JID_A "\r\n$10\r\n0000000042\r\n",
		   buf_str(&out));
}

static void jids_fill_their_places_in_order(void)
{
	request_begin(&r, REQUEST_PLAIN, NULL, "x");
	request_add(&r, "[\"%j\",\"%j\"]");
	request_end(&r);
	request_write(&r, &values, &out);
	ASSERT_STR("*2\r\n$1\r\nx\r\n$71\r\n[\"" JID_A "\",\"" JID_B "\"]\r\n", buf_str(&out));
}

static void dialects_put_the_time_after_the_command(void)
{
	request_begin(&r, REQUEST_QLESS, NULL, "get");
	request_end(&r);
	request_write(&r, &values, &out);
	ASSERT_STR("*3\r\n$5\r\nQLESS\r\n$3\r\nget\r\n$17\r\n1795016646.603200\r\n", buf_str(&out));

	buf_clear(&out);
	request_begin(&r, REQUEST_EVALSHA, "0123", "get");
	request_end(&r);
	request_write(&r, &values, &out);
	ASSERT_STR("*5\r\n$7\r\nEVALSHA\r\n$4\r\n0123\r\n$1\r\n0\r\n$3\r\nget\r\n"
		   "$17\r\n1795016646.603200\r\n",
		   buf_str(&out));
}

static void writing_again_starts_from_the_first_jid(void)
{
	request_begin(&r, REQUEST_PLAIN, NULL, "%j");
	request_end(&r);
	request_write(&r, &values, &out);
	request_write(&r, &values, &out);
	ASSERT_STR("*1\r\n$32\r\n" JID_A "\r\n*1\r\n$32\r\n" JID_A "\r\n", buf_str(&out));
}

static void a_request_can_have_many_places(void)
{
	static char jids[100 * REQUEST_JID_BYTES];
	struct request_values many = values;

	memset(jids, 'c', sizeof jids);
	many.jids = jids;
	request_begin(&r, REQUEST_PLAIN, NULL, "x");
	for (int i = 0; i < 100; i++)
		request_add(&r, "%j");
	request_end(&r);
	request_write(&r, &many, &out);
	TEST_ASSERT_EQUAL_size_t(sizeof "*101\r\n$1\r\nx\r\n" - 1 + 100 * (5 + 32 + 2), out.len);
	TEST_ASSERT_EQUAL_MEMORY(jids, buf_data(&out) + out.len - 34, 32);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_plain_request_has_only_its_arguments);
	RUN(places_are_filled_with_their_values);
	RUN(jids_fill_their_places_in_order);
	RUN(dialects_put_the_time_after_the_command);
	RUN(writing_again_starts_from_the_first_jid);
	RUN(a_request_can_have_many_places);
	return UNIT_RESULT();
}
