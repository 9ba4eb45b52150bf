#include "benchmark/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark/beanstalk.h"

#define JID_MARK STR("\"jid\":\"")

/* ---- sending ---- */

static const struct workload_step *step_of(const struct bench *b, const struct worker *w)
{
	return &(w->waits ? b->waiting_phase : b->phase)->steps[w->step];
}

enum command traffic_command(const struct bench *b, const struct worker *w)
{
	return step_of(b, w)->command;
}

static char *jid_at(const struct worker *w, size_t place)
{
	return w->jids + place * REQUEST_JID_BYTES;
}

/* Whether the command puts new jobs. */
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

bool traffic_has_room(const struct bench *b)
{
	return (b->workload->flags & WORKLOAD_WAIT) == 0 || b->rate != 0 ||
	       b->put_times.count < b->waits_under_way;
}

int64_t traffic_take_put_time(struct bench *b, const struct worker *w)
{
	uint64_t number;

	if (!ledger_find(&b->ledger, str_make(jid_at(w, 0), REQUEST_JID_BYTES), &number))
		return 0;
	return put_times_take(&b->put_times, number);
}

/* At the first step: whether the worker may start another round. */
static bool begin_round(struct bench *b, struct worker *w)
{
	if (b->is_stopping || b->started >= b->limit || (b->once && w->rounds != 0) ||
	    !traffic_has_room(b))
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
		.number = number,
	};

	if (w->step == 0 && !w->waits && !begin_round(b, w))
		return false;
	values.queue = requests_queue_name(b, w->queue);
	if (b->options->dialect != OPTIONS_NATIVE)
		values.time = stamp_next(&b->stamp);
	if ((b->workload->flags & WORKLOAD_WAIT) != 0 && makes_jobs(step->command))
		put_times_add(&b->put_times, b->ledger.next, b->now_ns);
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
	else if (b->options->dialect == OPTIONS_BEANSTALKD)
		write_number(w->id, number);
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

/* Finds the next jid in the JSON of jobs. Returns false if there is none. */
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

/* The jid without the suffix of recurring jobs. */
static struct qless_str strip_suffix(const struct bench *b, struct qless_str jid)
{
	struct qless_str suffix =
		str_from(b->workload->jid_suffix != NULL ? b->workload->jid_suffix : "");

	if (jid.len > suffix.len &&
	    str_equal(str_make(jid.ptr + jid.len - suffix.len, suffix.len), suffix))
		jid.len -= suffix.len;
	return jid;
}

/* The jobs of a reply. Takes the next jid from *rest. */
static bool next_jid(const struct bench *b, struct qless_str *rest, struct qless_str *ret_jid)
{
	if (options_dialect_is_qless(b->options->dialect))
		return find_jid(rest, ret_jid);
	/* The value of the job begins with the jid. */
	if (rest->len < REQUEST_JID_BYTES)
		return false;
	*ret_jid = str_make(rest->ptr, REQUEST_JID_BYTES);
	rest->len = 0;
	return true;
}

/* The text with the jobs in a reply to a pop. Returns false if the reply has none. */
static bool find_jobs(const struct bench *b, const struct reply *reply, struct qless_str *ret_jobs)
{
	struct qless_str rest = reply->text;
	struct reply element;

	if (b->options->dialect != OPTIONS_LISTS) {
		*ret_jobs = reply->text;
		return reply->type == REPLY_BULK;
	}
	/* The name of the list and the value. */
	if (reply->type != REPLY_ARRAY || !reply_next(&rest, &element) ||
	    !reply_next(&rest, &element))
		return false;
	*ret_jobs = element.text;
	return element.type == REPLY_BULK;
}

static bool check_pop(struct bench *b, struct worker *w, const struct reply *reply)
{
	size_t count = 0, wanted = b->jids_of[traffic_command(b, w)];
	struct qless_str jobs, jid;

	if (!find_jobs(b, reply, &jobs))
		return false;
	w->id = (uint64_t)reply->integer;
	while (count < wanted && next_jid(b, &jobs, &jid)) {
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
		bench_complain(b, "pop returned %zu of %zu jobs", count, wanted);
	return count == wanted || count != 0;
}

static bool check_jids(const struct bench *b, const struct worker *w, const struct reply *reply)
{
	size_t count = b->jids_of[traffic_command(b, w)];

	if (!options_dialect_is_qless(b->options->dialect))
		return reply->type == REPLY_INTEGER;
	if (reply->type == REPLY_ARRAY)
		return (size_t)reply->integer == count;
	return reply->type == REPLY_BULK && count == 1 &&
	       str_equal(reply->text, str_make(jid_at(w, step_of(b, w)->jid), REQUEST_JID_BYTES));
}

static bool check_complete(const struct bench *b, const struct reply *reply)
{
	size_t count = b->jids_of[COMMAND_COMPLETE];

	if (b->options->dialect == OPTIONS_BEANSTALKD)
		return reply->type == REPLY_STATUS;
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

/* Checks the reply, and records it in the ledger. */
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
	case COMMAND_WAIT:
		if (!check_pop(b, w, reply))
			return false;
		/* A list keeps nothing of a job that a worker has. */
		if (b->options->dialect == OPTIONS_LISTS)
			b->ledger.running--;
		return true;
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
	w->step = (w->step + 1) % (w->waits ? b->waiting_phase : b->phase)->count;
}

/* ---- at the end ---- */

static int64_t find_count(struct qless_str json, const char *name)
{
	const char *at = memmem(json.ptr, json.len, name, strlen(name));

	return at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static int count_list(struct bench *b, int64_t *ret_waiting)
{
	char name[REQUEST_QUEUE_BYTES + 1] = "";
	struct reply reply;

	memcpy(name, requests_queue_name(b, 0), REQUEST_QUEUE_BYTES);
	if (CONTROL_CALL(&b->control, &reply, &b->error, "LLEN", name) < 0)
		return -1;
	*ret_waiting = reply.integer;
	return 0;
}

/* Sums the counts of all queues. */
static int count_queues(struct bench *b, int64_t *ret_waiting, int64_t *ret_running,
			int64_t *ret_scheduled)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct request r = { 0 };
	int rc = 0;

	requests_make_queues(b, &r);
	for (uint64_t i = 0; i < b->queue_count && rc == 0; i++) {
		struct request_values values = { .queue = requests_queue_name(b, i) };
		struct reply reply;

		if (b->options->dialect != OPTIONS_NATIVE)
			values.time = stamp_next(&b->stamp);
		buf_clear(&bytes);
		request_write(&r, &values, &bytes);
		rc = control_send(&b->control, buf_str(&bytes), &reply, &b->error);
		if (rc < 0)
			break;
		*ret_waiting += find_count(reply.text, "\"waiting\":");
		*ret_running += find_count(reply.text, "\"running\":") +
				find_count(reply.text, "\"stalled\":");
		*ret_scheduled += find_count(reply.text, "\"scheduled\":");
	}
	request_done(&r);
	buf_done(&bytes);
	return rc;
}

int traffic_check_queues(struct bench *b)
{
	int64_t waiting = 0, running = 0, scheduled = 0;
	int rc;

	if (b->options->dialect == OPTIONS_LISTS)
		rc = count_list(b, &waiting);
	else if (b->options->dialect == OPTIONS_BEANSTALKD)
		rc = beanstalk_count(&b->control,
				     str_make(requests_queue_name(b, 0), REQUEST_QUEUE_BYTES),
				     &waiting, &running, &b->error);
	else
		rc = count_queues(b, &waiting, &running, &scheduled);
	if (rc == 0 && (waiting != b->ledger.waiting || running != b->ledger.running ||
			scheduled != b->ledger.scheduled))
		bench_complain(b,
			       "the queues have %lld waiting, %lld running and %lld scheduled jobs "
			       "instead of %lld, %lld and %lld",
			       (long long)waiting, (long long)running, (long long)scheduled,
			       (long long)b->ledger.waiting, (long long)b->ledger.running,
			       (long long)b->ledger.scheduled);
	return rc;
}
