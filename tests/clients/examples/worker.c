/* A worker for qlessd with hiredis and yyjson. It waits for jobs, connects again when the server
 * has restarted, and on SIGTERM ends after the current job. The server keeps its locks. */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>
#define TEXT(json, path) yyjson_get_str(yyjson_doc_ptr_get(json, path))

static redisContext *qlessd;
static redisReply *reply; /* the last one, or NULL if it was lost */
static volatile sig_atomic_t is_stopping;

static void stop(int number)
{
	is_stopping = number;
}

/* Returns false if the reply is lost, or if the server cannot do this now. The errors NOTOWNER,
 * NOTRUNNING and NOJOB are replies: the lock is lost, and another worker has the job. */
static bool ask(const char *format, ...)
{
	va_list words;

	va_start(words, format);
	freeReplyObject(reply);
	reply = redisvCommand(qlessd, format, words);
	va_end(words);
	if (reply != NULL &&
	    (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "NO", 2) == 0))
		return true;
	usleep(100000 + (useconds_t)rand() % 900000);
	redisReconnect(qlessd);
	return false;
}

static void work(yyjson_doc *job, const char *jid, const char *text, int pid)
{
	unsigned long long lock = yyjson_get_uint(yyjson_doc_ptr_get(job, "/0/lock"));
	yyjson_doc *data = yyjson_read(text, strlen(text), 0);
	const char *who = TEXT(data, "/name");

	usleep((useconds_t)(1e6 * yyjson_get_num(yyjson_doc_ptr_get(data, "/seconds"))));
	while (!ask("%s %s worker-%d %s %s lock %llu", who ? "COMPLETE" : "FAIL", jid, pid,
		    who ? TEXT(job, "/0/queue") : "bad-data", who ? text : "no name", lock))
		;
	if (reply->type == REDIS_REPLY_ERROR)
		printf("%s: %s\n", jid, reply->str);
	else if (who != NULL)
		printf("hello %s\n", who);
	yyjson_doc_free(data);
}

int main(void)
{
	const char *port = getenv("QLESSD_PORT");
	int pid = (int)getpid();

	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, stop);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	qlessd = redisConnect("127.0.0.1", port != NULL ? atoi(port) : 7537);
	while (!is_stopping) { /* a lost reply may have had a job, which must be released */
		if (!ask("WORKER.ATTACH worker-%d", pid) || !ask("WORKER.RELEASE worker-%d", pid) ||
		    !ask("BPOP 2 worker-%d 2 urgent greetings", pid))
			continue;
		yyjson_doc *job = yyjson_read(reply->str, reply->len, 0);
		if (job != NULL)
			work(job, TEXT(job, "/0/jid"), TEXT(job, "/0/data"), pid);
		yyjson_doc_free(job);
	}
}
