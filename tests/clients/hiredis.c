/*
 * hiredis, with blocking and with asynchronous connections, as a worker that waits for jobs uses
 * it.
 *
 * usage: hiredis_client; with_qlessd runs it. It prints its cases in the Test Anything Protocol.
 */
#include <event2/event.h>
#include <hiredis/adapters/libevent.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define PATIENCE_S 30
#define POLL_US	   10000

#define EXPECT(condition)                                                                   \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
			has_failed = true;                                                  \
		}                                                                           \
	} while (0)

static bool has_failed;
static int port;
static redisContext *admin;

static redisContext *connect_to_server(void)
{
	redisContext *context = redisConnect("127.0.0.1", port);
	struct timeval patience = { .tv_sec = PATIENCE_S };

	EXPECT(context != NULL && context->err == 0);
	redisSetTimeout(context, patience);
	return context;
}

/* Expects that the reply has this type, and a text. */
static void expect_reply(redisReply *reply, int type, const char *text)
{
	EXPECT(reply != NULL);
	if (reply == NULL)
		return;
	EXPECT(reply->type == type);
	if (text != NULL && reply->str != NULL && strstr(reply->str, text) == NULL) {
		fprintf(stderr, "%s instead of %s\n", reply->str, text);
		has_failed = true;
	}
	freeReplyObject(reply);
}

static void expect_number(redisReply *reply, long long number)
{
	EXPECT(reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == number);
	freeReplyObject(reply);
}

/* Returns the number in a section of INFO, or -1 while the server does not reply. */
static long long ask_info(const char *section, const char *field)
{
	redisReply *reply = redisCommand(admin, "INFO %s", section);
	const char *at = reply != NULL && reply->str != NULL ? strstr(reply->str, field) : NULL;
	long long number = at != NULL ? strtoll(at + strlen(field), NULL, 10) : -1;

	if (reply == NULL)
		redisReconnect(admin);
	freeReplyObject(reply);
	return number;
}

static void await_waiting_client(void)
{
	while (ask_info("clients", "blocked_clients:") != 1)
		usleep(POLL_US);
}

static void put(const char *jid)
{
	expect_reply(redisCommand(admin, "PUT w q %s klass {} 0", jid), REDIS_REPLY_STRING, jid);
}

/* Kill the server, which is then started again, and wait for the new one. */
static void restart(void)
{
	long long pid = ask_info("server", "process_id:"), now;

	kill((pid_t)pid, SIGKILL);
	do {
		usleep(POLL_US);
		now = ask_info("server", "process_id:");
	} while (now < 0 || now == pid);
}

/* ---- blocking connections ---- */

/* Sends BPOP, and returns while it waits. */
static void begin_to_wait(redisContext *worker)
{
	int is_done = 0;

	redisAppendCommand(worker, "BPOP 0 w 1 q");
	while (!is_done)
		redisBufferWrite(worker, &is_done);
	await_waiting_client();
}

static redisReply *end_of_wait(redisContext *worker)
{
	void *reply = NULL;

	redisGetReply(worker, &reply);
	return reply;
}

static long long id_of(redisContext *worker)
{
	redisReply *reply = redisCommand(worker, "CLIENT ID");
	long long id = reply->integer;

	freeReplyObject(reply);
	return id;
}

static void a_worker_waits_for_a_job(void)
{
	redisContext *worker = connect_to_server();

	expect_reply(redisCommand(worker, "BPOP 0.01 w 1 q"), REDIS_REPLY_NIL, NULL);
	begin_to_wait(worker);
	put("j1");
	expect_reply(end_of_wait(worker), REDIS_REPLY_STRING, "\"jid\":\"j1\"");
	put("j2");
	expect_reply(redisCommand(worker, "BPOP 0 w 1 q"), REDIS_REPLY_STRING, "\"jid\":\"j2\"");
	redisFree(worker);
}

static void a_worker_that_waits_is_unblocked(void)
{
	redisContext *worker = connect_to_server();
	long long id = id_of(worker);

	begin_to_wait(worker);
	expect_number(redisCommand(admin, "CLIENT UNBLOCK %lld", id), 1);
	expect_reply(end_of_wait(worker), REDIS_REPLY_NIL, NULL);
	begin_to_wait(worker);
	expect_number(redisCommand(admin, "CLIENT UNBLOCK %lld TIMEOUT", id), 1);
	expect_reply(end_of_wait(worker), REDIS_REPLY_NIL, NULL);
	begin_to_wait(worker);
	expect_number(redisCommand(admin, "CLIENT UNBLOCK %lld ERROR", id), 1);
	expect_reply(end_of_wait(worker), REDIS_REPLY_ERROR, "UNBLOCKED ");
	expect_number(redisCommand(admin, "CLIENT UNBLOCK %lld", id), 0);
	redisFree(worker);
}

static void a_worker_connects_again_after_a_restart(void)
{
	redisContext *worker = connect_to_server();

	begin_to_wait(worker);
	restart();
	EXPECT(end_of_wait(worker) == NULL);
	EXPECT(worker->err == REDIS_ERR_EOF || worker->err == REDIS_ERR_IO);
	EXPECT(redisReconnect(worker) == REDIS_OK);
	begin_to_wait(worker);
	put("j");
	expect_reply(end_of_wait(worker), REDIS_REPLY_STRING, "\"jid\":\"j\"");
	redisFree(worker);
}

/* The library gives up the connection, and the server the wait. The job is left for others. */
static void a_worker_with_less_patience_than_bpop_gets_no_job(void)
{
	redisContext *worker = connect_to_server();
	struct timeval soon = { .tv_usec = 1000 };

	redisSetTimeout(worker, soon);
	EXPECT(redisCommand(worker, "BPOP 0 w 1 q") == NULL && worker->err == REDIS_ERR_IO);
	redisFree(worker);
	while (ask_info("clients", "blocked_clients:") != 0)
		usleep(POLL_US);
	put("j");
	expect_reply(redisCommand(admin, "BPOP 0 w 1 q"), REDIS_REPLY_STRING, "\"jid\":\"j\"");
}

/* ---- asynchronous connections ---- */

static struct event_base *base;
static struct event *poll_timer;
static redisAsyncContext *async;
static long long async_id;
static int async_step; /* number of replies to BPOP */
static bool is_disconnected;

static void on_disconnect(const redisAsyncContext *context, int status)
{
	(void)context;
	EXPECT(status == REDIS_ERR);
	is_disconnected = true;
}

static void wait_again(void);

/* The replies come in the order of the events that await_and_act() causes. */
static void on_bpop(redisAsyncContext *context, void *r, void *data)
{
	const redisReply *reply = r;

	(void)data;
	switch (async_step++) {
	case 0:
		EXPECT(reply != NULL && reply->type == REDIS_REPLY_STRING &&
		       strstr(reply->str, "\"jid\":\"j\"") != NULL);
		break;
	case 1:
		EXPECT(reply != NULL && reply->type == REDIS_REPLY_NIL);
		break;
	case 2:
		EXPECT(reply != NULL && reply->type == REDIS_REPLY_ERROR &&
		       strncmp(reply->str, "UNBLOCKED ", strlen("UNBLOCKED ")) == 0);
		break;
	default:
		EXPECT(reply == NULL && context->err != 0);
		event_base_loopbreak(base);
		return;
	}
	wait_again();
}

static void on_id(redisAsyncContext *context, void *r, void *data)
{
	const redisReply *reply = r;

	(void)context;
	(void)data;
	EXPECT(reply != NULL && reply->type == REDIS_REPLY_INTEGER);
	async_id = reply != NULL ? reply->integer : 0;
	wait_again();
}

static void on_timeout(redisAsyncContext *context, void *r, void *data)
{
	const redisReply *reply = r;

	(void)data;
	EXPECT(reply != NULL && reply->type == REDIS_REPLY_NIL);
	redisAsyncCommand(context, on_id, NULL, "CLIENT ID");
}

/* Act when the server says that the worker waits. */
static void await_and_act(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = { .tv_usec = POLL_US };

	(void)fd;
	(void)what;
	(void)arg;
	if (ask_info("clients", "blocked_clients:") != 1) {
		event_add(poll_timer, &soon);
		return;
	}
	switch (async_step) {
	case 0:
		put("j");
		break;
	case 1:
		expect_number(redisCommand(admin, "CLIENT UNBLOCK %lld", async_id), 1);
		break;
	case 2:
		expect_number(redisCommand(admin, "CLIENT UNBLOCK %lld ERROR", async_id), 1);
		break;
	default:
		restart();
	}
}

static void wait_again(void)
{
	const struct timeval soon = { .tv_usec = POLL_US };

	redisAsyncCommand(async, on_bpop, NULL, "BPOP 0 w 1 q");
	event_add(poll_timer, &soon);
}

static void an_asynchronous_worker_waits_for_jobs(void)
{
	async_step = 0;
	is_disconnected = false;
	base = event_base_new();
	poll_timer = event_new(base, -1, 0, await_and_act, NULL);
	async = redisAsyncConnect("127.0.0.1", port);
	EXPECT(async != NULL && async->err == 0);
	redisLibeventAttach(async, base);
	redisAsyncSetDisconnectCallback(async, on_disconnect);
	redisAsyncCommand(async, on_timeout, NULL, "BPOP 0.01 w 1 q");
	event_base_dispatch(base);
	EXPECT(async_step == 4);
	EXPECT(is_disconnected);
	event_free(poll_timer);
	event_base_free(base);
}

static const struct {
	const char *name;
	void (*run)(void);
} checks[] = {
	{ "a worker waits for a job", a_worker_waits_for_a_job },
	{ "a worker that waits is unblocked", a_worker_that_waits_is_unblocked },
	{ "a worker connects again after a restart", a_worker_connects_again_after_a_restart },
	{ "a worker with less patience than BPOP gets no job",
	  a_worker_with_less_patience_than_bpop_gets_no_job },
	{ "an asynchronous worker waits for jobs", an_asynchronous_worker_waits_for_jobs },
};

int main(void)
{
	const size_t count = sizeof checks / sizeof checks[0];
	int failed = 0;

	signal(SIGPIPE, SIG_IGN);
	port = atoi(getenv("QLESSD_PORT"));
	admin = connect_to_server();
	printf("1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		freeReplyObject(redisCommand(admin, "FLUSHALL"));
		has_failed = false;
		checks[i].run();
		failed += has_failed;
		printf("%s %zu - %s\n", has_failed ? "not ok" : "ok", i + 1, checks[i].name);
		fflush(stdout);
	}
	redisFree(admin);
	return failed != 0;
}
