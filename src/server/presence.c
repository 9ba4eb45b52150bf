#include "server/presence.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/acl.h"
#include "command/databases.h"
#include "command/permit.h"
#include "command/table.h"
#include "engine/view.h"
#include "resp/writer.h"
#include "server/server_int.h"
#include "util/container.h"
#include "util/mem.h"

/* Jobs that are renewed or released in one operation. That takes a fraction of a millisecond. */
#define PORTION_JOBS 64
/* Microseconds of a turn for releases, and as many again for renewals. */
#define PORTIONS_US 500
/* Microseconds for which renewals that are late hold up a command: enough for hundreds of workers.
 */
#define CATCH_UP_US 3000
/* The part of a lease after which its lock is renewed. */
#define RENEW_AFTER 0.5
/* A renewal also renews the other locks of the worker that have less than this part of the same
 * lease left. */
#define RENEW_WITH 0.75
/* Seconds between two renewals of a worker, at least: a lease may be as short as a client likes. */
#define RENEW_DISTANCE 0.1
/* Seconds, longer than the server runs: a renewal that is due later is never late. */
#define LATE_MAX_S 1e9

/* One worker with EXCLUSIVE. */
struct exclusive {
	struct hash_node node;
	struct attached *holder;
	size_t len;
	char key[]; /* database, queue and node, see append_exclusive_key() */
};

struct attached {
	struct hash_node by_name;
	unsigned db;
	struct client *client; /* NULL: it has left */
	TAILQ_ENTRY(attached) by_client;
	struct heap_node renewal; /* in presence.renewals while it may have jobs */
	struct heap_node end;	  /* in presence.ends while it has left */
	bool is_releasing;
	TAILQ_ENTRY(attached) releasing;
	double since;	  /* by the native clock: when it attached */
	double renewed;	  /* when its last renewal began */
	double until;	  /* where that goes on, or NAN: it has ended */
	int64_t since_us; /* wall clock */
	double grace_s;
	int64_t pid;
	struct qless_str node;	     /* in memory of its own */
	struct exclusive *exclusive; /* NULL: it has no queue of its own */
	struct listened_list listens;
	size_t len;
	char name[];
};

static struct qless_str name_of(const struct attached *a)
{
	return str_make(a->name, a->len);
}

static struct qless_str attached_key(const struct hash_node *node)
{
	return name_of(container_of(node, const struct attached, by_name));
}

static struct qless_str exclusive_key_of(const struct hash_node *node)
{
	const struct exclusive *exclusive = container_of(node, const struct exclusive, node);

	return str_make(exclusive->key, exclusive->len);
}

static double native_seconds(struct server *s)
{
	return clock_seconds(steady_clock_peek_us(&s->clocks.native));
}

static struct attached *find(const struct server *s, unsigned db, struct qless_str name)
{
	struct hash_node *node = hash_find(&s->presence.by_name[db], name);

	return node != NULL ? container_of(node, struct attached, by_name) : NULL;
}

static bool holds_jobs(const struct server *s, const struct attached *a)
{
	const struct qless *engine = databases_peek(s->env.databases, a->db);
	const struct skiplist *jobs = engine != NULL ? view_worker_jobs(engine, name_of(a)) : NULL;

	return jobs != NULL && skiplist_count(jobs) != 0;
}

/*
 * Exclusive queues
 */

/* Appends the key: the database, the length of the queue, the queue, the node. */
static void append_exclusive_key(struct buf *out, unsigned db, struct qless_str queue,
				 struct qless_str node)
{
	buf_append(out, (const char *)&db, sizeof db);
	buf_append(out, (const char *)&queue.len, sizeof queue.len);
	buf_append_str(out, queue);
	buf_append_str(out, node);
}

static struct exclusive *find_exclusive(const struct server *s, struct qless_str key)
{
	struct hash_node *node = hash_find(&s->presence.exclusives, key);

	return node != NULL ? container_of(node, struct exclusive, node) : NULL;
}

static void drop_exclusive(struct server *s, struct attached *a)
{
	if (a->exclusive == NULL)
		return;
	hash_remove(&s->presence.exclusives, &a->exclusive->node);
	free(a->exclusive);
	a->exclusive = NULL;
}

static void take_exclusive(struct server *s, struct attached *a, struct qless_str key)
{
	struct exclusive *exclusive = mem_zalloc(sizeof *exclusive + key.len);

	exclusive->holder = a;
	exclusive->len = key.len;
	memcpy(exclusive->key, key.ptr, key.len);
	hash_insert(&s->presence.exclusives, &exclusive->node);
	a->exclusive = exclusive;
}

/* Asks for a turn when the next grace period ends, or the next renewal is due. */
static void set_alarm(struct server *s)
{
	struct presence *p = &s->presence;
	const struct heap_node *end = heap_first(&p->ends), *renewal = heap_first(&p->renewals);
	double left_s;

	if (end != NULL)
		alarm_ring_in(s, end->key - (double)clock_mono_us());
	p->late_ns = INT64_MAX;
	if (renewal == NULL)
		return;
	left_s = renewal->key - native_seconds(s);
	alarm_ring_in(s, left_s * 1e6);
	if (left_s < LATE_MAX_S)
		p->late_ns = s->clocks.lap_ns + (int64_t)((left_s + RENEW_DISTANCE) * 1e9);
}

/*
 * States
 */

static size_t memory_of(const struct attached *a)
{
	return sizeof *a + a->len + a->node.len + a->listens.cap * sizeof *a->listens.items +
	       (a->exclusive != NULL ? sizeof *a->exclusive + a->exclusive->len : 0);
}

static void join_client(struct attached *a, struct client *c)
{
	assert(a->client == NULL);
	a->client = c;
	TAILQ_INSERT_TAIL(&c->attached, a, by_client);
	c->attached_count++;
	c->attached_bytes += memory_of(a);
}

static void leave_client(struct attached *a)
{
	struct client *c = a->client;

	if (c == NULL)
		return;
	TAILQ_REMOVE(&c->attached, a, by_client);
	c->attached_count--;
	c->attached_bytes -= memory_of(a);
	a->client = NULL;
}

static void stop_ending(struct server *s, struct attached *a)
{
	if (heap_has(&a->end))
		heap_remove(&s->presence.ends, &a->end);
	if (a->is_releasing)
		TAILQ_REMOVE(&s->presence.releasing, a, releasing);
	a->is_releasing = false;
}

static struct attached *attached_new(struct server *s, unsigned db, struct qless_str name)
{
	struct attached *a = mem_zalloc(sizeof *a + name.len);

	a->db = db;
	a->len = name.len;
	memcpy(a->name, name.ptr, name.len);
	a->until = NAN;
	heap_node_init(&a->renewal);
	heap_node_init(&a->end);
	hash_insert(&s->presence.by_name[db], &a->by_name);
	s->presence.count++;
	return a;
}

static void free_node(struct attached *a)
{
	if (a->node.len != 0)
		free((char *)(uintptr_t)a->node.ptr);
}

static void forget(struct server *s, struct attached *a)
{
	leave_client(a);
	stop_ending(s, a);
	if (heap_has(&a->renewal))
		heap_remove(&s->presence.renewals, &a->renewal);
	drop_exclusive(s, a);
	listeners_end(s, &a->listens);
	hash_remove(&s->presence.by_name[a->db], &a->by_name);
	s->presence.count--;
	free_node(a);
	free(a);
}

static void begin_release(struct server *s, struct attached *a)
{
	assert(a->client == NULL && !a->is_releasing);
	stop_ending(s, a);
	a->is_releasing = true;
	TAILQ_INSERT_TAIL(&s->presence.releasing, a, releasing);
}

static void begin_grace(struct server *s, struct attached *a)
{
	double end_us = (double)clock_mono_us() + a->grace_s * 1e6;

	assert(a->client == NULL && !a->is_releasing);
	if (heap_has(&a->end))
		heap_rekey(&s->presence.ends, &a->end, end_us);
	else
		heap_insert(&s->presence.ends, &a->end, end_us);
	set_alarm(s);
}

/* The worker has left. */
static void leave(struct server *s, struct attached *a)
{
	leave_client(a);
	if (!holds_jobs(s, a))
		forget(s, a);
	else if (a->grace_s == 0)
		begin_release(s, a);
	else
		begin_grace(s, a);
}

void presence_end_client(struct client *c)
{
	struct attached *a;

	while ((a = TAILQ_FIRST(&c->attached)) != NULL)
		leave(c->server, a);
}

/* Returns whether the user may attach the worker. */
static bool may_attach(const struct server *s, const struct user *user, const struct attached *a)
{
	const struct command *row = command_table_find(s->table, STR("worker.attach"));
	const struct qless_str name = name_of(a);
	const struct object_request request = { row, REQUEST_NATIVE, &name, 1 };
	const struct permit_query query = { .user = user,
					    .engine = databases_peek(s->env.databases, a->db) };
	struct buf object = BUF_INIT(BUF_NO_MAX);
	enum acl_answer answer = acl_judge(user, s->table, row);
	bool may = answer == ACL_YES || (answer == ACL_LIMITED &&
					 permit_request(&query, &request, &object) == PERMIT_YES);

	buf_done(&object);
	return may;
}

static void check_workers(struct client *c, const struct user *user)
{
	struct attached *a, *next;

	for (a = TAILQ_FIRST(&c->attached); a != NULL; a = next) {
		next = TAILQ_NEXT(a, by_client);
		if (!may_attach(c->server, user, a))
			leave(c->server, a);
	}
}

void presence_check_user(struct server *s, const struct user *user)
{
	struct conn *c;

	if (s->presence.count == 0)
		return;
	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.session.user == user)
			check_workers(&c->client, user);
	}
}

static void listen_to(struct server *s, struct attached *a, const struct qless_str *queues,
		      size_t count)
{
	size_t before = memory_of(a);

	listeners_add(s, &a->listens, a->db, queues, count);
	if (a->client != NULL)
		a->client->attached_bytes += memory_of(a) - before;
}

bool presence_listens(struct server *s, unsigned db, struct qless_str worker,
		      const struct qless_str *queues, size_t count)
{
	struct attached *a = s->presence.count != 0 ? find(s, db, worker) : NULL;

	if (a != NULL)
		listen_to(s, a, queues, count);
	return a != NULL;
}

/*
 * Renewals
 */

/* Returns when the next renewal of the worker is due; INFINITY if it has no lock to renew.
 * *ret_until is the expiry up to which that renews. */
static double next_renewal(const struct qless *engine, const struct attached *a, double now,
			   double *ret_until)
{
	double expires, lease, due;

	if (engine == NULL ||
	    !qless_worker_first_lock(engine, name_of(a), a->since, &expires, &lease))
		return INFINITY;
	*ret_until = fmax(expires, now + lease * RENEW_WITH);
	/* A lease of 0 belongs to a run that has ended: the renewal drops its lock. */
	due = lease > 0 ? expires - lease * RENEW_AFTER : now;
	return fmax(due, a->renewed + RENEW_DISTANCE);
}

static void plan_renewal(struct server *s, struct attached *a, double due)
{
	struct heap *renewals = &s->presence.renewals;

	if (due == INFINITY) {
		if (heap_has(&a->renewal))
			heap_remove(renewals, &a->renewal);
	} else if (heap_has(&a->renewal)) {
		heap_rekey(renewals, &a->renewal, due);
	} else {
		heap_insert(renewals, &a->renewal, due);
	}
	if (heap_first(renewals) == &a->renewal)
		set_alarm(s);
}

static void plan_next_renewal(struct server *s, struct attached *a)
{
	double until;

	plan_renewal(s, a,
		     next_renewal(databases_peek(s->env.databases, a->db), a, native_seconds(s),
				  &until));
}

void presence_note_change(struct server *s, const struct operation *op)
{
	struct qless_str worker = op->kind == OPERATION_POP	    ? op->pop.worker
				  : op->kind == OPERATION_HEARTBEAT ? op->heartbeat.worker
								    : op->heartbeat_many.worker;
	struct attached *a = find(s, op->db, worker);

	if (a == NULL)
		return;
	if (op->kind == OPERATION_POP)
		listen_to(s, a, &op->pop.queue, 1);
	/* A renewal that goes on finds the new lock, too. */
	if (isnan(a->until))
		plan_next_renewal(s, a);
}

/* Renews a portion, or finds out that none is due yet. */
static void renew_some(struct server *s, struct attached *a, double now)
{
	const struct qless *engine = databases_peek(s->env.databases, a->db);
	struct operation op = { .kind = OPERATION_WORKER_RENEW, .db = a->db };
	struct operation_outcome outcome;
	double due;

	if (isnan(a->until)) {
		due = next_renewal(engine, a, now, &op.renewal.until);
		if (due > now) {
			plan_renewal(s, a, due);
			return;
		}
		a->until = op.renewal.until;
		a->renewed = now;
	}
	op.now = s->env.now(s->env.arg);
	op.renewal.worker = name_of(a);
	op.renewal.after = a->since;
	op.renewal.until = a->until;
	op.renewal.max = PORTION_JOBS;
	if (databases_run(s->env.databases, &op, &outcome) == 0 &&
	    outcome.renewed.until > a->since) {
		a->until = outcome.renewed.until;
		/* Workers whose renewals are due come before the rest of this one. */
		plan_renewal(s, a, now);
		return;
	}
	a->until = NAN;
	plan_next_renewal(s, a);
}

static struct attached *first_renewal(const struct server *s)
{
	struct heap_node *first = heap_first(&s->presence.renewals);

	return first != NULL ? container_of(first, struct attached, renewal) : NULL;
}

static void renew(struct server *s, int64_t for_us)
{
	int64_t until_us = clock_mono_us() + for_us;
	double now = native_seconds(s);
	struct attached *a;

	while ((a = first_renewal(s)) != NULL && a->renewal.key <= now) {
		renew_some(s, a, now);
		if (clock_mono_us() >= until_us)
			return;
	}
}

/*
 * Releases
 */

static void end_graces(struct server *s)
{
	double now_us = (double)clock_mono_us();
	struct heap_node *first;

	while ((first = heap_first(&s->presence.ends)) != NULL && first->key <= now_us) {
		struct attached *a = container_of(first, struct attached, end);

		if (s->presence.is_held)
			begin_grace(s, a);
		else
			begin_release(s, a);
	}
}

static void release_some(struct server *s, struct attached *a)
{
	struct operation op = { .kind = OPERATION_WORKER_RELEASE, .db = a->db };
	struct operation_outcome outcome;

	if (!holds_jobs(s, a)) {
		forget(s, a);
		return;
	}
	op.now = s->env.now(s->env.arg);
	op.release.worker = name_of(a);
	op.release.max = PORTION_JOBS;
	if (databases_run(s->env.databases, &op, &outcome) < 0 || !outcome.released.more)
		forget(s, a);
}

static void release(struct server *s)
{
	int64_t until_us = clock_mono_us() + PORTIONS_US;
	struct attached *a;

	while ((a = TAILQ_FIRST(&s->presence.releasing)) != NULL) {
		release_some(s, a);
		if (clock_mono_us() >= until_us)
			return;
	}
}

/*
 * Turns
 */

static bool is_due(struct server *s)
{
	const struct presence *p = &s->presence;
	const struct heap_node *end = heap_first(&p->ends), *renewal = heap_first(&p->renewals);

	return !TAILQ_EMPTY(&p->releasing) ||
	       (end != NULL && end->key <= (double)clock_mono_us()) ||
	       (renewal != NULL && renewal->key <= native_seconds(s));
}

/* Locks stay in the log when the server stops. They expire unless the worker attaches again. */
static bool may_run(const struct server *s)
{
	return !s->stop.is_begun && environment_may_change(s);
}

bool presence_can_run(const struct server *s)
{
	struct server *own = (struct server *)(uintptr_t)s;

	return !presence_is_empty(&s->presence) && is_due(own) && may_run(s);
}

void presence_run(struct server *s)
{
	struct presence *p = &s->presence;

	if (is_due(s) && !may_run(s)) {
		p->is_held |= s->pause.mode == PAUSE_ALL;
		return;
	}
	end_graces(s);
	p->is_held = false;
	release(s);
	renew(s, PORTIONS_US);
	set_alarm(s);
}

void presence_catch_up(struct server *s)
{
	if (may_run(s))
		renew(s, CATCH_UP_US);
	set_alarm(s);
	s->clocks.lap_ns = clock_mono_ns();
}

void presence_step_clock(struct server *s, double from, double to)
{
	struct presence *p = &s->presence;
	struct hash_iter it;
	struct hash_node *node;

	for (unsigned db = 0; p->count != 0 && db < p->databases; db++) {
		HASH_FOREACH(node, &it, &p->by_name[db]) {
			struct attached *a = container_of(node, struct attached, by_name);

			a->since += to - from;
			a->renewed += to - from;
			if (heap_has(&a->renewal))
				heap_rekey(&p->renewals, &a->renewal, to);
		}
	}
}

/*
 * Events
 */

void presence_tell(void *arg, const struct qless *engine, struct qless_str worker,
		   struct qless_str event, struct qless_str jid)
{
	struct server *s = arg;
	struct attached *a = NULL;
	struct reply w;

	for (unsigned db = 0; s->presence.count != 0 && db < s->presence.databases; db++) {
		if (databases_peek(s->env.databases, db) == engine)
			a = find(s, db, worker);
	}
	if (a == NULL || a->client == NULL || a->client->is_dropped ||
	    a->client->session.proto != RESP_PROTO_MAX)
		return;
	client_begin_message(a->client, &w);
	reply_push(&w, 4);
	reply_bulk(&w, STR("worker"));
	reply_bulk(&w, worker);
	reply_bulk(&w, event);
	reply_bulk(&w, jid);
	client_output_grew(a->client);
}

/*
 * Commands
 */

/* Returns whether the client may attach one worker more. Otherwise writes an error. */
static bool check_room(struct request *req)
{
	const struct client *c = client_of(req);
	size_t max = c->server->config->max_workers_per_connection;

	if (c->attached_count < max)
		return true;
	reply_errorf(req->reply, "LIMIT",
		     "More workers are attached to one connection than "
		     "max-workers-per-connection (%zu)",
		     max);
	return false;
}

static int quoted_len(struct qless_str text)
{
	return (int)command_quote(text).len;
}

/* Returns whether no other worker has the queue for this node. Otherwise writes an error. */
static bool check_exclusive(struct request *req, const struct attachment *attachment,
			    struct qless_str key)
{
	const struct exclusive *exclusive = find_exclusive(server_of(req), key);
	const struct attached *holder = exclusive != NULL ? exclusive->holder : NULL;

	if (holder == NULL || str_equal(name_of(holder), attachment->worker))
		return true;
	reply_errorf(req->reply, "BUSY", "Worker %.*s has queue %.*s for itself on node %.*s%s",
		     quoted_len(name_of(holder)), holder->name, quoted_len(attachment->exclusive),
		     attachment->exclusive.ptr, quoted_len(attachment->node), attachment->node.ptr,
		     holder->client != NULL ? "" : " until its grace period is over");
	return false;
}

static struct attached *take_over(struct server *s, unsigned db, struct qless_str name)
{
	struct attached *a = find(s, db, name);

	if (a == NULL)
		return attached_new(s, db, name);
	leave_client(a);
	stop_ending(s, a);
	drop_exclusive(s, a);
	free_node(a);
	return a;
}

static void do_attach(struct request *req, const struct attachment *attachment,
		      struct qless_str exclusive_key)
{
	struct client *c = client_of(req);
	struct server *s = c->server;
	struct attached *a = take_over(s, req->database->index, attachment->worker);

	a->since = req->now;
	a->since_us = s->clocks.wall_us;
	a->renewed = -INFINITY;
	a->until = NAN;
	a->grace_s = attachment->grace_s;
	a->pid = attachment->pid;
	a->node = STR("");
	if (attachment->node.len != 0)
		a->node = str_make(mem_dup(attachment->node.ptr, attachment->node.len),
				   attachment->node.len);
	if (attachment->exclusive.len != 0)
		take_exclusive(s, a, exclusive_key);
	join_client(a, c);
	plan_next_renewal(s, a);
}

static void attach(void *arg, struct request *req, const struct attachment *attachment)
{
	struct server *s = arg;
	struct client *c = client_of(req);
	const struct attached *known = find(s, req->database->index, attachment->worker);
	struct buf key = BUF_INIT(BUF_NO_MAX);

	append_exclusive_key(&key, req->database->index, attachment->exclusive, attachment->node);
	if (client_check_connection(c) &&
	    ((known != NULL && known->client == c) || check_room(req)) &&
	    (attachment->exclusive.len == 0 || check_exclusive(req, attachment, buf_str(&key)))) {
		do_attach(req, attachment, buf_str(&key));
		reply_ok(req->reply);
	}
	buf_done(&key);
}

static bool detach(void *arg, const struct request *req, struct qless_str worker)
{
	struct server *s = arg;
	struct attached *a = find(s, req->database->index, worker);

	if (a == NULL || (a->client != NULL && a->client != client_of(req)))
		return false;
	forget(s, a);
	return true;
}

static bool is_attached_here(void *arg, const struct request *req, struct qless_str worker)
{
	const struct attached *a = find(arg, req->database->index, worker);

	return a != NULL && a->client == client_of(req);
}

/*
 * Views
 */

static double idle_seconds(const struct client *c)
{
	if (c->kind == CLIENT_INTERNAL)
		return 0;
	return (double)(c->server->clocks.mono_us - conn_of(c)->active_us) / 1e6;
}

static struct worker_view view_of(const struct attached *a)
{
	return (struct worker_view){
		.name = name_of(a),
		.node = a->node,
		.address = a->client != NULL ? str_from(a->client->peer) : STR(""),
		.pid = a->pid,
		.is_attached = true,
		.grace_s = a->grace_s,
		.since_s = (double)a->since_us / 1e6,
		.idle_s = a->client != NULL ? idle_seconds(a->client) : 0,
		.listened = &a->listens,
		.queue_count = a->listens.count,
	};
}

static bool settle_listeners(void *arg)
{
	return listeners_settle(arg);
}

static size_t count_listeners(void *arg, unsigned db, struct qless_str queue)
{
	return listeners_count(arg, db, queue);
}

static bool find_view(void *arg, unsigned db, struct qless_str worker, struct worker_view *ret)
{
	const struct attached *a = find(arg, db, worker);

	if (a == NULL)
		return false;
	*ret = view_of(a);
	return true;
}

struct view_scan {
	const struct server *s;
	unsigned db;
	worker_view_fn *visit;
	void *arg;
};

static void visit_attached(struct hash_node *node, void *arg)
{
	const struct view_scan *scan = arg;
	struct worker_view view = view_of(container_of(node, struct attached, by_name));

	scan->visit(scan->arg, &view);
}

static uint32_t scan_attached(void *arg, unsigned db, uint32_t cursor, worker_view_fn *visit,
			      void *visit_arg)
{
	struct server *s = arg;
	struct view_scan scan = { s, db, visit, visit_arg };

	return hash_scan(&s->presence.by_name[db], cursor, visit_attached, &scan);
}

static void visit_waiting(struct hash_node *node, void *arg)
{
	const struct view_scan *scan = arg;
	const struct conn *c = container_of(node, const struct conn, by_id);
	const struct client *client = &c->client;
	struct worker_view view = { 0 };

	if (!lines_read_wait(client, &view.name, &view.queues, &view.queue_count) ||
	    client->session.db != scan->db || find(scan->s, scan->db, view.name) != NULL)
		return;
	view.address = str_from(client->peer);
	view.since_s =
		(double)(scan->s->clocks.wall_us - scan->s->clocks.mono_us + c->created_us) / 1e6;
	view.idle_s = idle_seconds(client);
	scan->visit(scan->arg, &view);
}

static uint32_t scan_waiting(void *arg, unsigned db, uint32_t cursor, worker_view_fn *visit,
			     void *visit_arg)
{
	struct server *s = arg;
	struct view_scan scan = { s, db, visit, visit_arg };

	return hash_scan(&s->conns.by_id, cursor, visit_waiting, &scan);
}

static struct qless_str queue_at(const struct worker_view *view, size_t i)
{
	return view->listened != NULL ? listeners_queue(view->listened, i) : view->queues[i];
}

const struct attach_ops presence_attach_ops = {
	.attach = attach,
	.detach = detach,
	.is_attached_here = is_attached_here,
	.settle_listeners = settle_listeners,
	.count_listeners = count_listeners,
	.find = find_view,
	.scan_attached = scan_attached,
	.scan_waiting = scan_waiting,
	.queue_at = queue_at,
};

/*
 * Birth and death
 */

void presence_init(struct server *s)
{
	struct presence *p = &s->presence;

	p->late_ns = INT64_MAX;
	p->databases = databases_count(s->env.databases);
	p->by_name = mem_zalloc(p->databases * sizeof *p->by_name);
	for (unsigned db = 0; db < p->databases; db++)
		hash_init(&p->by_name[db], attached_key, s->hash_seed);
	hash_init(&p->exclusives, exclusive_key_of, s->hash_seed);
	TAILQ_INIT(&p->releasing);
}

void presence_forget_all(struct server *s)
{
	struct presence *p = &s->presence;
	struct hash_iter it;
	struct hash_node *node;

	for (unsigned db = 0; db < p->databases; db++) {
		while ((node = hash_first(&it, &p->by_name[db])) != NULL)
			forget(s, container_of(node, struct attached, by_name));
	}
	assert(p->count == 0);
}

void presence_done(struct server *s)
{
	struct presence *p = &s->presence;

	presence_forget_all(s);
	for (unsigned db = 0; db < p->databases; db++)
		hash_done(&p->by_name[db]);
	hash_done(&p->exclusives);
	heap_done(&p->renewals);
	heap_done(&p->ends);
	free(p->by_name);
}
