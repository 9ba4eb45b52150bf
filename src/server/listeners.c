#include "server/listeners.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "command/databases.h"
#include "engine/view.h"
#include "server/server_int.h"
#include "util/container.h"
#include "util/mem.h"

/* Number of queues that are looked at in a second. With more queues, the count of those without
 * listeners is as many seconds old as they take. */
#define QUEUES_A_SECOND 2000

/* Number of queues that a worker listens to at most. The names are those that clients send. */
#define LISTENS_MAX 10000

/* Microseconds for which listeners_settle() frees entries. */
#define SETTLE_US 100
/* Number of entries that it frees between two looks at the clock. */
#define SETTLE_ENTRIES 256

/* The entries of a worker that has ended. */
struct ended_list {
	struct heard **items;
	size_t count;
	STAILQ_ENTRY(ended_list) link;
};

/* A queue with listeners. */
struct heard {
	struct hash_node by_queue; /* aux: length of the name */
	unsigned db;
	unsigned count;
	char queue[];
};

static struct qless_str heard_name(const struct heard *heard)
{
	return str_make(heard->queue, heard->by_queue.aux);
}

static struct qless_str heard_key(const struct hash_node *node)
{
	return heard_name(container_of(node, const struct heard, by_queue));
}

static struct heard *find(const struct server *s, unsigned db, struct qless_str queue)
{
	struct hash_node *node = hash_find(&s->listeners.by_queue[db], queue);

	return node != NULL ? container_of(node, struct heard, by_queue) : NULL;
}

static struct heard *need(struct server *s, unsigned db, struct qless_str queue)
{
	struct heard *heard = find(s, db, queue);

	if (heard != NULL)
		return heard;
	heard = mem_zalloc(sizeof *heard + queue.len);
	heard->by_queue.aux = (uint32_t)queue.len;
	heard->db = db;
	if (queue.len != 0)
		memcpy(heard->queue, queue.ptr, queue.len);
	hash_insert(&s->listeners.by_queue[db], &heard->by_queue);
	return heard;
}

static void release(struct server *s, struct heard *heard)
{
	assert(heard->count != 0);
	if (--heard->count != 0)
		return;
	hash_remove(&s->listeners.by_queue[heard->db], &heard->by_queue);
	free(heard);
}

static int compare_heard(const void *left, const void *right)
{
	const struct heard *a = *(struct heard *const *)left, *b = *(struct heard *const *)right;

	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static bool has(const struct listened_list *list, const struct heard *heard)
{
	return list->count != 0 && bsearch(&heard, list->items, list->count, sizeof(struct heard *),
					   compare_heard) != NULL;
}

/* Sorts the list after `added` queues were appended, and drops those that are there twice. */
static void settle(struct server *s, struct listened_list *list, size_t added)
{
	size_t kept = 0;

	list->count += added;
	if (added == 0)
		return;
	qsort(list->items, list->count, sizeof *list->items, compare_heard);
	for (size_t i = 0; i < list->count; i++) {
		if (kept != 0 && list->items[kept - 1] == list->items[i])
			release(s, list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

void listeners_add(struct server *s, struct listened_list *list, unsigned db,
		   const struct qless_str *queues, size_t count)
{
	size_t added = 0;

	for (size_t i = 0; i < count && list->count + added < LISTENS_MAX; i++) {
		struct heard *heard = find(s, db, queues[i]);

		if (heard != NULL && has(list, heard))
			continue;
		list->items = mem_grow(list->items, &list->cap, list->count + added + 1,
				       sizeof *list->items);
		heard = need(s, db, queues[i]);
		heard->count++;
		list->items[list->count + added++] = heard;
	}
	settle(s, list, added);
}

void listeners_end(struct server *s, struct listened_list *list)
{
	struct listeners *l = &s->listeners;
	struct ended_list *ended;

	if (list->count != 0) {
		ended = mem_alloc(sizeof *ended);
		*ended = (struct ended_list){ .items = list->items, .count = list->count };
		STAILQ_INSERT_TAIL(&l->ended, ended, link);
		l->ended_count += list->count;
		s->turn.has_dead = true;
	}
	*list = (struct listened_list){ 0 };
}

bool listeners_free_some(struct server *s, size_t count)
{
	struct listeners *l = &s->listeners;
	struct ended_list *ended;

	while ((ended = STAILQ_FIRST(&l->ended)) != NULL) {
		for (; count != 0 && ended->count != 0; count--) {
			release(s, ended->items[--ended->count]);
			l->ended_count--;
		}
		if (ended->count != 0)
			return true;
		STAILQ_REMOVE_HEAD(&l->ended, link);
		free(ended->items);
		free(ended);
	}
	return false;
}

bool listeners_settle(struct server *s)
{
	bool more = s->listeners.ended_count != 0;
	int64_t until_us = more ? clock_mono_us() + SETTLE_US : 0;

	while (more && clock_mono_us() < until_us)
		more = listeners_free_some(s, SETTLE_ENTRIES);
	return !more;
}

struct heard *listeners_begin_wait(struct server *s, unsigned db, struct qless_str queue)
{
	struct heard *heard = need(s, db, queue);

	heard->count++;
	return heard;
}

void listeners_end_wait(struct server *s, struct heard *heard)
{
	release(s, heard);
}

size_t listeners_count(const struct server *s, unsigned db, struct qless_str queue)
{
	const struct heard *heard = find(s, db, queue);

	return heard != NULL ? heard->count : 0;
}

struct qless_str listeners_queue(const struct listened_list *list, size_t i)
{
	assert(i < list->count);
	return heard_name(list->items[i]);
}

/*
 * Queues without listeners
 */

struct count {
	struct server *s;
	unsigned db;
	uint64_t unheard;
};

static void count_queue(void *arg, struct qless_str queue)
{
	struct count *count = arg;

	count->unheard += listeners_count(count->s, count->db, queue) == 0;
}

void listeners_tick(struct server *s)
{
	struct listeners *l = &s->listeners;

	for (unsigned i = 0; i < l->databases && !s->loading; i++) {
		const struct qless *engine = databases_peek(s->env.databases, l->unheard.db);
		struct count count = { .s = s, .db = l->unheard.db };

		l->unheard.cursor =
			engine != NULL ? view_queues_with_work(engine, l->unheard.cursor,
							       QUEUES_A_SECOND, count_queue, &count)
				       : 0;
		l->unheard.so_far += count.unheard;
		if (l->unheard.cursor != 0)
			return;
		l->unheard.db = (l->unheard.db + 1) % l->databases;
		if (l->unheard.db != 0)
			continue;
		l->unheard.count = l->unheard.so_far;
		l->unheard.so_far = 0;
	}
}

/*
 * Birth and death
 */

void listeners_init(struct server *s)
{
	struct listeners *l = &s->listeners;

	l->databases = databases_count(s->env.databases);
	l->by_queue = mem_zalloc(l->databases * sizeof *l->by_queue);
	for (unsigned db = 0; db < l->databases; db++)
		hash_init(&l->by_queue[db], heard_key, s->hash_seed);
	STAILQ_INIT(&l->ended);
}

void listeners_done(struct server *s)
{
	struct listeners *l = &s->listeners;

	listeners_free_some(s, SIZE_MAX);
	for (unsigned db = 0; db < l->databases; db++) {
		assert(hash_count(&l->by_queue[db]) == 0);
		hash_done(&l->by_queue[db]);
	}
	free(l->by_queue);
}
