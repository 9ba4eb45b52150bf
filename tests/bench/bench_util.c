/*
 * The cost of the containers and helpers of util, in nanoseconds of CPU time for each operation.
 * Objects are visited in scattered order, as jobs are, unless a line says otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "util/container.h"
#include "util/hash.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/skiplist.h"

struct thing {
	struct hash_node hash;
	uint64_t id;
	struct skipnode node; /* its upper levels follow */
};

static struct thing **things;
static uint32_t count;
static volatile uint64_t sink; /* keeps results from being optimised away */

/* Processor time of this process, because other processes may be busy. */
static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void report(const char *what, double start_ns, uint32_t operations)
{
	printf("  %-44s %8.1f\n", what, (now_ns() - start_ns) / operations);
}

/* The i'th thing in scattered order: 2654435761 is prime and no count comes near it. */
static struct thing *scattered(uint32_t i)
{
	return things[(uint64_t)i * 2654435761u % count];
}

static void make_things(uint32_t how_many)
{
	uint64_t heights = 1;

	count = how_many;
	things = mem_realloc_array(NULL, count, sizeof *things);
	for (uint32_t i = 0; i < count; i++) {
		unsigned height = skiplist_draw_height(&heights);

		things[i] = mem_zalloc(offsetof(struct thing, node) + skipnode_size(height));
		things[i]->id = i;
		skipnode_init(&things[i]->node, height);
	}
}

static void free_things(void)
{
	for (uint32_t i = 0; i < count; i++)
		free(things[i]);
	free(things);
}

static struct qless_str id_str(const uint64_t *id)
{
	return str_make((const char *)id, sizeof *id);
}

static struct qless_str hash_key(const struct hash_node *node)
{
	return id_str(&container_of(node, const struct thing, hash)->id);
}

static struct qless_str list_member(const struct skipnode *node)
{
	return id_str(&container_of(node, const struct thing, node)->id);
}

static void bench_hash(uint32_t how_many)
{
	struct hash h;
	struct hash_iter it;
	struct hash_node *node;
	double start;

	make_things(how_many);
	hash_init(&h, hash_key, 1);
	printf("hash, %u entries\n", count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		hash_insert(&h, &scattered(i)->hash);
	report("insert", start, count);
	printf("  %-44s %8.1f\n", "bytes an entry", (double)hash_memory(&h) / count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		sink += hash_find(&h, id_str(&(uint64_t){ (uint64_t)i * 7919 % count })) != NULL;
	report("find", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		sink += hash_find(&h, id_str(&(uint64_t){ (uint64_t)i + count })) != NULL;
	report("find what is not there", start, count);
	start = now_ns();
	HASH_FOREACH(node, &it, &h)
		sink += node->aux;
	report("walk", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		hash_remove(&h, &scattered(count - 1 - i)->hash);
	report("remove", start, count);
	for (uint32_t i = 0; i < count; i++)
		hash_insert(&h, &scattered(i)->hash);
	start = now_ns();
	while ((node = hash_take(&h)) != NULL)
		sink += node->aux;
	report("take", start, count);
	hash_done(&h);
	free_things();
}

static void bench_skiplist(uint32_t how_many)
{
	struct skiplist list;
	double start;

	make_things(how_many);
	skiplist_init(&list, list_member);
	printf("skiplist, %u nodes\n", count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		skiplist_insert(&list, &things[i]->node, -1.0 * i);
	report("insert before the first, objects in order", start, count);
	start = now_ns();
	while (skiplist_pop_last(&list) != NULL)
		;
	report("pop the last, objects in order", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		skiplist_insert(&list, &scattered(i)->node, i);
	report("insert after the last", start, count);
	start = now_ns();
	while (skiplist_pop_first(&list) != NULL)
		;
	report("pop the first", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		skiplist_insert(&list, &scattered(i)->node, (double)scattered(i)->id);
	report("insert anywhere", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		sink += skiplist_rank(&list, &scattered(count - 1 - i)->node);
	report("rank", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		sink += skiplist_at(&list, (uint32_t)((uint64_t)i * 7919 % count))->height;
	report("node of a rank", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		sink += skiplist_count_le(&list, (double)((uint64_t)i * 7919 % count));
	report("count up to a score", start, count);
	start = now_ns();
	for (uint32_t i = 0; i < count; i++)
		skiplist_remove(&list, &scattered(count - 1 - i)->node);
	report("remove anywhere", start, count);
	skiplist_done(&list);
	free_things();
}

enum { NUMBERS = 1000, TIMES = 1000 };

static void bench_format(const char *what, const double *numbers)
{
	char out[NUM_F20_MAX];
	double start;

	printf("format %s\n", what);
#define BENCH_FORMAT(call, name)                          \
	do {                                              \
		start = now_ns();                         \
		for (int t = 0; t < TIMES; t++)           \
			for (int i = 0; i < NUMBERS; i++) \
				sink += (uint64_t)(call); \
		report(name, start, NUMBERS *TIMES);      \
	} while (0)
	BENCH_FORMAT(num_format_g14(out, numbers[i]), "num_format_g14");
	BENCH_FORMAT(snprintf(out, sizeof out, "%.14g", numbers[i]), "snprintf %.14g");
	BENCH_FORMAT(num_format_g17(out, numbers[i]), "num_format_g17");
	BENCH_FORMAT(snprintf(out, sizeof out, "%.17g", numbers[i]), "snprintf %.17g");
	BENCH_FORMAT(num_format_f20(out, numbers[i]), "num_format_f20");
	BENCH_FORMAT(snprintf(out, sizeof out, "%.20f", numbers[i]), "snprintf %.20f");
}

static void bench_parse(const char *what, const double *numbers)
{
	static char texts[NUMBERS][NUM_MAX];
	static size_t lens[NUMBERS];
	double start, value;

	for (int i = 0; i < NUMBERS; i++)
		lens[i] = num_format_g14(texts[i], numbers[i]);
	printf("parse %s\n", what);
	start = now_ns();
	for (int t = 0; t < TIMES; t++)
		for (int i = 0; i < NUMBERS; i++)
			sink += num_parse_lua(str_make(texts[i], lens[i]), &value);
	report("num_parse_lua", start, NUMBERS * TIMES);
	start = now_ns();
	for (int t = 0; t < TIMES; t++)
		for (int i = 0; i < NUMBERS; i++)
			sink += (uint64_t)strtod(texts[i], NULL);
	report("strtod", start, NUMBERS * TIMES);
}

static void bench_num(void)
{
	static double integers[NUMBERS], times[NUMBERS], scores[NUMBERS];

	for (int i = 0; i < NUMBERS; i++) {
		integers[i] = (double)(1LL << i % 40) + i;
		times[i] = 1.7e9 + i * 1234.567891;
		scores[i] = i % 7 - times[i] / 1e10;
	}
	bench_format("integers", integers);
	bench_format("times", times);
	bench_format("scores", scores);
	bench_parse("integers", integers);
	bench_parse("times", times);
}

int main(int argc, char **argv)
{
	bench_num();
	bench_skiplist(1000 * 1000);
	bench_hash(1000 * 1000);
	/* Needs 1 GB. */
	if (argc > 1 && argv[1][0] == 'l')
		bench_hash(10 * 1000 * 1000);
	return 0;
}
