#include "command/endpoints.h"

#include "unit.h"
#include "util/buf.h"

static const struct qless_str queues[] = { STR_INIT("q1"), STR_INIT("q2") };
static const struct qless_str headers[] = { STR_INIT("X-A"), STR_INIT("1"), STR_INIT("X-B"),
					    STR_INIT("2") };
static const struct qless_str klass = STR_INIT("Send"), secret = STR_INIT("s3cret");
static struct endpoints *e;

void setUp(void)
{
	e = endpoints_new(/* hash_seed= */ 1);
}

void tearDown(void)
{
	endpoints_free(e);
}

static struct operation make_set(struct qless_str name)
{
	struct operation op = { .kind = OPERATION_ENDPOINT_SET };

	op.endpoint.name = name;
	op.endpoint.url = STR("http://a/b");
	op.endpoint.queues = (struct operation_names){ queues, 2 };
	op.endpoint.klass = &klass;
	op.endpoint.concurrency = 3;
	op.endpoint.timeout_s = 1.5;
	op.endpoint.headers = (struct operation_names){ headers, 4 };
	op.endpoint.secret = &secret;
	return op;
}

static bool set(struct qless_str name)
{
	struct operation op = make_set(name);

	return endpoints_apply(e, &op);
}

static bool pause(struct qless_str name, bool is_paused)
{
	struct operation op = { .kind = OPERATION_ENDPOINT_PAUSE };

	op.endpoint.name = name;
	op.endpoint.is_paused = is_paused;
	return endpoints_apply(e, &op);
}

static bool delete (struct qless_str name)
{
	struct operation op = { .kind = OPERATION_ENDPOINT_DELETE, .endpoint.name = name };

	return endpoints_apply(e, &op);
}

static void an_endpoint_keeps_what_was_set(void)
{
	const struct endpoint *found;

	TEST_ASSERT_TRUE(set(STR("mail")));
	found = endpoints_find(e, STR("mail"));
	TEST_ASSERT_NOT_NULL(found);
	ASSERT_STR("mail", found->name);
	ASSERT_STR("http://a/b", found->url);
	ASSERT_STR("Send", found->klass);
	ASSERT_STR("s3cret", found->secret);
	TEST_ASSERT_EQUAL_INT64(3, found->concurrency);
	TEST_ASSERT_EQUAL_DOUBLE(1.5, found->timeout_s);
	TEST_ASSERT_EQUAL_size_t(2, found->queue_count);
	ASSERT_STR("q2", found->queues[1]);
	TEST_ASSERT_EQUAL_size_t(2, found->header_count);
	ASSERT_STR("X-B", found->headers[1].name);
	ASSERT_STR("2", found->headers[1].value);
	TEST_ASSERT_FALSE(found->is_paused);
}

static void texts_that_are_not_given_are_absent(void)
{
	struct operation op = make_set(STR("mail"));

	op.endpoint.klass = op.endpoint.secret = NULL;
	op.endpoint.headers.count = 0;
	endpoints_apply(e, &op);
	TEST_ASSERT_NULL(endpoints_find(e, STR("mail"))->klass.ptr);
	TEST_ASSERT_NULL(endpoints_find(e, STR("mail"))->secret.ptr);
	TEST_ASSERT_EQUAL_size_t(0, endpoints_find(e, STR("mail"))->header_count);
}

static void a_pause_outlasts_new_settings(void)
{
	set(STR("mail"));
	TEST_ASSERT_TRUE(pause(STR("mail"), true));
	TEST_ASSERT_FALSE(pause(STR("mail"), true));
	set(STR("mail"));
	TEST_ASSERT_TRUE(endpoints_find(e, STR("mail"))->is_paused);
	TEST_ASSERT_TRUE(pause(STR("mail"), false));
	TEST_ASSERT_FALSE(endpoints_find(e, STR("mail"))->is_paused);
}

static void an_endpoint_that_is_absent_does_not_change(void)
{
	TEST_ASSERT_FALSE(pause(STR("mail"), true));
	TEST_ASSERT_FALSE(delete (STR("mail")));
	set(STR("mail"));
	TEST_ASSERT_TRUE(delete (STR("mail")));
	TEST_ASSERT_NULL(endpoints_find(e, STR("mail")));
	TEST_ASSERT_EQUAL_size_t(0, endpoints_count(e));
}

static void append_name(void *arg, const struct endpoint *endpoint)
{
	buf_append_str(arg, endpoint->name);
}

static void endpoints_are_visited_in_the_order_of_their_names(void)
{
	struct buf names = BUF_INIT(BUF_NO_MAX);

	set(STR("b"));
	set(STR("c"));
	set(STR("a"));
	endpoints_each(e, append_name, &names);
	ASSERT_STR("abc", buf_str(&names));
	endpoints_each(NULL, append_name, &names);
	TEST_ASSERT_EQUAL_size_t(3, names.len);
	buf_done(&names);
}

static void a_snapshot_makes_the_same_endpoints(void)
{
	struct buf first = BUF_INIT(BUF_NO_MAX), second = BUF_INIT(BUF_NO_MAX);
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct operation_room room = { 0 };
	struct qless_str rest;
	struct operation op;

	set(STR("b"));
	set(STR("a"));
	pause(STR("a"), true);
	endpoints_save(e, 5, &first);
	endpoints_free(e);
	e = endpoints_new(/* hash_seed= */ 2);
	for (rest = buf_str(&first); rest.len != 0;) {
		TEST_ASSERT_EQUAL_INT(0, operation_decode(&rest, &room, &op, &error));
		TEST_ASSERT_EQUAL_UINT(5, op.db);
		TEST_ASSERT_TRUE(endpoints_apply(e, &op));
	}
	endpoints_save(e, 5, &second);
	TEST_ASSERT_EQUAL_size_t(first.len, second.len);
	TEST_ASSERT_EQUAL_MEMORY(buf_data(&first), buf_data(&second), first.len);
	TEST_ASSERT_TRUE(endpoints_find(e, STR("a"))->is_paused);
	operation_room_done(&room);
	buf_done(&first);
	buf_done(&second);
	buf_done(&error);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_endpoint_keeps_what_was_set);
	RUN(texts_that_are_not_given_are_absent);
	RUN(a_pause_outlasts_new_settings);
	RUN(an_endpoint_that_is_absent_does_not_change);
	RUN(endpoints_are_visited_in_the_order_of_their_names);
	RUN(a_snapshot_makes_the_same_endpoints);
	return UNIT_RESULT();
}
