/*
 * A worker for qlessd with hiredis and yyjson. It first puts two jobs to work on.
 */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

static redisContext *qlessd;
static char name[32];

static bool is_lost(const char *error)
{
	return strncmp(error, "NOTRUNNING ", 11) == 0 || strncmp(error, "NOTOWNER ", 9) == 0 ||
	       strncmp(error, "WRONGQUEUE ", 11) == 0 || strncmp(error, "NOJOB ", 6) == 0;
}

/* Send words, up to a NULL. The caller frees the reply, which is NULL if the job is lost. */
static redisReply *call(const char **words)
{
	redisReply *reply;
	int count = 0;

	while (words[count] != NULL)
		count++;
	reply = redisCommandArgv(qlessd, count, words, NULL);
	if (reply == NULL) {
		fprintf(stderr, "qlessd: %s\n", qlessd->errstr);
		exit(1);
	}
	if (reply->type == REDIS_REPLY_ERROR) {
		if (!is_lost(reply->str)) {
			fprintf(stderr, "qlessd: %s\n", reply->str);
			exit(1);
		}
		freeReplyObject(reply);
		return NULL;
	}
	return reply;
}
#define CALL(...) call((const char *[]){ __VA_ARGS__, NULL })

/* Returns false if the data of the job is invalid. */
static bool do_work(const char *jid, const char *text)
{
	yyjson_doc *data = yyjson_read(text, strlen(text), 0);
	const char *who = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(data), "name"));

	freeReplyObject(CALL("HEARTBEAT", jid, name)); /* between the steps of a long job */
	if (who != NULL)
		printf("hello %s\n", who);
	yyjson_doc_free(data);
	return who != NULL;
}

static void do_job(yyjson_val *job)
{
	const char *jid = yyjson_get_str(yyjson_obj_get(job, "jid"));
	const char *data = yyjson_get_str(yyjson_obj_get(job, "data"));
	redisReply *reply;

	if (do_work(jid, data)) {
		reply = CALL("COMPLETE", jid, name, "greetings", data);
		if (reply != NULL)
			puts(reply->str);
	} else {
		reply = CALL("FAIL", jid, name, "bad-data", "there is no name");
		if (reply != NULL)
			printf("failed %s\n", jid);
	}
	if (reply == NULL)
		printf("lost %s\n", jid); /* another worker has it by now */
	freeReplyObject(reply);
}

/* Pop a job and work on it. Returns false if there is none; a real worker would wait. */
static bool do_next_job(void)
{
	redisReply *reply = CALL("POP", "greetings", name, "1");
	yyjson_doc *jobs = yyjson_read(reply->str, reply->len, 0);
	yyjson_val *job = yyjson_arr_get_first(yyjson_doc_get_root(jobs));

	if (job != NULL)
		do_job(job);
	yyjson_doc_free(jobs);
	freeReplyObject(reply);
	return job != NULL;
}

int main(void)
{
	const char *port = getenv("QLESSD_PORT");

	snprintf(name, sizeof name, "worker-%d", (int)getpid());
	qlessd = redisConnect("127.0.0.1", port != NULL ? atoi(port) : 7537);
	if (qlessd == NULL || qlessd->err != 0) {
		fprintf(stderr, "cannot connect: %s\n", qlessd != NULL ? qlessd->errstr : "");
		return 1;
	}
	freeReplyObject(CALL("PUT", name, "greetings", "j1", "Greet", "{\"name\": \"ann\"}", "0"));
	freeReplyObject(CALL("PUT", name, "greetings", "j2", "Greet", "{}", "0"));
	while (do_next_job())
		;
	redisFree(qlessd);
	return 0;
}
