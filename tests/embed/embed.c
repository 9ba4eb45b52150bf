/*
 * A program that embeds the engine: it uses only the installed header, no server and no sockets.
 *
 * It puts two jobs, works on them, and prints what happened. A test compares its output.
 */
#include <qless.h>
#include <stdio.h>

/* Prints an event; a server would pass it on to subscribers. */
static void on_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	int *count = arg;

	++*count;
	printf("event %.*s %.*s\n", (int)channel.len, channel.ptr, (int)payload.len, payload.ptr);
}

static int put(struct qless *q, double now, struct qless_str jid, struct qless_str data)
{
	struct qless_put put = {
		.queue = QLESS_STR("mail"), .jid = jid, .klass = QLESS_STR("Send"), .data = data
	};

	return qless_put(q, now, &put);
}

/* Pop a job and complete it. Returns the number of jobs completed. */
static int work(struct qless *q, double now)
{
	struct qless_complete complete = { .worker = QLESS_STR("worker-1"),
					   .queue = QLESS_STR("mail"),
					   .data = QLESS_STR("{\"sent\":true}") };
	struct qless_job_info info;
	struct qless_jobs jobs;
	enum qless_state state;
	char jid[32];

	if (qless_pop(q, now, complete.queue, complete.worker, 1, &jobs) < 0 || jobs.count == 0)
		return 0;
	qless_job_read(jobs.items[0], &info);
	printf("got %.*s with %.*s\n", (int)info.jid.len, info.jid.ptr, (int)info.data.len,
	       info.data.ptr);
	/* Results are valid until the next call, so copy the jid. */
	complete.jid.len =
		(size_t)snprintf(jid, sizeof(jid), "%.*s", (int)info.jid.len, info.jid.ptr);
	complete.jid.ptr = jid;
	return qless_complete(q, now + 1, &complete, &state) == 0 && state == QLESS_COMPLETE;
}

int main(void)
{
	int events = 0;
	struct qless_hooks hooks = { .publish = on_event, .arg = &events };
	struct qless *q = qless_new(&hooks);
	struct qless_str error;
	double expires;
	double now = 1700000000;
	int done = 0;

	if (put(q, now, QLESS_STR("first"), QLESS_STR("{\"to\":\"you\"}")) < 0 ||
	    put(q, now + 1, QLESS_STR("second"), QLESS_STR("{\"to\":\"me\"}")) < 0)
		return 1;
	while (work(q, now + 10))
		done++;

	/* A failed call says why. */
	if (qless_heartbeat(q, now + 20, QLESS_STR("first"), QLESS_STR("worker-1"), NULL,
			    &expires) != QLESS_ENOTRUNNING)
		return 1;
	error = qless_error_text(q);
	printf("error %s %.*s\n", qless_error_word(QLESS_ENOTRUNNING), (int)error.len, error.ptr);
	qless_free(q);
	return done == 2 && events == 4 ? 0 : 1;
}
