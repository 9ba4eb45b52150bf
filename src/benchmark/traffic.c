#include "benchmark/bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

#define FILL_BATCH_MAX	 100
#define FILL_BATCH_BYTES 65536
#define PEEK_COUNT	 "5"
#define KLASS		 "Benchmark"

#define JID_MARK STR("\"jid\":\"")

/* ---- making the requests ---- */

static enum request_form form_of(const struct bench *b)
{
	static const enum request_form forms[] = {
		[OPTIONS_NATIVE] = REQUEST_PLAIN,
		[OPTIONS_QLESS] = REQUEST_QLESS,
		[OPTIONS_EVALSHA] = REQUEST_EVALSHA,
	};

	return forms[b->options->dialect];
}

static bool has_batches(const struct bench *b)
{
	return b->options->dialect != OPTIONS_EVALSHA;
}

/* A JSON text of the size that was asked for: a string for the smallest, else an object with one.
 */
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

/* A request that is the same each time but for what is in its places. */
static void make(struct bench *b, enum command kind, const char *command, const char *const *args)
{
	struct request *r = begin(b, kind, command);

	request_add_all(r, args);
	request_end(r);
}
#define MAKE(b, kind, command, ...) \
	make(b, kind, command, (const char *const[]){ __VA_ARGS__, NULL })

/* A request without the prefix of the dialect. */
static void make_plain(struct bench *b, enum command kind, const char *const *words)
{
	struct request *r = &b->requests[kind];

	request_begin(r, REQUEST_PLAIN, NULL, words[0]);
	request_add_all(r, words + 1);
	request_end(r);
	b->names[kind] = words[0];
	b->jids_of[kind] = 1;
}
#define MAKE_PLAIN(b, kind, ...) make_plain(b, kind, (const char *const[]){ __VA_ARGS__, NULL })

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

/* A put of a job that depends on so many others, the jids of which are behind its own. */
static void make_dependent(struct bench *b, enum command kind, int others)
{
	struct buf jids = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < others; i++)
		buf_printf(&jids, "%s\"%%j\"", i == 0 ? "[" : ",");
	buf_append_char(&jids, ']');
	MAKE(b, kind, "put", "%w", "%q", "%j", KLASS, b->payload, "0", "depends", buf_cstr(&jids));
	buf_done(&jids);
}

static void make_complete(struct bench *b)
{
	const char *suffix = b->workload->jid_suffix;
	char jid[16];

	snprintf(jid, sizeof jid, "%%j%s", suffix != NULL ? suffix : "");
	if (b->batch == 1) {
		MAKE(b, COMMAND_COMPLETE, "complete", jid, "%w", "%q", b->payload);
	} else {
		struct request *r = begin(b, COMMAND_COMPLETE, "multicomplete");

		request_add_all(r, (const char *const[]){ "%w", "%q", NULL });
		for (uint64_t i = 0; i < b->batch; i++)
			request_add_all(r, (const char *const[]){ jid, b->payload, NULL });
		request_end(r);
		b->jids_of[COMMAND_COMPLETE] = (size_t)b->batch;
	}
}

/* As many jobs in one request as divide the backlog, so that it is exact. */
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

uint64_t traffic_add_queue(struct bench *b)
{
	char name[REQUEST_QUEUE_BYTES + 1];

	if (b->queue_count == b->queue_cap) {
		b->queue_cap = b->queue_cap != 0 ? 2 * b->queue_cap : 16;
		b->queue_names =
			mem_realloc_array(b->queue_names, b->queue_cap, REQUEST_QUEUE_BYTES);
	}
	snprintf(name, sizeof name, "bench-%08x-%06u", (unsigned)(b->seed & 0xffffffff),
		 (unsigned)b->queue_count % 1000000);
	memcpy(b->queue_names + b->queue_count * REQUEST_QUEUE_BYTES, name, REQUEST_QUEUE_BYTES);
	return b->queue_count++;
}

const char *traffic_queue_name(const struct bench *b, uint64_t queue)
{
	return b->queue_names + queue * REQUEST_QUEUE_BYTES;
}

void traffic_init(struct bench *b)
{
	char batch[24];

	b->payload = make_payload(b, (size_t)b->options->payload);
	b->fill_batch = choose_fill_batch(b);
	snprintf(batch, sizeof batch, "%llu", (unsigned long long)b->batch);

	MAKE_PLAIN(b, COMMAND_PING, "PING");
	MAKE_PLAIN(b, COMMAND_SET, "SET", "%j", b->payload);
	make_put(b, COMMAND_FILL, b->fill == FILL_SCHEDULED ? "%n" : "0", b->workload->put_options,
		 b->fill_batch);
	make_put(b, COMMAND_PUT, "0", b->workload->put_options, b->batch);
	make_dependent(b, COMMAND_PUT_DEPENDENT, WORKLOAD_FAN);
	make_dependent(b, COMMAND_PUT_NEXT, 1);
	b->names[COMMAND_PUT_DEPENDENT] = b->names[COMMAND_PUT_NEXT] = "put depends";
	MAKE(b, COMMAND_GET, "get", "%j");
	MAKE(b, COMMAND_PEEK, "peek", "%q", PEEK_COUNT);
	MAKE(b, COMMAND_POP, "pop", "%q", "%w", batch);
	b->jids_of[COMMAND_POP] = (size_t)b->batch;
	MAKE(b, COMMAND_HEARTBEAT, "heartbeat", "%j", "%w");
	make_complete(b);
	MAKE(b, COMMAND_RETRY, "retry", "%j", "%q", "%w");
	MAKE(b, COMMAND_FAIL, "fail", "%j", "%w", "group", "message");
	MAKE(b, COMMAND_CANCEL, "cancel", "%j");
	MAKE(b, COMMAND_PRIORITY, "priority", "%j", "%n");
	MAKE(b, COMMAND_TAG_ADD, "tag", "add", "%j", "added");
	b->names[COMMAND_TAG_ADD] = "tag add";
	MAKE(b, COMMAND_TAG_GET, "tag", "get", "tag-%n", "0", "10");
	b->names[COMMAND_TAG_GET] = "tag get";
	MAKE(b, COMMAND_RECUR, "recur", "%q", "%j", KLASS, b->payload, "interval", "86400", "0");
	MAKE(b, COMMAND_RECUR_LATER, "recur", "%q", "%j", KLASS, b->payload, "interval", "86400",
	     "%n");
	MAKE(b, COMMAND_UNRECUR, "unrecur", "%j");
	MAKE(b, COMMAND_LENGTH, "length", "%q");
	MAKE(b, COMMAND_STATS, "stats", "%q", "0");
}

void traffic_done(struct bench *b)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		request_done(&b->requests[i]);
	free(b->queue_names);
	free(b->payload);
	b->queue_names = b->payload = NULL;
}

/* ---- sending ---- */

static const struct workload_step *step_of(const struct bench *b, const struct worker *w)
{
	return &b->phase->steps[w->step];
}

enum command traffic_command(const struct bench *b, const struct worker *w)
{
	return step_of(b, w)->command;
}

static char *jid_at(const struct worker *w, size_t place)
{
	return w->jids + place * REQUEST_JID_BYTES;
}

/* Jobs of which the server is told for the first time. */
static bool makes_jobs(enum command kind)
{
	return kind == COMMAND_FILL || kind == COMMAND_PUT || kind == COMMAND_PUT_DEPENDENT ||
	       kind == COMMAND_PUT_NEXT || kind == COMMAND_RECUR || kind == COMMAND_RECUR_LATER;
}

static void write_number(uint64_t value, char to[REQUEST_NUMBER_BYTES])
{
	for (size_t i = REQUEST_NUMBER_BYTES; i-- != 0; value /= 10)
		to[i] = (char)('0' + value % 10);
}

/* At the first step: may the worker go through the steps again? */
static bool begin_round(struct bench *b, struct worker *w)
{
	if (b->is_stopping || b->started >= b->limit || (b->once && w->rounds != 0))
		return false;
	if ((b->workload->flags & WORKLOAD_OWN_QUEUES) == 0) {
		uint64_t run =
			b->phase->steps[0].command == COMMAND_POP ? b->fill_batch : b->round_jobs;

		w->queue = b->started / run % b->queue_count;
	}
	b->started += b->round_jobs;
	w->rounds++;
	return true;
}

bool traffic_send(struct bench *b, struct worker *w, struct buf *out)
{
	const struct workload_step *step = step_of(b, w);
	char number[REQUEST_NUMBER_BYTES];
	struct request_values values = {
		.jids = jid_at(w, step->jid),
		.worker = w->connection->name,
		.time = b->time,
		.number = number,
	};

	if (w->step == 0 && !begin_round(b, w))
		return false;
	values.queue = traffic_queue_name(b, w->queue);
	if (makes_jobs(step->command)) {
		for (size_t i = 0; i < b->jids_of[step->command]; i++)
			ledger_write_jid(&b->ledger, b->ledger.next++, jid_at(w, step->jid + i));
	} else if (b->phase->count == 1 &&
		   (step->command == COMMAND_GET || step->command == COMMAND_SET)) {
		ledger_write_jid(&b->ledger, bench_random(b, b->backlog), jid_at(w, step->jid));
	}
	if (b->workload->number_count != 0)
		write_number(b->workload->number_min + bench_random(b, b->workload->number_count),
			     number);
	request_write(&b->requests[step->command], &values, out);
	return true;
}

/* ---- replies ---- */

static void complain_of(struct bench *b, const struct worker *w, const struct reply *reply)
{
	int len = reply->text.len < 200 ? (int)reply->text.len : 200;

	bench_complain(b, "%s %.*s answered %s%.*s", b->names[traffic_command(b, w)],
		       (int)REQUEST_JID_BYTES, jid_at(w, step_of(b, w)->jid),
		       reply->type == REPLY_NULL ? "null" : "", len,
		       len != 0 ? reply->text.ptr : "");
}

/* Where the next jid in the JSON of jobs is; false if there is none. */
static bool find_jid(struct qless_str *json, struct qless_str *ret_jid)
{
	const char *end = json->ptr + json->len, *quote;
	const char *at = memmem(json->ptr, json->len, JID_MARK.ptr, JID_MARK.len);

	if (at == NULL)
		return false;
	at += JID_MARK.len;
	quote = memchr(at, '"', (size_t)(end - at));
	if (quote == NULL)
		return false;
	*ret_jid = str_make(at, (size_t)(quote - at));
	*json = str_make(quote, (size_t)(end - quote));
	return true;
}

/* The jid without what recurring jobs have behind it. */
static struct qless_str strip_suffix(const struct bench *b, struct qless_str jid)
{
	struct qless_str suffix =
		str_from(b->workload->jid_suffix != NULL ? b->workload->jid_suffix : "");

	if (jid.len > suffix.len &&
	    str_equal(str_make(jid.ptr + jid.len - suffix.len, suffix.len), suffix))
		jid.len -= suffix.len;
	return jid;
}

static bool check_pop(struct bench *b, struct worker *w, const struct reply *reply)
{
	struct qless_str json = reply->text, jid;
	size_t count = 0, wanted = b->jids_of[COMMAND_POP];

	if (reply->type != REPLY_BULK)
		return false;
	while (count < wanted && find_jid(&json, &jid)) {
		jid = strip_suffix(b, jid);
		switch (ledger_pop(&b->ledger, jid)) {
		case LEDGER_GOOD:
			break;
		case LEDGER_TWICE:
			bench_complain(b, "job %.*s was popped twice", (int)jid.len, jid.ptr);
			break;
		case LEDGER_UNKNOWN:
			bench_complain(b, "job %.*s was popped, but never put", (int)jid.len,
				       jid.ptr);
			return true;
		}
		memcpy(jid_at(w, step_of(b, w)->jid + count), jid.ptr, REQUEST_JID_BYTES);
		count++;
	}
	if (count < wanted)
		bench_complain(b, "pop gave %zu jobs of %zu", count, wanted);
	return count == wanted || count != 0;
}

static bool check_jids(const struct bench *b, const struct worker *w, const struct reply *reply)
{
	size_t count = b->jids_of[traffic_command(b, w)];

	if (reply->type == REPLY_ARRAY)
		return (size_t)reply->integer == count;
	return reply->type == REPLY_BULK && count == 1 &&
	       str_equal(reply->text, str_make(jid_at(w, step_of(b, w)->jid), REQUEST_JID_BYTES));
}

static bool check_complete(const struct bench *b, const struct reply *reply)
{
	size_t count = b->jids_of[COMMAND_COMPLETE];

	if (count > 1)
		return reply->type == REPLY_ARRAY && (size_t)reply->integer == count;
	return reply->type == REPLY_BULK && str_equal(reply->text, STR("complete"));
}

static bool check_get(const struct bench *b, const struct worker *w, const struct reply *reply)
{
	struct qless_str json = reply->text, jid;

	return reply->type == REPLY_BULK && find_jid(&json, &jid) &&
	       str_equal(strip_suffix(b, jid),
			 str_make(jid_at(w, step_of(b, w)->jid), REQUEST_JID_BYTES));
}

/* Is the reply what it has to be? Enters into the books what it says. */
static bool check(struct bench *b, struct worker *w, const struct reply *reply)
{
	enum command kind = traffic_command(b, w);
	int64_t count = (int64_t)b->jids_of[kind];

	switch (kind) {
	case COMMAND_PING:
		return reply->type == REPLY_STATUS && str_equal(reply->text, STR("PONG"));
	case COMMAND_SET:
		return reply->type == REPLY_STATUS && str_equal(reply->text, STR("OK"));
	case COMMAND_FILL:
		if (b->fill == FILL_SCHEDULED)
			b->ledger.scheduled += count;
		else
			b->ledger.waiting += count;
		return check_jids(b, w, reply);
	case COMMAND_PUT:
	case COMMAND_PUT_DEPENDENT:
	case COMMAND_PUT_NEXT:
	case COMMAND_RECUR:
		b->ledger.waiting += count;
		return check_jids(b, w, reply);
	case COMMAND_RECUR_LATER:
		return check_jids(b, w, reply);
	case COMMAND_GET:
		return check_get(b, w, reply);
	case COMMAND_POP:
		return check_pop(b, w, reply);
	case COMMAND_COMPLETE:
		b->ledger.running -= count;
		return check_complete(b, reply);
	case COMMAND_RETRY:
		ledger_give_back(&b->ledger,
				 str_make(jid_at(w, step_of(b, w)->jid), REQUEST_JID_BYTES));
		return reply->type == REPLY_INTEGER;
	case COMMAND_FAIL:
		b->ledger.running--;
		return reply->type == REPLY_BULK;
	case COMMAND_HEARTBEAT:
	case COMMAND_LENGTH:
		return reply->type == REPLY_INTEGER;
	case COMMAND_PEEK:
	case COMMAND_CANCEL:
	case COMMAND_PRIORITY:
	case COMMAND_TAG_ADD:
	case COMMAND_TAG_GET:
	case COMMAND_UNRECUR:
	case COMMAND_STATS:
		return reply->type != REPLY_NULL;
	case COMMAND_COUNT:
		break;
	}
	return false;
}

void traffic_receive(struct bench *b, struct worker *w, const struct reply *reply)
{
	if (reply->error.len != 0) {
		bench_complain(b, "%s: %.*s", b->names[traffic_command(b, w)],
			       reply->error.len < 200 ? (int)reply->error.len : 200,
			       reply->error.ptr);
		w->step = 0;
		return;
	}
	if (!check(b, w, reply)) {
		complain_of(b, w, reply);
		w->step = 0;
		return;
	}
	w->step = (w->step + 1) % b->phase->count;
}

/* ---- at the end ---- */

static int64_t find_count(struct qless_str json, const char *name)
{
	const char *at = memmem(json.ptr, json.len, name, strlen(name));

	return at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0;
}

int traffic_check_queues(struct bench *b)
{
	int64_t waiting = 0, running = 0, scheduled = 0;
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct request r = { 0 };
	int rc = 0;

	request_begin(&r, form_of(b), b->script_sha, "queues");
	request_add(&r, "%q");
	request_end(&r);
	for (uint64_t i = 0; i < b->queue_count && rc == 0; i++) {
		struct request_values values = { .queue = traffic_queue_name(b, i),
						 .time = b->time };
		struct reply reply;

		buf_clear(&bytes);
		request_write(&r, &values, &bytes);
		rc = control_send(&b->control, buf_str(&bytes), &reply, &b->error);
		if (rc < 0)
			break;
		waiting += find_count(reply.text, "\"waiting\":");
		running += find_count(reply.text, "\"running\":") +
			   find_count(reply.text, "\"stalled\":");
		scheduled += find_count(reply.text, "\"scheduled\":");
	}
	if (rc == 0 && (waiting != b->ledger.waiting || running != b->ledger.running ||
			scheduled != b->ledger.scheduled))
		bench_complain(b,
			       "the queues have %lld waiting, %lld running and %lld scheduled jobs "
			       "instead of %lld, %lld and %lld",
			       (long long)waiting, (long long)running, (long long)scheduled,
			       (long long)b->ledger.waiting, (long long)b->ledger.running,
			       (long long)b->ledger.scheduled);
	request_done(&r);
	buf_done(&bytes);
	return rc;
}
