/*
 * The workers of all endpoints, and when they take jobs. push_work.c has what they do with a job.
 */
#include "server/push.h"

#include <event2/event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/acl.h"
#include "command/databases.h"
#include "command/native_endpoint.h"
#include "server/push_int.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/container.h"
#include "util/mem.h"

/* Jobs that a worker takes at once, at most. */
#define TAKEN_AT_ONCE 64
/* Seconds after which a worker tries again to take jobs, if nothing may change now. */
#define TAKE_AGAIN_S 1
/* Seconds after which it tries again to end a BPOP that has not begun to wait. */
#define END_AGAIN_S 0.1

/*
 * Timers
 */

double push_now(void)
{
	return (double)clock_mono_us() / 1e6;
}

void push_timer_init(struct push_timer *timer, void (*fn)(struct push_timer *timer))
{
	heap_node_init(&timer->node);
	timer->fn = fn;
}

/* Lets the event come when the first timer is due. */
static void set_event(struct push *push)
{
	const struct heap_node *first = heap_first(&push->timers);
	struct timeval after;
	double left_us;

	if (first == NULL) {
		event_del(push->timer);
		return;
	}
	left_us = fmin(fmax(first->key - (double)clock_mono_us(), 0), 1e12);
	after.tv_sec = (time_t)(left_us / 1e6);
	after.tv_usec = (suseconds_t)fmod(left_us, 1e6);
	event_add(push->timer, &after);
}

static void change_timers(struct push *push, struct push_timer *timer, bool is_set, double key)
{
	const struct heap_node *first = heap_first(&push->timers);
	double first_key = first != NULL ? first->key : INFINITY;

	if (heap_has(&timer->node))
		heap_remove(&push->timers, &timer->node);
	if (is_set)
		heap_insert(&push->timers, &timer->node, key);
	/* An event that comes early does nothing, so only an earlier one must be set. */
	if (is_set && key < first_key)
		set_event(push);
}

void push_timer_set(struct push *push, struct push_timer *timer, double seconds)
{
	change_timers(push, timer, true, (double)clock_mono_us() + seconds * 1e6);
}

void push_timer_stop(struct push *push, struct push_timer *timer)
{
	change_timers(push, timer, false, 0);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct push *push = arg;
	struct heap_node *first;

	(void)fd;
	(void)what;
	server_read_clock(push->server);
	while ((first = heap_first(&push->timers)) != NULL &&
	       first->key <= (double)clock_mono_us()) {
		struct push_timer *timer = container_of(first, struct push_timer, node);

		heap_remove(&push->timers, first);
		timer->fn(timer);
	}
	set_event(push);
}

/*
 * Workers
 */

static struct qless_str pusher_key(const struct hash_node *node)
{
	const struct pusher *p = container_of(node, const struct pusher, node);

	return str_make(p->key, p->key_len);
}

struct qless_str pusher_worker(const struct pusher *p)
{
	const char *worker = (const char *)memchr(p->key, ':', p->key_len) + 1;

	return str_make(worker, p->key_len - (size_t)(worker - p->key));
}

struct qless_str pusher_name(const struct pusher *p)
{
	struct qless_str name = pusher_worker(p);

	str_strip_prefix(name, STR(PUSH_WORKER_PREFIX), &name);
	return name;
}

const struct endpoint *pusher_endpoint(const struct pusher *p)
{
	return endpoints_find(databases_endpoints(p->push->server->env.databases, p->db),
			      pusher_name(p));
}

void pusher_change(struct pusher *p)
{
	if (p->is_changed)
		return;
	p->is_changed = true;
	TAILQ_INSERT_TAIL(&p->push->changed, p, change);
}

static void on_wake(struct push_timer *timer)
{
	pusher_change(container_of(timer, struct pusher, wake));
}

static void append_key(struct buf *key, unsigned db, struct qless_str name)
{
	buf_printf(key, "%u:" PUSH_WORKER_PREFIX, db);
	buf_append_str(key, name);
}

static struct pusher *find_pusher(const struct push *push, unsigned db, struct qless_str name)
{
	struct buf key = BUF_INIT(BUF_NO_MAX);
	struct hash_node *node = NULL;

	append_key(&key, db, name);
	if (push != NULL)
		node = hash_find(&push->by_name, buf_str(&key));
	buf_done(&key);
	return node != NULL ? container_of(node, struct pusher, node) : NULL;
}

static void begin_submitter(struct pusher *p, struct submitter *by)
{
	struct push *push = p->push;

	submitter_init(by, push->server, "push:0", acl_default_user(push->rights));
	by->client.session.db = p->db;
}

static struct pusher *pusher_new(struct push *push, unsigned db, struct qless_str name)
{
	struct buf key = BUF_INIT(BUF_NO_MAX);
	struct pusher *p;

	append_key(&key, db, name);
	p = mem_zalloc(sizeof *p + key.len);
	p->push = push;
	p->db = db;
	p->key_len = key.len;
	memcpy(p->key, buf_data(&key), key.len);
	buf_done(&key);
	buf_init(&p->last_error, BUF_NO_MAX);
	TAILQ_INIT(&p->jobs);
	TAILQ_INIT(&p->over);
	circuit_init(&p->circuit);
	push_timer_init(&p->wake, on_wake);
	begin_submitter(p, &p->taker);
	begin_submitter(p, &p->teller);
	hash_insert(&push->by_name, &p->node);
	TAILQ_INSERT_TAIL(&push->pushers, p, all);
	return p;
}

static void pusher_free(struct pusher *p)
{
	struct push *push = p->push;

	push->gone.sent += p->status.sent;
	push->gone.completed += p->status.completed;
	push->gone.retried += p->status.retried;
	push->gone.failed += p->status.failed;
	submitter_done(&p->taker);
	submitter_done(&p->teller);
	push_jobs_free(p);
	if (p->is_changed)
		TAILQ_REMOVE(&push->changed, p, change);
	push_timer_stop(push, &p->wake);
	TAILQ_REMOVE(&push->pushers, p, all);
	hash_remove(&push->by_name, &p->node);
	buf_done(&p->last_error);
	free(p);
}

/*
 * Taking jobs
 */

struct circuit_rules push_circuit_rules(const struct push *push)
{
	const struct config *config = push->server->config;

	return (struct circuit_rules){ .failures = (unsigned)config->push_circuit_failures,
				       .pause_s = (double)config->push_circuit_pause_s,
				       .max_pause_s = (double)config->push_circuit_max_pause_s };
}

static void note_error(struct pusher *p, struct qless_str line)
{
	buf_clear(&p->last_error);
	buf_append_str(&p->last_error, line);
}

static void begin_job(void *arg, struct taken_job *taken)
{
	pusher_begin_job(arg, taken);
}

/* The reply is a string with jobs in JSON, null, or an error. */
static void read_reply(struct pusher *p, struct qless_str reply)
{
	const char *end = memchr(reply.ptr, '\n', reply.len);
	size_t head = end != NULL ? (size_t)(end - reply.ptr) + 1 : reply.len;

	if (reply.len > head + 2 && reply.ptr[0] == '$' &&
	    taken_jobs_read(str_make(reply.ptr + head, reply.len - head - 2), begin_job, p))
		return;
	if (reply.len == 0 || reply.ptr[0] != '-')
		return;
	note_error(p, str_make(reply.ptr + 1, head > 3 ? head - 3 : 0));
	push_timer_set(p->push, &p->wake, TAKE_AGAIN_S);
}

static void append_chain(struct buf *out, const struct chain *chain)
{
	for (const struct chunk *chunk = chain->head; chunk != NULL; chunk = chunk->next) {
		const char *data = chunk->shared != NULL ? chunk->shared->data : chunk->data;

		buf_append(out, data + chunk->start, chunk->end - chunk->start);
	}
}

static void on_taken(void *arg, enum submit_outcome outcome, const struct chain *reply)
{
	struct pusher *p = arg;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	p->is_taking = false;
	/* Jobs whose hand-out may be lost are not posted. Their locks expire. */
	if (outcome == SUBMIT_ANSWERED) {
		append_chain(&text, reply);
		read_reply(p, buf_str(&text));
	} else {
		push_timer_set(p->push, &p->wake, TAKE_AGAIN_S);
	}
	buf_done(&text);
	if (!heap_has(&p->wake.node))
		pusher_change(p);
}

static void take(struct pusher *p, const struct endpoint *endpoint, size_t room)
{
	size_t argc = 0, max = p->push->server->config->max_jobs_per_call;
	struct qless_str *argv = mem_realloc_array(NULL, endpoint->queue_count + 8, sizeof *argv);
	char queues[NUM_MAX], count[NUM_MAX];

	if (room > TAKEN_AT_ONCE)
		room = TAKEN_AT_ONCE;
	if (max != 0 && room > max)
		room = max;
	argv[argc++] = STR("BPOP");
	argv[argc++] = STR("0");
	argv[argc++] = pusher_worker(p);
	argv[argc++] = str_make(queues, num_format_u64(queues, endpoint->queue_count));
	for (size_t i = 0; i < endpoint->queue_count; i++)
		argv[argc++] = endpoint->queues[i];
	argv[argc++] = STR("COUNT");
	argv[argc++] = str_make(count, num_format_u64(count, room));
	if (endpoint->klass.ptr != NULL) {
		argv[argc++] = STR("CLASS");
		argv[argc++] = endpoint->klass;
	}
	p->is_taking = true;
	server_submit(p->push->server, &p->taker, argv, (int)argc, on_taken, p);
	free(argv);
}

/* The jobs that the endpoint may get now. */
static size_t room_of(struct pusher *p, const struct endpoint *endpoint)
{
	int64_t room;

	if (endpoint == NULL || endpoint->is_paused || p->push->is_stopping ||
	    p->push->client == NULL)
		return 0;
	room = (endpoint->concurrency > 0 ? endpoint->concurrency : 1) - (int64_t)p->job_count;
	return circuit_room(&p->circuit, push_now(), room > 0 ? (unsigned)room : 0);
}

/* A BPOP waits for jobs that the endpoint may no longer get, or perhaps of other queues. */
static void end_taking(struct pusher *p)
{
	if (!waiting_unblock(&p->taker.client, /* with_error= */ false))
		push_timer_set(p->push, &p->wake, END_AGAIN_S);
}

static void look(struct pusher *p)
{
	const struct endpoint *endpoint = pusher_endpoint(p);
	size_t room = room_of(p, endpoint);

	if (p->is_taking) {
		if (room == 0 || p->is_stale)
			end_taking(p);
		return;
	}
	p->is_stale = false;
	if (endpoint == NULL && p->job_count == 0) {
		pusher_free(p);
		return;
	}
	if (room != 0)
		take(p, endpoint, room);
	else if (p->circuit.state == CIRCUIT_OPEN)
		push_timer_set(p->push, &p->wake, fmax(p->circuit.until - push_now(), 0));
}

bool push_is_idle(const struct push *push)
{
	return TAILQ_EMPTY(&push->changed);
}

void push_run(struct server *s)
{
	struct push *push = s->push;
	struct pusher *p;

	while ((p = TAILQ_FIRST(&push->changed)) != NULL) {
		TAILQ_REMOVE(&push->changed, p, change);
		p->is_changed = false;
		look(p);
	}
}

/*
 * Changes
 */

static void load_client(struct push *push)
{
	buf_clear(&push->unavailable);
	push->client = push_client_new(push->server, &push->unavailable);
	if (push->client == NULL)
		log_warning("no jobs are posted to endpoints: %s", buf_cstr(&push->unavailable));
}

struct push *push_need(struct server *s)
{
	struct push *push = s->push;

	if (push == NULL) {
		push = s->push = mem_zalloc(sizeof *push);
		push->server = s;
		push->rights = acl_new(s->table);
		buf_init(&push->unavailable, BUF_NO_MAX);
		hash_init(&push->by_name, pusher_key, s->hash_seed);
		TAILQ_INIT(&push->pushers);
		TAILQ_INIT(&push->changed);
		TAILQ_INIT(&push->tests);
		push->timer = event_new(s->base, -1, 0, on_timer, push);
	}
	if (push->client == NULL)
		load_client(push);
	return push;
}

static void change_endpoint(struct server *s, unsigned db, struct qless_str name)
{
	struct pusher *p = find_pusher(s->push, db, name);

	if (p == NULL) {
		if (endpoints_find(databases_endpoints(s->env.databases, db), name) == NULL)
			return;
		p = pusher_new(push_need(s), db, name);
	}
	p->is_stale = true;
	pusher_change(p);
}

void push_note_change(struct server *s, const struct operation *op)
{
	struct pusher *p;

	if (op->kind != OPERATION_FLUSH) {
		change_endpoint(s, op->db, op->endpoint.name);
		return;
	}
	if (s->push == NULL)
		return;
	TAILQ_FOREACH(p, &s->push->pushers, all) {
		if (p->db == op->db)
			pusher_change(p);
	}
}

struct loaded {
	struct server *server;
	unsigned db;
};

static void begin_endpoint(void *arg, const struct endpoint *endpoint)
{
	const struct loaded *loaded = arg;

	change_endpoint(loaded->server, loaded->db, endpoint->name);
}

void push_begin(struct server *s)
{
	struct loaded loaded = { s, 0 };

	for (; loaded.db < databases_count(s->env.databases); loaded.db++)
		endpoints_each(databases_endpoints(s->env.databases, loaded.db), begin_endpoint,
			       &loaded);
}

void push_apply_config(struct server *s)
{
	struct pusher *p;

	if (s->push == NULL)
		return;
	if (s->push->client != NULL)
		push_client_apply_config(s->push->client);
	TAILQ_FOREACH(p, &s->push->pushers, all)
		pusher_change(p);
}

void push_stop(struct server *s)
{
	if (s->push != NULL)
		s->push->is_stopping = true;
}

void push_done(struct server *s)
{
	struct push *push = s->push;

	if (push == NULL)
		return;
	push_tests_cancel(push);
	while (!TAILQ_EMPTY(&push->pushers))
		pusher_free(TAILQ_FIRST(&push->pushers));
	push_client_free(push->client);
	event_free(push->timer);
	heap_done(&push->timers);
	hash_done(&push->by_name);
	buf_done(&push->unavailable);
	acl_free(push->rights);
	free(push);
	s->push = NULL;
}

/*
 * Status and figures
 */

static bool allows(void *arg, struct qless_str url)
{
	return push_client_allows(arg, url);
}

static void fill_status(const struct pusher *p, struct push_status *ret)
{
	const struct push *push = p->push;
	const struct circuit *circuit = &p->circuit;

	*ret = p->status;
	ret->state = circuit_state_name(circuit->state);
	ret->running = p->job_count;
	ret->failures = circuit->failures;
	ret->last_error = buf_str(&p->last_error);
	if (circuit->state == CIRCUIT_OPEN)
		ret->opens = (double)push->server->clocks.wall_us / 1e6 +
			     fmax(circuit->until - push_now(), 0);
	if (push->client == NULL) {
		ret->state = "unavailable";
		ret->last_error = buf_str(&push->unavailable);
	}
}

static void status(void *arg, unsigned db, struct qless_str name, struct push_status *ret)
{
	struct server *s = arg;
	const struct pusher *p = find_pusher(s->push, db, name);

	if (p != NULL)
		fill_status(p, ret);
}

void push_each(struct server *s,
	       void (*visit)(void *arg, unsigned db, struct qless_str name,
			     const struct push_status *status),
	       void *arg)
{
	struct push_status shown;
	const struct pusher *p;

	if (s->push == NULL)
		return;
	TAILQ_FOREACH(p, &s->push->pushers, all) {
		fill_status(p, &shown);
		visit(arg, p->db, pusher_name(p), &shown);
	}
}

void push_get_figures(const struct server *s, struct push_figures *ret)
{
	const struct pusher *p;

	*ret = (struct push_figures){ .endpoints = 0 };
	if (s->push == NULL)
		return;
	*ret = s->push->gone;
	TAILQ_FOREACH(p, &s->push->pushers, all) {
		ret->endpoints++;
		ret->open += p->circuit.state == CIRCUIT_OPEN;
		ret->running += p->job_count;
		ret->sent += p->status.sent;
		ret->completed += p->status.completed;
		ret->retried += p->status.retried;
		ret->failed += p->status.failed;
	}
}

const struct push_ops push_ops = {
	.allows = allows,
	.status = status,
	.begin_test = push_test_begin,
	.end_test = push_test_end,
};
