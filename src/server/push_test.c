/*
 * ENDPOINT.TEST: posts a body that is no job, and tells its client how that went.
 */
#include <math.h>
#include <stdlib.h>

#include "server/push_int.h"
#include "server/server_int.h"
#include "util/json.h"
#include "util/mem.h"

/* Seconds that a test may take if the endpoint has no timeout. */
#define TEST_TIMEOUT_S 60

/* A test under way. */
struct test_post {
	struct push *push;
	struct post *post;
	struct waiting *waiting; /* the command of the client */
	const void *work;	 /* stands for it */
	TAILQ_ENTRY(test_post) link;
};

static void test_free(struct test_post *test)
{
	TAILQ_REMOVE(&test->push->tests, test, link);
	free(test);
}

static void on_answer(void *arg, const struct post_answer *answer)
{
	struct test_post *test = arg;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_printf(&text, "%d\n%.0f\n", answer->status, ceil(answer->seconds * 1000));
	if (answer->status == 0)
		push_append_text(&text, str_from(answer->error), 256);
	waiting_wake(test->waiting, &text);
	buf_done(&text);
	test_free(test);
}

const char *push_test_begin(void *arg, struct request *req, const struct endpoint *endpoint,
			    const void *work)
{
	struct server *s = arg;
	struct push *push = push_need(s);
	struct buf body = BUF_INIT(BUF_NO_MAX);
	struct push_headers headers;
	struct test_post *test;

	(void)req;
	if (push->client == NULL)
		return buf_cstr(&push->unavailable);
	buf_append_str(&body, STR("{\"test\":true,\"endpoint\":"));
	json_append_plain_string(&body, endpoint->name);
	buf_append_char(&body, '}');
	push_headers_init(&headers, endpoint, NULL, buf_str(&body));
	test = mem_zalloc(sizeof *test);
	test->push = push;
	test->work = work;
	test->waiting = waiting_sleep_for_answer(s);
	test->post = push_client_post(
		push->client,
		&(struct post_request){ .url = endpoint->url,
					.body = buf_str(&body),
					.timeout_s = endpoint->timeout_s > 0 ? endpoint->timeout_s
									     : TEST_TIMEOUT_S,
					.headers = headers.lines,
					.header_count = headers.count },
		on_answer, test);
	TAILQ_INSERT_TAIL(&push->tests, test, link);
	push_headers_done(&headers);
	buf_done(&body);
	return NULL;
}

void push_test_end(void *arg, const void *work)
{
	struct server *s = arg;
	struct test_post *test;

	if (s->push == NULL)
		return;
	TAILQ_FOREACH(test, &s->push->tests, link) {
		if (test->work == work) {
			post_cancel(test->post);
			test_free(test);
			return;
		}
	}
}

void push_tests_cancel(struct push *push)
{
	struct test_post *test;

	while ((test = TAILQ_FIRST(&push->tests)) != NULL) {
		post_cancel(test->post);
		test_free(test);
	}
}
