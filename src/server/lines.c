#include "server/lines.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/databases.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/container.h"
#include "util/mem.h"

/* Number of attempts to serve a client after one command, and in one turn. More wait for the next
 * turn. An attempt takes a few microseconds. */
#define SERVED_PER_COMMAND 64
#define SERVED_PER_TURN	   512
/* Microseconds after which no further client is served in one go. An attempt of a client that waits
 * for thousands of queues takes longer. */
#define SERVING_US 1000
/* Number of woken or due queues that are looked at in one go. Queues for which nobody waits wake,
 * too. */
#define WOKEN_AT_ONCE 1000

struct place {
	struct line *line;
	struct crowd *crowd;
	struct line_wait *wait;
	struct heard *heard; /* NULL: the worker is attached, and listens anyway */
	TAILQ_ENTRY(place) link;
};

TAILQ_HEAD(place_list, place);

/* The clients in a line that ask for the same class, or for any, in the order of their numbers. */
struct crowd {
	struct place_list places;
	bool is_passed; /* nothing is left for them until the line is pending anew */
	TAILQ_ENTRY(crowd) link;
	bool has_klass;
	size_t len;
	char klass[];
};

TAILQ_HEAD(crowd_list, crowd);

struct line {
	struct hash_node by_queue;
	unsigned db;
	bool is_pending; /* on lines.pending, or being served: it stays even if it is empty */
	struct crowd_list crowds; /* those of classes may be empty while it is pending */
	TAILQ_ENTRY(line) pending;
	size_t len;
	char queue[];
};

struct line_wait {
	struct waiting *waiting;
	uint64_t number; /* rises: the lowest one waits longest */
	struct heap_node timeout;
	size_t count;
	struct place places[];
};

static struct qless_str line_name(const struct line *line)
{
	return str_make(line->queue, line->len);
}

static struct qless_str line_key(const struct hash_node *node)
{
	return line_name(container_of(node, const struct line, by_queue));
}

/*
 * Lines
 */

static struct line *find_line(const struct server *s, unsigned db, struct qless_str queue)
{
	struct hash_node *node = hash_find(&s->lines.by_queue[db], queue);

	return node != NULL ? container_of(node, struct line, by_queue) : NULL;
}

static struct line *need_line(struct server *s, unsigned db, struct qless_str queue)
{
	struct line *line = find_line(s, db, queue);

	if (line != NULL)
		return line;
	line = mem_zalloc(sizeof *line + queue.len);
	line->db = db;
	line->len = queue.len;
	if (queue.len != 0)
		memcpy(line->queue, queue.ptr, queue.len);
	TAILQ_INIT(&line->crowds);
	hash_insert(&s->lines.by_queue[db], &line->by_queue);
	return line;
}

static bool is_crowd_of(const struct crowd *crowd, const struct qless_str *klass)
{
	if (klass == NULL || !crowd->has_klass)
		return klass == NULL && !crowd->has_klass;
	return str_equal(str_make(crowd->klass, crowd->len), *klass);
}

static struct crowd *find_crowd(const struct line *line, const struct qless_str *klass)
{
	struct crowd *crowd;

	TAILQ_FOREACH(crowd, &line->crowds, link) {
		if (is_crowd_of(crowd, klass))
			break;
	}
	return crowd;
}

static struct crowd *need_crowd(struct line *line, const struct qless_str *klass)
{
	struct crowd *crowd = find_crowd(line, klass);
	size_t len = klass != NULL ? klass->len : 0;

	if (crowd != NULL)
		return crowd;
	crowd = mem_zalloc(sizeof *crowd + len);
	crowd->has_klass = klass != NULL;
	crowd->len = len;
	if (len != 0)
		memcpy(crowd->klass, klass->ptr, len);
	TAILQ_INIT(&crowd->places);
	TAILQ_INSERT_TAIL(&line->crowds, crowd, link);
	return crowd;
}

/* The wait of the first client of a crowd, which may be NULL; NULL if there is none. */
static struct line_wait *first_of(const struct crowd *crowd)
{
	const struct place *place = crowd != NULL ? TAILQ_FIRST(&crowd->places) : NULL;

	return place != NULL ? place->wait : NULL;
}

static void free_if_empty(struct server *s, struct line *line)
{
	struct crowd *crowd, *next;

	if (line->is_pending)
		return;
	for (crowd = TAILQ_FIRST(&line->crowds); crowd != NULL; crowd = next) {
		next = TAILQ_NEXT(crowd, link);
		if (!TAILQ_EMPTY(&crowd->places))
			continue;
		TAILQ_REMOVE(&line->crowds, crowd, link);
		free(crowd);
	}
	if (!TAILQ_EMPTY(&line->crowds))
		return;
	hash_remove(&s->lines.by_queue[line->db], &line->by_queue);
	free(line);
}

/* Something may be left for all clients of a line. */
static void begin_anew(struct line *line)
{
	struct crowd *crowd;

	TAILQ_FOREACH(crowd, &line->crowds, link)
		crowd->is_passed = false;
}

static void add_pending(struct server *s, struct line *line)
{
	begin_anew(line);
	if (line->is_pending)
		return;
	line->is_pending = true;
	TAILQ_INSERT_TAIL(&s->lines.pending, line, pending);
}

static void remove_pending(struct server *s, struct line *line)
{
	assert(line->is_pending);
	TAILQ_REMOVE(&s->lines.pending, line, pending);
	line->is_pending = false;
	free_if_empty(s, line);
}

/*
 * Waiting
 */

/* Whether no client of the crowd, which may be NULL, waits longer than that number. */
static bool is_before(const struct crowd *crowd, uint64_t number)
{
	const struct line_wait *first = first_of(crowd);

	return first == NULL || first->number >= number;
}

bool lines_is_next(void *arg, const struct request *req, struct qless_str queue,
		   const struct qless_str *klass)
{
	const struct server *s = arg;
	const struct waiting *running = s->waitings.running;
	const struct line_wait *own;
	const struct line *line;
	uint64_t number;

	/* Nobody waits, or the command is one that never waits. */
	if (s->lines.waiting == 0 || running == NULL)
		return true;
	line = find_line(s, req->database->index, queue);
	if (line == NULL)
		return true;
	own = waiting_lines(running);
	number = own != NULL ? own->number : UINT64_MAX;
	/* Those that wait for another class leave enough: what was for them has been handed out. */
	return is_before(find_crowd(line, NULL), number) &&
	       (klass == NULL || is_before(find_crowd(line, klass), number));
}

void lines_wait(void *arg, const struct request *req, struct qless_str worker,
		const struct qless_str *queues, size_t count, const struct qless_str *klass,
		double timeout_s)
{
	struct server *s = arg;
	struct line_wait *wait = mem_alloc(sizeof *wait + count * sizeof wait->places[0]);
	unsigned db = req->database->index;
	bool is_attached = presence_listens(s, db, worker, queues, count);

	wait->waiting = waiting_sleep_for_jobs(s, wait);
	wait->number = s->lines.next_number++;
	wait->count = count;
	heap_node_init(&wait->timeout);
	if (timeout_s > 0)
		heap_insert(&s->lines.timeouts, &wait->timeout,
			    (double)s->clocks.lap_ns / 1e3 + timeout_s * 1e6);
	for (size_t i = 0; i < count; i++) {
		struct place *place = &wait->places[i];

		place->line = need_line(s, db, queues[i]);
		place->crowd = need_crowd(place->line, klass);
		place->heard = is_attached ? NULL : listeners_begin_wait(s, db, queues[i]);
		place->wait = wait;
		TAILQ_INSERT_TAIL(&place->crowd->places, place, link);
	}
	s->lines.waiting++;
}

void lines_leave(struct server *s, struct line_wait *wait)
{
	for (size_t i = 0; i < wait->count; i++) {
		struct place *place = &wait->places[i];

		TAILQ_REMOVE(&place->crowd->places, place, link);
		if (place->heard != NULL)
			listeners_end_wait(s, place->heard);
		free_if_empty(s, place->line);
	}
	if (heap_has(&wait->timeout))
		heap_remove(&s->lines.timeouts, &wait->timeout);
	s->lines.waiting--;
	free(wait);
}

size_t lines_memory(const struct line_wait *wait)
{
	return wait != NULL ? sizeof *wait + wait->count * sizeof wait->places[0] : 0;
}

bool lines_read_wait(const struct client *c, struct qless_str *ret_worker,
		     const struct qless_str **ret_queues, size_t *ret_count)
{
	const struct line_wait *wait = waiting_lines(c->waiting);
	const struct qless_str *args;

	if (wait == NULL)
		return false;
	/* BPOP timeout worker numqueues queue ... */
	args = waiting_request(c->waiting)->args;
	*ret_worker = args[1];
	*ret_queues = args + 3;
	*ret_count = wait->count;
	return true;
}

/*
 * Ending without a job
 */

static void end_timeouts(struct server *s)
{
	double now_us = (double)clock_mono_us();
	struct heap_node *first;

	while ((first = heap_first(&s->lines.timeouts)) != NULL && first->key <= now_us)
		waiting_end_with_null(container_of(first, struct line_wait, timeout)->waiting);
}

/*
 * Serving
 */

static bool may_wake(const struct server *s, unsigned db)
{
	const struct qless *engine = databases_peek(s->env.databases, db);

	return hash_count(&s->lines.by_queue[db]) != 0 && engine != NULL && qless_has_woken(engine);
}

static void take_woken(struct server *s, unsigned db)
{
	struct qless *engine = databases_peek(s->env.databases, db);
	struct qless_str queue;

	for (int i = 0; i < WOKEN_AT_ONCE && qless_take_woken(engine, &queue); i++) {
		struct line *line = find_line(s, db, queue);

		if (line != NULL)
			add_pending(s, line);
	}
}

/* The kernel may know that the peer is gone before the loop does. */
static bool is_gone(struct client *c)
{
	return c->kind != CLIENT_INTERNAL && conn_peer_is_gone(conn_of(c));
}

/* Lets the first client of a crowd try. Returns false if no other one of it could get something
 * either. */
static bool serve_first(struct server *s, struct line *line, struct crowd *crowd)
{
	struct waiting *w = first_of(crowd)->waiting;
	struct client *c = waiting_client(w);
	uint64_t changes;

	if (is_gone(c)) {
		client_drop(c, "it closed while it waited for jobs");
		return true;
	}
	changes = qless_changes(databases_peek(s->env.databases, line->db));
	if (waiting_try(w)) {
		/* The worker begins while the server still writes to others. */
		if (c->kind != CLIENT_INTERNAL)
			conn_send_first(conn_of(c));
		return true;
	}
	/* A pop without a job may have warned the owners of some expired locks, but not of all. */
	return qless_changes(databases_peek(s->env.databases, line->db)) != changes;
}

static bool can_serve(const struct server *s, const struct line *line, const struct crowd *crowd)
{
	const struct qless *engine = databases_peek(s->env.databases, line->db);
	double now;

	if (engine == NULL)
		return false;
	now = s->env.now(s->env.arg);
	return crowd->has_klass ? qless_is_class_poppable(engine, now, line_name(line),
							  str_make(crowd->klass, crowd->len))
				: qless_is_poppable(engine, now, line_name(line));
}

/* The crowd whose first client waits longest, of those that were not passed. */
static struct crowd *find_oldest(const struct line *line)
{
	struct crowd *crowd, *oldest = NULL;

	TAILQ_FOREACH(crowd, &line->crowds, link) {
		if (!crowd->is_passed && first_of(crowd) != NULL &&
		    (oldest == NULL || first_of(crowd)->number < first_of(oldest)->number))
			oldest = crowd;
	}
	return oldest;
}

/* The crowd to serve; NULL if there is nothing for anybody. */
static struct crowd *find_served(const struct server *s, const struct line *line)
{
	struct crowd *crowd;

	while ((crowd = find_oldest(line)) != NULL && !can_serve(s, line, crowd))
		crowd->is_passed = true;
	return crowd;
}

/* Serves until nothing is left, or `attempts` are made, or the time is over. Each attempt reads the
 * clock. */
static void serve_pending(struct server *s, unsigned attempts)
{
	int64_t until_ns = clock_mono_ns() + SERVING_US * INT64_C(1000);
	struct crowd *crowd;
	struct line *line;

	while ((line = TAILQ_FIRST(&s->lines.pending)) != NULL) {
		if (presence_is_late(&s->presence, s->clocks.lap_ns))
			presence_catch_up(s);
		crowd = find_served(s, line);
		if (crowd == NULL) {
			remove_pending(s, line);
			continue;
		}
		if (attempts-- == 0 || s->clocks.lap_ns > until_ns)
			return;
		if (serve_first(s, line, crowd))
			begin_anew(line);
		else
			crowd->is_passed = true;
	}
}

void lines_serve(struct server *s, unsigned db)
{
	if (!may_wake(s, db) || !environment_may_change(s))
		return;
	take_woken(s, db);
	serve_pending(s, SERVED_PER_COMMAND);
}

/*
 * Due times
 */

static double native_seconds(struct server *s)
{
	return clock_seconds(steady_clock_peek_us(&s->clocks.native));
}

/* The pops that follow have a later time, so that they find what is due. */
static void take_due(struct server *s, struct qless *engine)
{
	struct qless_str queue;
	double now;

	if (!(qless_next_due(engine) <= native_seconds(s)))
		return;
	now = s->env.now(s->env.arg);
	for (int i = 0; i < WOKEN_AT_ONCE && qless_take_due(engine, now, &queue); i++)
		continue;
}

static double next_due(struct server *s)
{
	double due = INFINITY;

	for (unsigned db = 0; db < s->lines.databases; db++) {
		struct qless *engine = databases_peek(s->env.databases, db);

		if (engine != NULL && hash_count(&s->lines.by_queue[db]) != 0)
			due = fmin(due, qless_next_due(engine));
	}
	return due;
}

/* Asks for a turn when the next timeout ends, or something falls due. */
static void set_alarm(struct server *s)
{
	const struct lines *lines = &s->lines;
	const struct heap_node *timeout = heap_first(&lines->timeouts);
	double left_us = timeout != NULL ? timeout->key - (double)clock_mono_us() : INFINITY;

	if (!lines->is_held)
		left_us = fmin(left_us, (next_due(s) - native_seconds(s)) * 1e6);
	alarm_ring_in(s, left_us);
}

/*
 * Turns
 */

bool lines_can_run(const struct server *s)
{
	bool has_something = s->lines.is_held || !TAILQ_EMPTY(&s->lines.pending);

	if (lines_are_empty(&s->lines) || !environment_may_change(s))
		return false;
	for (unsigned db = 0; !has_something && db < s->lines.databases; db++)
		has_something = may_wake(s, db);
	return has_something;
}

static void serve_all(struct server *s)
{
	for (unsigned db = 0; db < s->lines.databases; db++) {
		struct qless *engine = databases_peek(s->env.databases, db);

		if (engine == NULL || hash_count(&s->lines.by_queue[db]) == 0)
			continue;
		take_due(s, engine);
		take_woken(s, db);
	}
	serve_pending(s, SERVED_PER_TURN);
}

void lines_run(struct server *s)
{
	s->lines.is_held = !environment_may_change(s);
	if (!s->lines.is_held)
		serve_all(s);
	end_timeouts(s);
	set_alarm(s);
}

/*
 * Birth and death
 */

void lines_init(struct server *s)
{
	struct lines *lines = &s->lines;

	lines->databases = databases_count(s->env.databases);
	lines->by_queue = mem_zalloc(lines->databases * sizeof *lines->by_queue);
	for (unsigned db = 0; db < lines->databases; db++)
		hash_init(&lines->by_queue[db], line_key, s->hash_seed);
	TAILQ_INIT(&lines->pending);
}

void lines_done(struct server *s)
{
	struct lines *lines = &s->lines;

	assert(lines->waiting == 0);
	while (!TAILQ_EMPTY(&lines->pending))
		remove_pending(s, TAILQ_FIRST(&lines->pending));
	for (unsigned db = 0; db < lines->databases; db++)
		hash_done(&lines->by_queue[db]);
	free(lines->by_queue);
	heap_done(&lines->timeouts);
}
