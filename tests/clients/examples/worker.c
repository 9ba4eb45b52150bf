/* A worker for qlessd with hiredis and yyjson. On SIGTERM it ends after the current job. When the
 * server has restarted, it connects again, and releases the jobs of a BPOP without a reply. */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>
#define ASK(...)	      take_reply(redisCommand(qlessd, __VA_ARGS__))
#define GET(type, json, path) yyjson_get_##type(yyjson_doc_ptr_get(json, path))

static redisContext *qlessd;
static redisReply *reply; /* the last one, or NULL if it was lost */

/* Returns false, after a pause and with a new connection, if the reply is lost or an error. */
static bool take_reply(redisReply *next)
{
	freeReplyObject(reply);
	reply = next;
	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return true;
	usleep(100000 + arc4random_uniform(900000));
	redisReconnect(qlessd);
	return false;
}

static void work(yyjson_doc *job, int pid)
{
	const char *jid = GET(str, job, "/0/jid"), *text = GET(str, job, "/0/data");
	yyjson_doc *data = yyjson_read(text, strlen(text), 0);
	const char *name = GET(str, data, "/name"), *queue = GET(str, job, "/0/queue");

	usleep((useconds_t)(1e6 * GET(num, data, "/seconds")));
	if (name != NULL)
		dprintf(STDOUT_FILENO, "hello %s\n", name);
	while (!ASK("%s %s worker-%d %s %s lock %.0f", name ? "COMPLETE" : "FAIL", jid, pid,
		    name ? queue : "bad-data", name ? text : "no name", GET(num, job, "/0/lock")) &&
	       (reply == NULL || strncmp(reply->str, "NO", 2) != 0))
		; /* NOTOWNER, NOTRUNNING and NOJOB mean that another worker has the job. */
	if (reply->type == REDIS_REPLY_ERROR)
		dprintf(STDOUT_FILENO, "%s: %s\n", jid, reply->str);
	yyjson_doc_free(data);
	yyjson_doc_free(job);
}

int main(void)
{
	const char *port = getenv("QLESSD_PORT");
	sigset_t stop;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	qlessd = redisConnect("127.0.0.1", port != NULL ? atoi(port) : 7537);
	for (int pid = getpid(); sigtimedwait(&stop, NULL, &(struct timespec){ 0 }) < 0;)
		if (ASK("WORKER.ATTACH worker-%d", pid) && ASK("WORKER.RELEASE worker-%d", pid) &&
		    ASK("BPOP 2 worker-%d 2 urgent greetings", pid) && reply->len != 0)
			work(yyjson_read(reply->str, reply->len, 0), pid);
}
