/* A worker for qlessd with hiredis and yyjson. It waits for jobs, connects again when the server
 * has restarted, and on SIGTERM ends after the current job. A greeting takes 0.1 s for each step.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

static volatile sig_atomic_t is_stopping;
static redisContext *qlessd;
static redisReply *reply; /* the last one */
static char name[100];

static void stop(int number)
{
	is_stopping = number;
}

static bool is_error(const char *code)
{
	return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, code, strlen(code)) == 0;
}

/* Repeat a command until the server has replied. Returns whether the reply is no error. */
static bool call(const char *format, ...)
{
	for (;; usleep(100000 + (useconds_t)rand() % 900000)) {
		va_list words;

		freeReplyObject(reply);
		va_start(words, format);
		reply = redisvCommand(qlessd, format, words);
		va_end(words);
		if (reply == NULL)
			redisReconnect(qlessd);
		else if (!is_error("LOADING ") && !is_error("MISCONF ") && !is_error("OOM "))
			return !is_error("");
	}
}

static bool greet(const char *jid, unsigned long long lock, yyjson_val *data)
{
	for (int64_t steps = yyjson_get_sint(yyjson_obj_get(data, "steps")); steps > 0; steps--) {
		usleep(100000);
		if (!call("HEARTBEAT %s %s lock %llu", jid, name, lock)) /* keep the lock */
			return false;
	}
	return true;
}

/* The number of the hand-out tells this one from an earlier or later one. */
static void work(yyjson_val *job)
{
	const char *jid = yyjson_get_str(yyjson_obj_get(job, "jid"));
	const char *text = yyjson_get_str(yyjson_obj_get(job, "data"));
	const char *queue = yyjson_get_str(yyjson_obj_get(job, "queue"));
	unsigned long long lock = yyjson_get_uint(yyjson_obj_get(job, "lock"));
	yyjson_doc *data = yyjson_read(text, strlen(text), 0);
	const char *who = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(data), "name"));

	if (who == NULL) {
		call("FAIL %s %s bad-data %s lock %llu", jid, name, "there is no name", lock);
	} else if (greet(jid, lock, yyjson_doc_get_root(data))) {
		printf("hello %s\n", who);
		call("COMPLETE %s %s %s %s lock %llu", jid, name, queue, text, lock);
	}
	if (is_error(""))
		printf("%s: %s\n", jid, reply->str); /* another worker has the job by now */
	yyjson_doc_free(data);
}

int main(void)
{
	const char *port = getenv("QLESSD_PORT");

	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, stop);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	gethostname(name, sizeof name - 20);
	sprintf(name + strlen(name), "-%d", (int)getpid());
	qlessd = redisConnect("127.0.0.1", port != NULL ? atoi(port) : 7537);
	while (!is_stopping) {
		call("BPOP 2 %s 2 urgent greetings", name); /* to stop may take as long as this */
		yyjson_doc *jobs =
			reply->str != NULL ? yyjson_read(reply->str, reply->len, 0) : NULL;
		yyjson_val *job = yyjson_arr_get_first(yyjson_doc_get_root(jobs));

		if (job != NULL)
			work(job);
		yyjson_doc_free(jobs);
	}
	return 0;
}
