/*
 * The judge: builds images as power failures could leave them, recovers each as the daemon does,
 * and compares the result with the ledger and with the history.
 *
 *	powerloss_judge [--seed N] [--images N] [--image N] [--bound-ms N] [--old-blocks]
 *			[--write DIRECTORY] RUN
 *	powerloss_judge --list RUN
 *
 * RUN is a directory with a trace and with the directory "initial", which the daemon found at its
 * start. The number of an image and the seed determine the moment of the failure and what reached
 * the disk, so --image builds the same image again, and --write keeps it. --list prints the trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dirs.h"
#include "history.h"
#include "journal/journal.h"
#include "ledger.h"
#include "listing.h"
#include "medium.h"
#include "replica.h"
#include "rng.h"
#include "trace.h"
#include "util/mem.h"

#define PATH_BYTES 4096
/* Lines of findings that are printed. */
#define FINDINGS_MAX  20
#define SEGMENT_BYTES ((uint64_t)64 * 1024)

struct options {
	const char *run;
	const char *write; /* NULL: images are removed */
	uint64_t seed;
	size_t images;
	size_t only; /* SIZE_MAX: all */
	int64_t bound_us;
	bool old_blocks;
	bool lists; /* print the trace, and judge nothing */
};

struct image {
	size_t number;
	uint64_t cut; /* offset in the trace of the first event that did not happen */
	struct medium_choice choice;
	bool is_recovered;
	uint64_t sequence, digest;
};

struct judge {
	struct options options;
	const struct trace_header *trace;
	uint64_t *events; /* their offsets */
	size_t event_count, event_cap;
	uint64_t *turning_points; /* offsets after events that change what is safe */
	size_t point_count, point_cap;
	struct image *images;
	size_t image_count;
	char work[PATH_BYTES], initial[PATH_BYTES];
	struct history *history;
	struct ledger *ledger;
	struct medium *medium;
	size_t findings;
	size_t losers; /* images that break promises */
	int64_t broken_us_max;
};

static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "powerloss_judge: %s: %s\n", what, detail);
	exit(2);
}

/* ---- the trace ---- */

static const struct trace_event *event_at(const struct judge *j, uint64_t at)
{
	return (const struct trace_event *)((const char *)j->trace + at);
}

static bool is_turning_point(const struct trace_event *event)
{
	switch ((enum trace_kind)event->kind) {
	case TRACE_OPEN:
		return (event->value & O_CREAT) != 0;
	case TRACE_TRUNCATE:
	case TRACE_SYNC_BEGIN:
	case TRACE_SYNC_END:
	case TRACE_RENAME:
	case TRACE_UNLINK:
	case TRACE_LINK:
		return true;
	default:
		return false;
	}
}

static void note_event(struct judge *j, uint64_t at)
{
	j->events = mem_grow(j->events, &j->event_cap, j->event_count + 1, sizeof *j->events);
	j->events[j->event_count++] = at;
	if (!is_turning_point(event_at(j, at)))
		return;
	j->turning_points = mem_grow(j->turning_points, &j->point_cap, j->point_count + 1,
				     sizeof *j->turning_points);
	j->turning_points[j->point_count++] = at + event_at(j, at)->bytes;
}

static void map_trace(struct judge *j)
{
	char path[PATH_BYTES];
	struct stat st;
	void *memory = MAP_FAILED;
	int fd;

	snprintf(path, sizeof path, "%s/trace", j->options.run);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0)
		memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		fail(path, strerror(errno));
	close(fd);
	j->trace = memory;
	if (j->trace->magic != TRACE_MAGIC || j->trace->end > (uint64_t)st.st_size)
		fail(path, "it is not a trace");
	for (uint64_t at = TRACE_FIRST; at < j->trace->end; at += event_at(j, at)->bytes)
		note_event(j, at);
}

/* ---- the disk ---- */

static void add_initial(void *arg, const char *name, struct qless_str content)
{
	medium_add_file(arg, name, content);
}

static struct medium *new_medium(const struct judge *j)
{
	struct medium *m = medium_new();

	if (j->initial[0] != '\0' && dirs_read_all(j->initial, add_initial, m) < 0)
		fail(j->initial, strerror(errno));
	return m;
}

static void apply_event(struct medium *m, const struct judge *j, uint64_t at)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);

	if (!medium_apply(m, event_at(j, at), at, &error))
		fail("the trace cannot be understood", buf_cstr(&error));
	buf_done(&error);
}

/* ---- findings ---- */

static void report(struct judge *j, const struct image *image, const char *what)
{
	const struct options *o = &j->options;

	if (j->findings++ >= FINDINGS_MAX)
		return;
	printf("FOUND: %s\n", what);
	if (image != NULL)
		printf("  again: %s%s --bound-ms %" PRId64 " --seed %" PRIu64
		       " --image %zu --write %s/image %s\n",
		       program_invocation_name, o->old_blocks ? " --old-blocks" : "",
		       o->bound_us / 1000, o->seed, image->number, o->run, o->run);
}

static void report_lines(struct judge *j, struct buf *lines)
{
	char *line = buf_cstr(lines), *end;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		report(j, NULL, line);
	}
	buf_clear(lines);
}

/* ---- the past ---- */

static void read_history(struct judge *j)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct medium *m = new_medium(j);

	for (size_t i = 0; i < j->event_count; i++)
		apply_event(m, j, j->events[i]);
	j->history = history_new(m, j->initial[0] != '\0' ? j->initial : NULL, j->work, &error);
	if (j->history == NULL)
		fail("the log contradicts itself", buf_cstr(&error));
	medium_free(m);
	buf_done(&error);
}

static void read_ledger(struct judge *j)
{
	struct buf findings = BUF_INIT(BUF_NO_MAX);

	j->ledger = ledger_new(j->history);
	for (size_t i = 0; i < j->event_count; i++)
		ledger_read(j->ledger, event_at(j, j->events[i]), j->events[i], &findings);
	report_lines(j, &findings);
	buf_done(&findings);
}

/* ---- images ---- */

static struct image plan_image(const struct judge *j, size_t number)
{
	uint64_t rng = j->options.seed * UINT64_C(0x100000001b3) + number;
	struct image image = { .number = number };

	rng = rng_next(&rng);
	if (rng_below(&rng, 2) == 0 && j->point_count > 0)
		image.cut = j->turning_points[rng_below(&rng, j->point_count)];
	else
		image.cut = j->events[rng_below(&rng, j->event_count)];
	image.choice.seed = rng_next(&rng);
	image.choice.old_blocks = j->options.old_blocks;
	return image;
}

static int compare_cuts(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	return (x->cut > y->cut) - (x->cut < y->cut);
}

static int compare_sequences(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void plan_images(struct judge *j)
{
	const struct options *o = &j->options;

	j->images = mem_zalloc((o->images + 1) * sizeof *j->images);
	for (size_t i = 0; i < o->images; i++) {
		if (o->only == SIZE_MAX || o->only == i)
			j->images[j->image_count++] = plan_image(j, i);
	}
	if (o->only != SIZE_MAX && o->only >= o->images)
		j->images[j->image_count++] = plan_image(j, o->only);
	qsort(j->images, j->image_count, sizeof *j->images, compare_cuts);
}

/* ---- recovery ---- */

struct recovered {
	int rc;
	uint64_t sequence, digest;
	size_t inconsistencies;
};

/* Only a rewrite would save the state, and there is none here. */
static void save_nothing(void *arg, struct base_writer *w)
{
	(void)arg;
	(void)w;
}

/* Start as the daemon does, and stop. */
static struct recovered start_and_stop(const char *dir, struct buf *error)
{
	struct journal_options options = { .dir = dir,
					   .sync = JOURNAL_SYNC_ALWAYS,
					   .segment_bytes = SEGMENT_BYTES,
					   .save = save_nothing };
	struct recovered result = { .rc = -EBUSY };
	struct recovery r = { 0 };
	struct recovery_target target;
	struct replica replica;
	struct journal *journal = journal_open(&options, error);

	if (journal == NULL)
		return result;
	replica_init(&replica);
	target = replica_target(&replica);
	result.rc = journal_recover(journal, &target, &r, error);
	if (result.rc == 0) {
		result.sequence = r.last_sequence;
		result.digest = replica_digest(&replica);
		result.inconsistencies = replica_check(&replica, error);
	}
	journal_close(journal, error);
	recovery_done(&r);
	replica_done(&replica);
	return result;
}

static void check_promises(struct judge *j, const struct image *image)
{
	struct ledger_demand demand = ledger_demand(j->ledger, image->cut, image->sequence);
	char text[400];

	if (demand.broken_us < 0)
		return;
	j->losers++;
	if (demand.broken_us > j->broken_us_max)
		j->broken_us_max = demand.broken_us;
	if (demand.broken_us < j->options.bound_us)
		return;
	snprintf(text, sizeof text,
		 "the image has the records up to %" PRIu64 ", but %" PRIu64
		 " was promised: %zu promises of %" PRId64
		 " ms are broken. The first one is at offset %" PRIu64
		 " of the trace and has token %zu",
		 image->sequence, demand.sequence, demand.broken, demand.broken_us / 1000,
		 demand.broken_at, demand.broken_token);
	report(j, image, text);
}

static void recover_image(struct judge *j, struct image *image, const char *dir)
{
	struct buf error = BUF_INIT(BUF_NO_MAX), text = BUF_INIT(BUF_NO_MAX);
	struct recovered first = start_and_stop(dir, &error), second;

	buf_printf(&text, "%s", buf_cstr(&error));
	if (first.rc < 0 || text.len > 0) {
		report(j, image, buf_cstr(&text));
	} else {
		image->is_recovered = true;
		image->sequence = first.sequence;
		image->digest = first.digest;
		check_promises(j, image);
		buf_clear(&error);
		second = start_and_stop(dir, &error);
		if (second.rc < 0 || second.sequence != first.sequence ||
		    second.digest != first.digest)
			report(j, image, "a second start does not find what the first one found");
	}
	buf_done(&error);
	buf_done(&text);
}

static void build_image(struct judge *j, struct image *image)
{
	const struct options *o = &j->options;
	int rc = dirs_empty(j->work);

	if (rc == 0)
		rc = medium_write_image(j->medium, &image->choice, j->work);
	if (rc == 0 && o->write != NULL)
		rc = medium_write_image(j->medium, &image->choice, o->write);
	if (rc < 0)
		fail(j->work, strerror(-rc));
	recover_image(j, image, j->work);
}

static void build_images(struct judge *j)
{
	size_t next = 0;

	j->medium = new_medium(j);
	for (size_t i = 0; i < j->image_count; i++) {
		while (next < j->event_count && j->events[next] < j->images[i].cut)
			apply_event(j->medium, j, j->events[next++]);
		build_image(j, &j->images[i]);
	}
	medium_free(j->medium);
	dirs_empty(j->work);
}

/* The history goes forward only, so the images are in the order of what they have. */
static void compare_with_history(struct judge *j)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	uint64_t digest;

	qsort(j->images, j->image_count, sizeof *j->images, compare_sequences);
	for (size_t i = 0; i < j->image_count; i++) {
		const struct image *image = &j->images[i];

		if (!image->is_recovered)
			continue;
		buf_clear(&error);
		if (!history_digest(j->history, image->sequence, &digest, &error))
			report(j, image, buf_cstr(&error));
		else if (digest != image->digest)
			report(j, image, "the state is not the one that its records lead to");
	}
	buf_done(&error);
}

/* ---- the program ---- */

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (end == text || *end != '\0')
		fail("this is no number", text);
	return number;
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "images", required_argument, NULL, 'n' },
		{ "image", required_argument, NULL, 'i' },
		{ "bound-ms", required_argument, NULL, 'b' },
		{ "old-blocks", no_argument, NULL, 'o' },
		{ "write", required_argument, NULL, 'w' },
		{ "list", no_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .seed = 1, .images = 200, .only = SIZE_MAX };
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 's':
			o.seed = number_of(optarg);
			break;
		case 'n':
			o.images = number_of(optarg);
			break;
		case 'i':
			o.only = number_of(optarg);
			break;
		case 'b':
			o.bound_us = (int64_t)number_of(optarg) * 1000;
			break;
		case 'o':
			o.old_blocks = true;
			break;
		case 'w':
			o.write = optarg;
			break;
		case 'l':
			o.lists = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind + 1 != argc)
		fail("usage", "powerloss_judge [option]... RUN");
	o.run = argv[optind];
	return o;
}

static void make_dir(const char *dir)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		fail(dir, strerror(errno));
	if (dirs_empty(dir) < 0)
		fail(dir, "it cannot be emptied");
}

static void print_summary(const struct judge *j)
{
	struct ledger_totals totals = ledger_totals(j->ledger);

	printf("%zu events, %zu requests, %zu replies (%zu errors), %zu transactions, records "
	       "%" PRIu64 " to %" PRIu64 "\n",
	       j->event_count, totals.requests, totals.replies, totals.errors, totals.transactions,
	       history_begin(j->history) + 1, history_end(j->history));
	if (j->options.only != SIZE_MAX && j->image_count == 1)
		printf("image %zu: power fails before offset %" PRIu64
		       " of the trace; it has the records up to %" PRIu64 "\n",
		       j->images[0].number, j->images[0].cut, j->images[0].sequence);
	if (j->losers > 0)
		printf("%zu images break promises, of at most %" PRId64 " ms\n", j->losers,
		       j->broken_us_max / 1000);
	printf("%zu images, %zu findings\n", j->image_count, j->findings);
}

static void list_trace(const struct judge *j)
{
	for (size_t i = 0; i < j->event_count; i++)
		listing_print(event_at(j, j->events[i]), j->events[i],
			      event_at(j, TRACE_FIRST)->time_us);
}

int main(int argc, char **argv)
{
	static struct judge j;
	struct stat st;

	j.options = parse_options(argc, argv);
	snprintf(j.work, sizeof j.work, "%s/work", j.options.run);
	snprintf(j.initial, sizeof j.initial, "%s/initial", j.options.run);
	if (stat(j.initial, &st) < 0)
		j.initial[0] = '\0';
	map_trace(&j);
	if (j.event_count == 0)
		fail(j.options.run, "the trace has no events");
	if (j.options.lists) {
		list_trace(&j);
		return 0;
	}
	make_dir(j.work);
	if (j.options.write != NULL)
		make_dir(j.options.write);
	read_history(&j);
	read_ledger(&j);
	plan_images(&j);
	build_images(&j);
	compare_with_history(&j);
	print_summary(&j);
	ledger_free(j.ledger);
	history_free(j.history);
	free(j.events);
	free(j.turning_points);
	free(j.images);
	return j.findings > 0;
}
