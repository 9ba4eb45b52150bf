/*
 * The requests of a run: the words of each command.
 */
#include "benchmark/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark/beanstalk.h"
#include "util/mem.h"

#define FILL_BATCH_MAX	 100
#define FILL_BATCH_BYTES 65536
#define KLASS		 "Benchmark"
#define PAYLOAD		 "%p" /* stands for the payload of the run */

static enum request_form form_of(const struct bench *b)
{
	static const enum request_form forms[] = {
		[OPTIONS_NATIVE] = REQUEST_PLAIN,     [OPTIONS_QLESS] = REQUEST_QLESS,
		[OPTIONS_EVALSHA] = REQUEST_EVALSHA,  [OPTIONS_LISTS] = REQUEST_PLAIN,
		[OPTIONS_BEANSTALKD] = REQUEST_PLAIN,
	};

	return forms[b->options->dialect];
}

static bool has_batches(const struct bench *b)
{
	return b->options->dialect != OPTIONS_EVALSHA;
}

/* A JSON text of the given size: a string if that is small, otherwise an object with a string. */
static char *make_payload(struct bench *b, size_t size)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012345678";
	static const char head[] = "{\"data\":\"", tail[] = "\"}";
	bool is_object = size >= sizeof head - 1 + sizeof tail - 1;
	size_t head_len = is_object ? sizeof head - 1 : 1;
	size_t tail_len = is_object ? sizeof tail - 1 : 1;
	char *payload = mem_alloc(size + 1);

	for (size_t i = 0; i < size; i++)
		payload[i] = letters[bench_random(b, sizeof letters - 1)];
	memcpy(payload, is_object ? head : "\"", head_len);
	memcpy(payload + size - tail_len, is_object ? tail : "\"", tail_len);
	payload[size] = '\0';
	return payload;
}

static struct request *begin(struct bench *b, enum command kind, const char *command)
{
	request_begin(&b->requests[kind], form_of(b), b->script_sha, command);
	b->names[kind] = command;
	b->jids_of[kind] = 1;
	return &b->requests[kind];
}

static void make_multiput(struct bench *b, enum command kind, const char *delay,
			  const char *const *put_options, uint64_t batch)
{
	struct request *r = begin(b, kind, "multiput");

	request_add_all(r, (const char *const[]){ "%w", "%q", delay, NULL });
	request_add_all(r, put_options);
	request_add(r, "jobs");
	for (uint64_t i = 0; i < batch; i++)
		request_add_all(r, (const char *const[]){ "%j", KLASS, b->payload, NULL });
	request_end(r);
	b->jids_of[kind] = (size_t)batch;
}

static void make_put(struct bench *b, enum command kind, const char *delay,
		     const char *const *put_options, uint64_t batch)
{
	struct request *r;

	if (batch > 1) {
		make_multiput(b, kind, delay, put_options, batch);
		return;
	}
	r = begin(b, kind, "put");
	request_add_all(r,
			(const char *const[]){ "%w", "%q", "%j", KLASS, b->payload, delay, NULL });
	request_add_all(r, put_options);
	request_end(r);
}

/* A put of a job that depends on `others` jobs, whose jids follow its own. */
static void make_dependent(struct bench *b, enum command kind, int others)
{
	struct request *r = begin(b, kind, "put");
	struct buf jids = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < others; i++)
		buf_printf(&jids, "%s\"%%j\"", i == 0 ? "[" : ",");
	buf_append_char(&jids, ']');
	request_add_all(r, (const char *const[]){ "%w", "%q", "%j", KLASS, b->payload, "0",
						  "depends", buf_cstr(&jids), NULL });
	request_end(r);
	b->names[kind] = "put depends";
	buf_done(&jids);
}

/* The jid is that of a popped job. */
static void make_complete(struct bench *b)
{
	const char *suffix = b->workload->jid_suffix;
	struct request *r = begin(b, COMMAND_COMPLETE, b->batch > 1 ? "multicomplete" : "complete");
	char jid[16];

	snprintf(jid, sizeof jid, "%%j%s", suffix != NULL ? suffix : "");
	if (b->batch > 1) {
		request_add_all(r, (const char *const[]){ "%w", "%q", NULL });
		for (uint64_t i = 0; i < b->batch; i++)
			request_add_all(r, (const char *const[]){ jid, b->payload, NULL });
	} else {
		request_add_all(r, (const char *const[]){ jid, "%w", "%q", b->payload, NULL });
	}
	request_end(r);
	b->jids_of[COMMAND_COMPLETE] = (size_t)b->batch;
}

static void make_pop(struct bench *b)
{
	struct request *r = begin(b, COMMAND_POP, "pop");
	char count[24];

	snprintf(count, sizeof count, "%llu", (unsigned long long)b->batch);
	request_add_all(r, (const char *const[]){ "%q", "%w", count, NULL });
	request_end(r);
	b->jids_of[COMMAND_POP] = (size_t)b->batch;
}

static void make_wait(struct bench *b)
{
	struct request *r = begin(b, COMMAND_WAIT, "bpop");

	request_add_all(r, (const char *const[]){ "0", "%w", "1", "%q", NULL });
	request_end(r);
}

/* A list as a queue, first in, first out. The jid and the payload are one value. */
static void make_list_requests(struct bench *b)
{
	struct buf value = BUF_INIT(BUF_NO_MAX);
	struct request *put = begin(b, COMMAND_PUT, "lpush");
	struct request *wait = begin(b, COMMAND_WAIT, "brpop");

	buf_printf(&value, "%%j%s", b->payload);
	request_add_all(put, (const char *const[]){ "%q", buf_cstr(&value), NULL });
	request_end(put);
	request_add_all(wait, (const char *const[]){ "%q", "0", NULL });
	request_end(wait);
	buf_done(&value);
}

static void make_beanstalk_requests(struct bench *b)
{
	beanstalk_make_put(begin(b, COMMAND_PUT, "put"), b->payload, (size_t)b->options->payload);
	beanstalk_make_reserve(begin(b, COMMAND_WAIT, "reserve"));
	beanstalk_make_delete(begin(b, COMMAND_COMPLETE, "delete"));
}

/* Without the prefix of the dialect. */
static void make_plain(struct bench *b, enum command kind, const char *name, const char *key,
		       const char *value)
{
	struct request *r = &b->requests[kind];

	request_begin(r, REQUEST_PLAIN, NULL, name);
	request_add_all(r, (const char *const[]){ key, value, NULL });
	request_end(r);
	b->names[kind] = name;
	b->jids_of[kind] = 1;
}

/* Requests that are the same in every workload. */
static const struct {
	enum command kind;
	const char *name; /* name of the command, if that alone is ambiguous */
	const char *words[10];
} fixed[] = {
	{ COMMAND_GET, NULL, { "get", "%j" } },
	{ COMMAND_PEEK, NULL, { "peek", "%q", "5" } },
	{ COMMAND_HEARTBEAT, NULL, { "heartbeat", "%j", "%w" } },
	{ COMMAND_RETRY, NULL, { "retry", "%j", "%q", "%w" } },
	{ COMMAND_FAIL, NULL, { "fail", "%j", "%w", "group", "message" } },
	{ COMMAND_CANCEL, NULL, { "cancel", "%j" } },
	{ COMMAND_PRIORITY, NULL, { "priority", "%j", "%n" } },
	{ COMMAND_TAG_ADD, "tag add", { "tag", "add", "%j", "added" } },
	{ COMMAND_TAG_GET, "tag get", { "tag", "get", "tag-%n", "0", "10" } },
	/* Due for a second: the next pop may carry an earlier time. */
	{ COMMAND_RECUR, NULL, { "recur", "%q", "%j", KLASS, PAYLOAD, "interval", "86400", "-1" } },
	{ COMMAND_RECUR_LATER,
	  NULL,
	  { "recur", "%q", "%j", KLASS, PAYLOAD, "interval", "86400", "%n" } },
	{ COMMAND_UNRECUR, NULL, { "unrecur", "%j" } },
	{ COMMAND_LENGTH, NULL, { "length", "%q" } },
	{ COMMAND_STATS, NULL, { "stats", "%q", "0" } },
};

static void make_fixed(struct bench *b, enum command kind, const char *name,
		       const char *const *words)
{
	struct request *r = begin(b, kind, words[0]);

	for (words++; *words != NULL; words++)
		request_add(r, strcmp(*words, PAYLOAD) == 0 ? b->payload : *words);
	request_end(r);
	if (name != NULL)
		b->names[kind] = name;
}

/* The largest number of jobs in a request that divides the backlog. */
static uint64_t choose_fill_batch(const struct bench *b)
{
	uint64_t count = (b->workload->flags & WORKLOAD_FILL_JOBS) != 0 ? b->jobs : b->backlog;
	uint64_t batch = FILL_BATCH_BYTES / b->options->payload;

	if (!has_batches(b) || count == 0 || b->fill == FILL_RECURRING)
		return 1;
	if ((b->workload->flags & WORKLOAD_FILL_JOBS) != 0 && b->batch > 1)
		return b->batch;
	if (batch > FILL_BATCH_MAX)
		batch = FILL_BATCH_MAX;
	while (batch > 1 && count % batch != 0)
		batch--;
	return batch != 0 ? batch : 1;
}

uint64_t requests_add_queue(struct bench *b)
{
	char name[REQUEST_QUEUE_BYTES + 1];

	b->queue_names =
		mem_grow(b->queue_names, &b->queue_cap, b->queue_count + 1, REQUEST_QUEUE_BYTES);
	snprintf(name, sizeof name, "bench-%08x-%06u", (unsigned)(b->seed & 0xffffffff),
		 (unsigned)b->queue_count % 1000000);
	memcpy(b->queue_names + b->queue_count * REQUEST_QUEUE_BYTES, name, REQUEST_QUEUE_BYTES);
	return b->queue_count++;
}

const char *requests_queue_name(const struct bench *b, uint64_t queue)
{
	return b->queue_names + queue * REQUEST_QUEUE_BYTES;
}

void requests_init(struct bench *b)
{
	b->payload = make_payload(b, (size_t)b->options->payload);
	b->fill_batch = choose_fill_batch(b);
	make_plain(b, COMMAND_PING, "PING", NULL, NULL);
	make_plain(b, COMMAND_SET, "SET", "%j", b->payload);
	make_put(b, COMMAND_FILL, b->fill == FILL_SCHEDULED ? "%n" : "0", b->workload->put_options,
		 b->fill_batch);
	make_put(b, COMMAND_PUT, "0", b->workload->put_options, b->batch);
	make_dependent(b, COMMAND_PUT_DEPENDENT, WORKLOAD_FAN);
	make_dependent(b, COMMAND_PUT_NEXT, 1);
	make_pop(b);
	make_wait(b);
	make_complete(b);
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		make_fixed(b, fixed[i].kind, fixed[i].name, fixed[i].words);
	if (b->options->dialect == OPTIONS_LISTS)
		make_list_requests(b);
	if (b->options->dialect == OPTIONS_BEANSTALKD)
		make_beanstalk_requests(b);
}

void requests_make_queues(const struct bench *b, struct request *r)
{
	request_begin(r, form_of(b), b->script_sha, "queues");
	request_add(r, "%q");
	request_end(r);
}

void requests_done(struct bench *b)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		request_done(&b->requests[i]);
	free(b->queue_names);
	free(b->payload);
	b->queue_names = b->payload = NULL;
}
