/*
 * The event loop. It does little for each request: one read and one write serve everything of a
 * connection, and the clock is read once for each read.
 */
#include "benchmark/bench.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "benchmark/beanstalk.h"
#include "benchmark/report.h"
#include "sys/clock.h"
#include "util/mem.h"

#define READ_BYTES     ((size_t)64 * 1024)
#define EVENTS_MAX     256
#define PENDING_MIN    ((size_t)16)
#define TURN_MAX_NS    ((int64_t)100 * NS_PER_MS) /* maximum time between looks at the clock */
#define NS_PER_S       1000000000
#define NS_PER_MS      1000000
#define SILENCE_MAX_NS ((int64_t)60 * NS_PER_S)

/* The state of the loop while it runs a phase. */
struct loop {
	struct bench *b;
	const struct loop_plan *plan;
	int64_t began_ns;
	int64_t next_due_ns; /* with a rate: when the next request is due */
	uint64_t due_count;  /* requests that were due so far */
	size_t next_connection;
	bool drains; /* no more requests become due, and workers finish their rounds */
	struct connection **dirty;
	size_t dirty_count;
};

/* ---- setting up ---- */

static int open_connection(struct bench *b, struct connection *c, size_t index)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	struct control control;

	buf_init(&c->out, BUF_NO_MAX);
	buf_init(&c->tail, BUF_NO_MAX);
	STAILQ_INIT(&c->idle);
	snprintf(c->name, sizeof c->name, "worker-%07u", (unsigned)index % 10000000);
	if (control_open(&control, b->options, &b->error) < 0) {
		control_done(&control);
		return -1;
	}
	if (b->options->dialect == OPTIONS_BEANSTALKD &&
	    beanstalk_use(&control, str_make(requests_queue_name(b, 0), REQUEST_QUEUE_BYTES),
			  &b->error) < 0) {
		control_done(&control);
		return -1;
	}
	c->fd = control_release(&control);
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
	if (epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) < 0) {
		buf_printf(&b->error, "epoll: %s", strerror(errno));
		return -1;
	}
	return 0;
}

int loop_init(struct bench *b)
{
	size_t count = b->putting + b->waiting;

	prctl(PR_SET_TIMERSLACK, 1);
	buf_init(&b->scratch, BUF_NO_MAX);
	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (b->epoll_fd < 0) {
		buf_printf(&b->error, "epoll: %s", strerror(errno));
		return -1;
	}
	b->connections = mem_zalloc(count * sizeof(*b->connections));
	b->connection_count = count;
	for (size_t i = 0; i < count; i++)
		b->connections[i].fd = -1;
	for (size_t i = 0; i < count; i++) {
		if (open_connection(b, &b->connections[i], i) < 0)
			return -1;
	}
	return 0;
}

static void close_connection(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	for (size_t i = 0; i < c->worker_count; i++) {
		free(c->workers[i]->jids);
		free(c->workers[i]);
	}
	free(c->workers);
	free(c->pending);
	buf_done(&c->out);
	buf_done(&c->tail);
}

void loop_done(struct bench *b)
{
	for (size_t i = 0; b->connections != NULL && i < b->connection_count; i++)
		close_connection(&b->connections[i]);
	free(b->connections);
	b->connections = NULL;
	if (b->epoll_fd >= 0)
		close(b->epoll_fd);
	put_times_done(&b->put_times);
	buf_done(&b->scratch);
}

/* ---- workers and what they have under way ---- */

static struct worker *add_worker(struct bench *b, struct connection *c)
{
	size_t jids = b->batch > b->fill_batch ? b->batch : b->fill_batch;
	struct worker *w = mem_zalloc(sizeof(*w));

	if (jids < WORKLOAD_JIDS_MAX)
		jids = WORKLOAD_JIDS_MAX;
	w->connection = c;
	w->jids = mem_zalloc(jids * REQUEST_JID_BYTES);
	/* With a rate there may be more workers than held jobs. Then two share one. */
	if ((b->workload->flags & WORKLOAD_HOLD) != 0 && c->worker_count >= b->options->pipeline) {
		const struct worker *other = c->workers[c->worker_count / 2];

		memcpy(w->jids, other->jids, REQUEST_JID_BYTES);
	}
	if ((b->workload->flags & WORKLOAD_OWN_QUEUES) != 0)
		w->queue = requests_add_queue(b);
	c->workers =
		mem_grow(c->workers, &c->worker_cap, c->worker_count + 1, sizeof(struct worker *));
	c->workers[c->worker_count++] = w;
	return w;
}

static void push_pending(struct connection *c, struct pending p)
{
	if (c->count == c->cap) {
		size_t cap = c->cap != 0 ? 2 * c->cap : PENDING_MIN;
		struct pending *ring = mem_realloc_array(NULL, cap, sizeof(*ring));

		for (size_t i = 0; i < c->count; i++)
			ring[i] = c->pending[(c->first + i) & (c->cap - 1)];
		free(c->pending);
		c->pending = ring;
		c->cap = cap;
		c->first = 0;
	}
	c->pending[(c->first + c->count++) & (c->cap - 1)] = p;
}

static struct pending pop_pending(struct connection *c)
{
	struct pending p;

	assert(c->count != 0);
	p = c->pending[c->first];
	c->first = (c->first + 1) & (c->cap - 1);
	c->count--;
	return p;
}

/* Append the next request of a worker, if it has one. */
static bool send_next(struct loop *l, struct worker *w, int64_t sent_ns)
{
	struct connection *c = w->connection;
	struct bench *b = l->b;
	enum command command = traffic_command(b, w);

	if (!traffic_send(b, w, &c->out))
		return false;
	push_pending(c, (struct pending){ sent_ns, w, command });
	if (command == COMMAND_WAIT)
		b->waits_under_way++;
	else
		b->under_way++;
	if (!c->is_dirty) {
		c->is_dirty = true;
		l->dirty[l->dirty_count++] = c;
	}
	return true;
}

/* ---- sockets ---- */

static int fail(struct bench *b, const char *what)
{
	buf_printf(&b->error, "%s: %s", what, strerror(errno));
	return -1;
}

static int await_room(struct bench *b, struct connection *c, bool wanted)
{
	struct epoll_event event = { .events = EPOLLIN | (wanted ? (uint32_t)EPOLLOUT : 0),
				     .data.ptr = c };

	if (c->awaits_room == wanted)
		return 0;
	c->awaits_room = wanted;
	return epoll_ctl(b->epoll_fd, EPOLL_CTL_MOD, c->fd, &event) < 0 ? fail(b, "epoll") : 0;
}

static int flush(struct bench *b, struct connection *c)
{
	c->is_dirty = false;
	while (c->out.len != 0) {
		ssize_t n = send(c->fd, buf_data(&c->out), c->out.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return await_room(b, c, true);
		if (n < 0)
			return fail(b, "cannot send");
		buf_consume(&c->out, (size_t)n);
	}
	return await_room(b, c, false);
}

static int flush_dirty(struct loop *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->dirty_count && rc == 0; i++)
		rc = flush(l->b, l->dirty[i]);
	l->dirty_count = 0;
	return rc;
}

/* Sends what the workers that wait have to send, and leaves the rest. */
static int flush_waiting(struct loop *l)
{
	struct bench *b = l->b;
	size_t left = 0;
	int rc = 0;

	for (size_t i = 0; i < l->dirty_count; i++) {
		struct connection *c = l->dirty[i];

		if (c < b->connections + b->putting)
			l->dirty[left++] = c;
		else if (rc == 0)
			rc = flush(b, c);
	}
	l->dirty_count = left;
	return rc;
}

/* For dialects whose requests have the client's time. */
static void read_stamp(struct bench *b)
{
	if (b->options->dialect != OPTIONS_NATIVE)
		stamp_read(&b->stamp, clock_wall_us());
}

static void measure(struct bench *b, const struct pending *p)
{
	struct measurement *m = &b->m;

	if (!b->is_measuring || p->sent_ns < m->start_ns ||
	    (m->end_ns != 0 && p->sent_ns >= m->end_ns))
		return;
	if (m->latencies[p->command] == NULL)
		m->latencies[p->command] = mem_zalloc(sizeof(struct histogram));
	histogram_add(m->latencies[p->command], (uint64_t)(b->now_ns - p->sent_ns));
	m->commands++;
	if (p->command == b->counted && p->command != COMMAND_PING)
		m->jobs += b->jids_of[p->command];
}

/* The worker got its reply: it continues at once, or waits for its time. */
static void go_on(struct loop *l, struct worker *w)
{
	bool waits = l->plan->rate != 0 && (!l->drains || w->step == 0);

	if (waits || !send_next(l, w, l->b->now_ns))
		STAILQ_INSERT_TAIL(&w->connection->idle, w, idle);
}

/* ---- workers that wait ---- */

/* Let idle workers put jobs for those that wait. */
static void put_for_waiting(struct loop *l)
{
	struct bench *b = l->b;

	for (size_t i = 0; i < b->putting && traffic_has_room(b); i++) {
		struct connection *c = &b->connections[l->next_connection];
		struct worker *w = STAILQ_FIRST(&c->idle);

		l->next_connection = (l->next_connection + 1) % b->putting;
		if (w == NULL)
			continue;
		STAILQ_REMOVE_HEAD(&c->idle, idle);
		if (!send_next(l, w, b->now_ns)) {
			STAILQ_INSERT_HEAD(&c->idle, w, idle);
			return;
		}
	}
}

static void wait_again(struct loop *l, struct worker *w)
{
	struct bench *b = l->b;

	/* Its waits fail again and again. */
	if (b->errors >= BENCH_ERRORS_MAX)
		return;
	w->step = 0;
	send_next(l, w, b->now_ns);
	if (l->plan->rate == 0)
		put_for_waiting(l);
}

/* A worker has got a job. It completes it and waits for the next one. The latency is that of the
 * hand-over, since the put was sent. */
static void take_job(struct loop *l, struct pending *p, const struct reply *reply)
{
	struct worker *w = p->worker;
	struct bench *b = l->b;
	uint64_t errors = b->errors;

	b->waits_under_way--;
	w->step = 0;
	traffic_receive(b, w, reply);
	if (b->errors == errors) {
		p->sent_ns = traffic_take_put_time(b, w);
		measure(b, p);
		if (w->step != 0)
			send_next(l, w, b->now_ns);
	}
	wait_again(l, w);
}

/* The reply to COMPLETE: the worker waits already. */
static void end_job(struct bench *b, struct worker *w, const struct reply *reply)
{
	size_t step = w->step;

	w->step = 1;
	traffic_receive(b, w, reply);
	w->step = step;
}

static void start_waiting(struct loop *l)
{
	struct bench *b = l->b;

	for (size_t i = b->putting; i < b->connection_count; i++) {
		struct worker *w = add_worker(b, &b->connections[i]);

		w->waits = true;
		wait_again(l, w);
	}
}

/* Without replies to come, except to workers that wait for nothing. */
static bool is_over(const struct bench *b)
{
	return b->under_way == 0 && (b->put_times.count == 0 || b->waits_under_way == 0);
}

/* ---- replies ---- */

static void take_reply(struct loop *l, struct pending *p, const struct reply *reply)
{
	struct bench *b = l->b;

	b->heard_ns = b->now_ns;
	if (p->command == COMMAND_WAIT) {
		take_job(l, p, reply);
		return;
	}
	assert(b->under_way != 0);
	b->under_way--;
	measure(b, p);
	if (p->worker->waits) {
		end_job(b, p->worker, reply);
		return;
	}
	/* A job that was not put is not on its way. */
	if (b->waiting != 0 && reply->error.len != 0)
		traffic_take_put_time(b, p->worker);
	traffic_receive(b, p->worker, reply);
	go_on(l, p->worker);
}

/* Take the replies from the bytes read. The rest is the beginning of the next one. */
static int take_replies(struct loop *l, struct connection *c)
{
	struct bench *b = l->b;
	struct qless_str rest = buf_str(&b->scratch);
	struct reply reply;
	ptrdiff_t len;

	while ((len = b->control.scan(rest, &reply)) > 0) {
		struct pending p;

		if (c->count == 0) {
			buf_printf(&b->error, "the server sent a reply without a request");
			return -1;
		}
		p = pop_pending(c);
		take_reply(l, &p, &reply);
		rest = str_make(rest.ptr + len, rest.len - (size_t)len);
	}
	if (len < 0) {
		buf_printf(&b->error, "the server sent an invalid reply");
		return -1;
	}
	buf_append_str(&c->tail, rest);
	return 0;
}

static int receive(struct loop *l, struct connection *c)
{
	struct bench *b = l->b;
	ssize_t n;

	buf_clear(&b->scratch);
	buf_append_str(&b->scratch, buf_str(&c->tail));
	buf_clear(&c->tail);
	n = recv(c->fd, buf_reserve(&b->scratch, READ_BYTES), READ_BYTES, 0);
	if (n < 0 && errno != EAGAIN)
		return fail(b, "cannot receive");
	if (n == 0) {
		buf_printf(&b->error, "the server has closed a connection");
		return -1;
	}
	buf_commit(&b->scratch, n > 0 ? (size_t)n : 0);
	b->now_ns = clock_mono_ns();
	read_stamp(b);
	return take_replies(l, c);
}

/* ---- time ---- */

/* Send the requests that are due, each on the next connection. */
static void send_due(struct loop *l)
{
	struct bench *b = l->b;

	while (!l->drains && l->next_due_ns <= b->now_ns) {
		struct connection *c = &b->connections[l->next_connection];
		struct worker *w = STAILQ_FIRST(&c->idle);

		if (w != NULL)
			STAILQ_REMOVE_HEAD(&c->idle, idle);
		else
			w = add_worker(b, c);
		if (b->now_ns - l->next_due_ns > b->m.late_ns && b->is_measuring)
			b->m.late_ns = b->now_ns - l->next_due_ns;
		if (!send_next(l, w, l->next_due_ns)) {
			STAILQ_INSERT_HEAD(&c->idle, w, idle);
			l->drains = true;
			break;
		}
		l->next_connection = (l->next_connection + 1) % b->putting;
		l->due_count++;
		l->next_due_ns = l->began_ns +
				 (int64_t)((double)l->due_count * NS_PER_S / (double)l->plan->rate);
	}
}

/* Let the workers in the middle of a round finish it. */
static void drain(struct loop *l)
{
	struct bench *b = l->b;

	for (size_t i = 0; i < b->putting; i++) {
		struct connection *c = &b->connections[i];
		STAILQ_HEAD(, worker) idle = STAILQ_HEAD_INITIALIZER(idle);
		struct worker *w;

		STAILQ_CONCAT(&idle, &c->idle);
		while ((w = STAILQ_FIRST(&idle)) != NULL) {
			STAILQ_REMOVE_HEAD(&idle, idle);
			go_on(l, w);
		}
	}
}

static int read_log_size(struct bench *b, struct figures *f)
{
	/* The log of beanstalkd has a fixed size. */
	if (b->options->dialect == OPTIONS_BEANSTALKD)
		return 0;
	return figures_read_log(&b->control, f, &b->error);
}

static int start_measuring(struct loop *l)
{
	struct bench *b = l->b;
	struct measurement *m = &b->m;

	if (read_log_size(b, &m->before) < 0)
		return -1;
	figures_read_process(&b->server, &m->before);
	m->own_cpu_s = figures_own_cpu_s();
	m->own_run_delay_s = figures_own_run_delay_s();
	m->start_ns = clock_mono_ns();
	b->started = 0;
	b->limit = l->plan->limit;
	b->is_measuring = true;
	return 0;
}

/* Requests that are sent from now on do not count. */
static void end_measuring(struct bench *b)
{
	struct measurement *m = &b->m;

	if (!b->is_measuring || m->end_ns != 0)
		return;
	m->end_ns = b->now_ns = clock_mono_ns();
	m->own_cpu_s = figures_own_cpu_s() - m->own_cpu_s;
	m->own_run_delay_s = figures_own_run_delay_s() - m->own_run_delay_s;
	figures_read_process(&b->server, &m->after);
}

/* Start or end measuring if it is time. */
static int look_at_time(struct loop *l)
{
	const struct loop_plan *plan = l->plan;
	struct bench *b = l->b;

	if (!plan->measure)
		return 0;
	if (!b->is_measuring && b->now_ns - l->began_ns >= plan->warmup_ns)
		return start_measuring(l);
	if (b->is_measuring && plan->duration_ns != 0 &&
	    b->now_ns - b->m.start_ns >= plan->duration_ns)
		b->is_stopping = l->drains = true;
	if (l->drains)
		end_measuring(b);
	return 0;
}

/* The time to wait for events. */
static int64_t choose_timeout_ns(const struct loop *l)
{
	int64_t until_due_ns = l->next_due_ns - l->b->now_ns;

	if (l->plan->rate == 0 || l->drains || until_due_ns > TURN_MAX_NS)
		return TURN_MAX_NS;
	return until_due_ns > 0 ? until_due_ns : 0;
}

/* A kernel that cannot wait for less than a millisecond is polled, so that scheduled requests are
 * on time. */
static int wait_for_events(const struct loop *l, struct epoll_event *events)
{
	int64_t timeout_ns = choose_timeout_ns(l);
	struct timespec timeout = { .tv_nsec = timeout_ns };
	int count = epoll_pwait2(l->b->epoll_fd, events, EVENTS_MAX, &timeout, NULL);

	if (count < 0 && errno == ENOSYS)
		count = epoll_wait(l->b->epoll_fd, events, EVENTS_MAX,
				   (int)(timeout_ns / NS_PER_MS));
	return count;
}

static int handle_event(struct loop *l, const struct epoll_event *event)
{
	struct connection *c = event->data.ptr;

	if ((event->events & EPOLLOUT) != 0 && flush(l->b, c) < 0)
		return -1;
	if ((event->events & ~(uint32_t)EPOLLOUT) == 0)
		return 0;
	if (receive(l, c) < 0)
		return -1;
	/* Send the requests of this connection before the next one is read, so that the server has
	 * work. Puts for workers that wait leave together, after all these workers wait. */
	return l->b->waiting != 0 ? flush_waiting(l) : flush_dirty(l);
}

/* Give up if the server hangs. */
static int check_silence(struct bench *b)
{
	if (is_over(b))
		b->heard_ns = b->now_ns;
	if (b->now_ns - b->heard_ns <= SILENCE_MAX_NS)
		return 0;
	buf_printf(&b->error, "the server does not reply");
	return -1;
}

static int turn(struct loop *l)
{
	struct epoll_event events[EVENTS_MAX];
	struct bench *b = l->b;
	int count = wait_for_events(l, events);

	if (count < 0 && errno != EINTR)
		return fail(b, "epoll");
	for (int i = 0; i < count; i++) {
		if (handle_event(l, &events[i]) < 0)
			return -1;
	}
	b->now_ns = clock_mono_ns();
	read_stamp(b);
	if (b->errors >= BENCH_ERRORS_MAX)
		b->is_stopping = true;
	if (check_silence(b) < 0)
		return -1;
	if (l->plan->rate != 0) {
		bool drained = l->drains;

		send_due(l);
		if (look_at_time(l) < 0)
			return -1;
		if (l->drains && !drained)
			drain(l);
		return flush_dirty(l);
	}
	return b->waiting != 0 && flush_dirty(l) < 0 ? -1 : look_at_time(l);
}

/* All workers wait for the first step. An earlier phase may have added more than this one needs. */
static void line_up(struct loop *l)
{
	struct bench *b = l->b;

	for (size_t i = 0; i < b->putting; i++) {
		struct connection *c = &b->connections[i];

		while (c->worker_count < l->plan->width)
			add_worker(b, c);
		STAILQ_INIT(&c->idle);
		for (size_t j = 0; j < l->plan->width; j++) {
			c->workers[j]->step = 0;
			c->workers[j]->rounds = 0;
			STAILQ_INSERT_TAIL(&c->idle, c->workers[j], idle);
		}
	}
}

int loop_run(struct bench *b, const struct loop_plan *plan)
{
	struct loop l = { .b = b, .plan = plan };
	int rc = 0;

	b->started = 0;
	b->limit = plan->measure ? UINT64_MAX : plan->limit;
	b->is_stopping = false;
	l.dirty = mem_realloc_array(NULL, b->connection_count, sizeof(struct connection *));
	line_up(&l);
	b->now_ns = l.began_ns = clock_mono_ns();
	rc = look_at_time(&l);
	b->now_ns = b->heard_ns = l.began_ns = l.next_due_ns = clock_mono_ns();
	read_stamp(b);
	start_waiting(&l);
	if (rc == 0 && plan->rate == 0) {
		drain(&l);
		rc = flush_dirty(&l);
	}
	while (rc == 0 && (!is_over(b) || (plan->rate != 0 && !l.drains))) {
		rc = turn(&l);
		report_progress(b);
	}
	if (rc == 0 && plan->measure) {
		end_measuring(b);
		rc = read_log_size(b, &b->m.after);
	}
	free(l.dirty);
	return rc;
}
