/*
 * Clients that load qless as a script, over real connections.
 */
#include <hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "luatext.h"
#include "peer.h"
#include "unit.h"
#include "util/buf.h"
#include "wait.h"

#define ARGS_MAX 32

static struct qlessd q;
static redisContext *client;
static redisReply *reply; /* of the last request */
static char sha[41];	  /* of LUATEXT_CLASSIC */

void setUp(void)
{
	QLESSD_START(&q, "--clock-skew-warning", "0");
	client = redisConnect("127.0.0.1", q.port);
	TEST_ASSERT_EQUAL_INT(0, client->err);
}

void tearDown(void)
{
	freeReplyObject(reply);
	reply = NULL;
	redisFree(client);
	peer_close_all();
	qlessd_stop(&q);
}

/* Send words that end with NULL. */
static const redisReply *send_words(const char *first, ...)
{
	const char *argv[ARGS_MAX];
	va_list words;
	int argc = 0;

	va_start(words, first);
	for (const char *word = first; word != NULL; word = va_arg(words, const char *)) {
		TEST_ASSERT_TRUE(argc < ARGS_MAX);
		argv[argc++] = word;
	}
	va_end(words);
	freeReplyObject(reply);
	reply = redisCommandArgv(client, argc, argv, NULL);
	TEST_ASSERT_NOT_NULL_MESSAGE(reply, client->errstr);
	return reply;
}

#define SEND(...)   send_words(__VA_ARGS__, (char *)NULL)
#define SCRIPT(...) SEND("EVALSHA", sha, "0", __VA_ARGS__)

#define ASSERT_TEXT(kind, text, call)                                       \
	do {                                                                \
		const redisReply *got_ = (call);                            \
		TEST_ASSERT_EQUAL_INT_MESSAGE(kind, got_->type, got_->str); \
		TEST_ASSERT_EQUAL_STRING(text, got_->str);                  \
	} while (0)
#define ASSERT_STRING(text, call) ASSERT_TEXT(REDIS_REPLY_STRING, text, call)
#define ASSERT_STATUS(text, call) ASSERT_TEXT(REDIS_REPLY_STATUS, text, call)
#define ASSERT_ERROR(text, call)  ASSERT_TEXT(REDIS_REPLY_ERROR, text, call)
#define ASSERT_INTEGER(number, call)                                    \
	do {                                                            \
		const redisReply *got_ = (call);                        \
		TEST_ASSERT_EQUAL_INT(REDIS_REPLY_INTEGER, got_->type); \
		TEST_ASSERT_EQUAL_INT64(number, got_->integer);         \
	} while (0)

static void load(void)
{
	const redisReply *r = SEND("SCRIPT", "LOAD", LUATEXT_CLASSIC);

	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_STRING, r->type);
	TEST_ASSERT_EQUAL_INT(40, r->len);
	memcpy(sha, r->str, sizeof sha);
}

/* Do as client libraries do: call by SHA-1, and send the text if that is unknown. */
static const redisReply *send_with_fallback(const char *command, const char *now, const char *arg)
{
	const redisReply *r = SCRIPT(command, now, arg);

	if (r->type == REDIS_REPLY_ERROR && strncmp(r->str, "NOSCRIPT ", 9) == 0)
		r = SEND("EVAL", LUATEXT_CLASSIC, "0", command, now, arg);
	return r;
}

static void a_job_goes_through_its_life_by_script_calls(void)
{
	load();
	ASSERT_STRING("j", SCRIPT("put", "10", "w", "q", "j", "klass", "{\"a\": [1]}", "0"));
	ASSERT_INTEGER(1, SCRIPT("length", "11", "q"));
	TEST_ASSERT_NOT_NULL(
		strstr(SCRIPT("pop", "12", "q", "w", "1")->str, "\"data\":\"{\\\"a\\\": [1]}\""));
	ASSERT_INTEGER(73, SCRIPT("heartbeat", "13.9", "j", "w"));
	ASSERT_STRING("complete", SCRIPT("complete", "14", "j", "w", "q", "{}"));
	TEST_ASSERT_NOT_NULL(strstr(SEND("GET", "j")->str, "\"state\":\"complete\""));
	ASSERT_STRING("{}", SCRIPT("pop", "15", "q", "w", "1"));
}

static void a_loaded_script_is_known_to_all_connections(void)
{
	struct peer *other = peer_connect(&q);
	char request[128];

	load();
	snprintf(request, sizeof request, "EVALSHA %s 0 length 1 q", sha);
	ASK(other, request, ":0\r\n");
	ASK(other, "SCRIPT FLUSH", "+OK\r\n");
	ASSERT_INTEGER(0, SEND("SCRIPT", "EXISTS", sha)->element[0]);
	ASSERT_ERROR("NOSCRIPT No matching script. Please use EVAL.", SCRIPT("length", "1", "q"));
	ASSERT_INTEGER(0, send_with_fallback("length", "1", "q"));
	ASSERT_INTEGER(0, SCRIPT("length", "1", "q"));
	ASSERT_INTEGER(1, SEND("SCRIPT", "EXISTS", sha)->element[0]);
	TEST_ASSERT_EQUAL_INT64(1,
				peer_ask_number(other, "INFO memory", "number_of_cached_scripts:"));
}

static void flushall_keeps_scripts(void)
{
	load();
	SCRIPT("put", "1", "w", "q", "j", "klass", "{}", "0");
	ASSERT_STATUS("OK", SEND("FLUSHALL"));
	ASSERT_INTEGER(0, SCRIPT("length", "1", "q"));
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_NIL, SEND("GET", "j")->type);
}

static void scripts_run_within_a_transaction(void)
{
	load();
	ASSERT_STATUS("OK", SEND("MULTI"));
	ASSERT_STATUS("QUEUED", SCRIPT("put", "1", "w", "q", "j", "klass", "{}", "0"));
	ASSERT_STATUS("QUEUED", SCRIPT("nope", "1"));
	ASSERT_STATUS("QUEUED", SCRIPT("length", "1", "q"));
	SEND("EXEC");
	TEST_ASSERT_EQUAL_INT(3, reply->elements);
	ASSERT_STRING("j", reply->element[0]);
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_ERROR, reply->element[1]->type);
	ASSERT_INTEGER(1, reply->element[2]);
}

/* Returns everything that is published until a subscriber to `*` receives "end", without the
 * framing of messages. */
static char *hear(struct peer *listener)
{
	struct buf heard = BUF_INIT(BUF_NO_MAX);
	const char *message;
	char *text;

	SEND("PUBLISH", "sentinel", "end");
	do {
		message = peer_reply(listener);
		buf_append_str(&heard, str_from(message));
	} while (strstr(message, "sentinel") == NULL);
	text = strdup(buf_cstr(&heard));
	buf_done(&heard);
	return text;
}

static void scripts_can_be_loaded_and_flushed_in_a_transaction(void)
{
	load();
	ASSERT_STATUS("OK", SEND("MULTI"));
	SEND("SCRIPT", "FLUSH", "ASYNC");
	SCRIPT("length", "1", "q");
	SEND("SCRIPT", "LOAD", LUATEXT_CLASSIC);
	SCRIPT("length", "1", "q");
	SEND("EXEC");
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_ARRAY, reply->type);
	TEST_ASSERT_EQUAL_size_t(4, reply->elements);
	TEST_ASSERT_EQUAL_STRING("NOSCRIPT No matching script. Please use EVAL.",
				 reply->element[1]->str);
	TEST_ASSERT_EQUAL_STRING(sha, reply->element[2]->str);
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_INTEGER, reply->element[3]->type);
}

/* A listing by another client can move a job that is due. */
static void a_watch_notices_jobs_that_a_listing_moved(void)
{
	redisContext *other;

	load();
	SCRIPT("put", "1", "w", "q", "j", "k", "{}", "5");
	other = redisConnect("127.0.0.1", q.port);
	TEST_ASSERT_EQUAL_INT(0, other->err);
	ASSERT_STATUS("OK", SEND("WATCH", "ql:j:j"));
	freeReplyObject(redisCommand(other, "EVALSHA_RO %s 0 queues 100", sha));
	freeReplyObject(redisCommand(other, "EVALSHA %s 0 queues 2", sha));
	SEND("MULTI");
	SCRIPT("length", "2", "q");
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_ARRAY, SEND("EXEC")->type);
	ASSERT_STATUS("OK", SEND("WATCH", "ql:j:j"));
	freeReplyObject(redisCommand(other, "EVALSHA %s 0 queues 100", sha));
	SEND("MULTI");
	SCRIPT("length", "2", "q");
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_NIL, SEND("EXEC")->type);
	redisFree(other);
}

static void scripts_publish_the_events_of_native_commands(void)
{
	struct peer *listener = peer_connect(&q);
	char *native, *script;

	load();
	peer_send_words(listener, "PSUBSCRIBE *");
	peer_reply(listener);
	SEND("CONFIG.SET", "grace-period", "0");
	SEND("PUT", "w", "q", "j", "klass", "{}", "0");
	SEND("TRACK", "track", "j");
	SEND("POP", "q", "w", "1");
	SEND("FAIL", "j", "w", "group", "text");
	native = hear(listener);

	SEND("FLUSHALL");
	SCRIPT("config.set", "1", "grace-period", "0");
	SCRIPT("put", "2", "w", "q", "j", "klass", "{}", "0");
	SCRIPT("track", "3", "track", "j");
	SCRIPT("pop", "4", "q", "w", "1");
	SCRIPT("fail", "5", "j", "w", "group", "text");
	script = hear(listener);

	TEST_ASSERT_NOT_NULL(strstr(native, "ql:failed"));
	TEST_ASSERT_EQUAL_STRING(native, script);
	free(native);
	free(script);
}

static void a_script_replies_in_resp2_except_for_null(void)
{
	struct peer *p = peer_connect(&q);
	char request[128];

	load();
	peer_send_words(p, "HELLO 3");
	peer_skip_replies(p, 1);
	snprintf(request, sizeof request, "EVALSHA %s 0 get 1 none", sha);
	ASK(p, request, "_\r\n");
	snprintf(request, sizeof request, "EVALSHA %s 0 peek 1 q 1", sha);
	ASK(p, request, "$2\r\n{}\r\n");
	snprintf(request, sizeof request, "EVALSHA %s 0 jobs 1 complete", sha);
	ASK(p, request, "*0\r\n");
}

static void the_form_of_errors_can_be_changed_at_any_time(void)
{
	load();
	SEND("CONFIG", "SET", "script-error-format", "redis6");
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(SCRIPT("nope")->str, "ERR Error running script (call to f_", 36));
	SEND("CONFIG", "SET", "script-error-format", "redis7");
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(SCRIPT("nope")->str, "ERR user_script:1: Unknown command nope", 39));
}

static void a_script_needs_the_permissions_of_its_command(void)
{
	load();
	SEND("ACL", "SETUSER", "worker", "on", "nopass", "+@scripting", "+@qless", "-config.set");
	SEND("ACL", "SETUSER", "reader", "on", "nopass", "+@read");
	ASSERT_STATUS("OK", SEND("AUTH", "worker", "x"));
	ASSERT_STRING("j", SCRIPT("put", "1", "w", "q", "j", "klass", "{}", "0"));
	TEST_ASSERT_NOT_NULL(strstr(SCRIPT("config.set", "1", "heartbeat", "5")->str,
				    "ERR The user executing the script can't run"));
	ASSERT_STATUS("OK", SEND("AUTH", "reader", "x"));
	TEST_ASSERT_EQUAL_INT(0, strncmp(SCRIPT("length", "1", "q")->str, "NOPERM", 6));
	ASSERT_INTEGER(1, SEND("EVALSHA_RO", sha, "0", "length", "1", "q"));
}

static void a_wrong_clock_is_shown_and_logged_once(void)
{
	struct peer *p = peer_connect(&q);
	char now[32];

	load();
	snprintf(now, sizeof now, "%lld", (long long)time(NULL));
	SCRIPT("length", now, "q");
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO clients", "client_clock_skew_max_seconds:") < 60);
	snprintf(now, sizeof now, "%lld", (long long)time(NULL) - 3600);
	SCRIPT("length", now, "q");
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "clock of a client"));
	SEND("CONFIG", "SET", "clock-skew-warning", "1800");
	for (int i = 0; i < 3; i++)
		SCRIPT("length", now, "q");
	WAIT_UNTIL(qlessd_has_logged(&q, "clock of a client differs from ours by 36"));
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO clients", "client_clock_skew_max_seconds:") >=
			 3599);
	SEND("CONFIG", "RESETSTAT");
	ASK_HAS(p, "INFO clients", "client_clock_skew_max_seconds:0\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_job_goes_through_its_life_by_script_calls);
	RUN(a_loaded_script_is_known_to_all_connections);
	RUN(flushall_keeps_scripts);
	RUN(scripts_run_within_a_transaction);
	RUN(scripts_can_be_loaded_and_flushed_in_a_transaction);
	RUN(a_watch_notices_jobs_that_a_listing_moved);
	RUN(scripts_publish_the_events_of_native_commands);
	RUN(a_script_replies_in_resp2_except_for_null);
	RUN(the_form_of_errors_can_be_changed_at_any_time);
	RUN(a_script_needs_the_permissions_of_its_command);
	RUN(a_wrong_clock_is_shown_and_logged_once);
	return UNIT_RESULT();
}
