/*
 * qlessd-import: from a Redis with qless to the directory of a qlessd.
 *
 * All keys are read, built into an engine in memory, and compared with what was read, before a byte
 * is written. So a failure leaves the directory unchanged, and the state that qlessd will load was
 * checked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/view.h"
#include "journal/journal.h"
#include "moving/build.h"
#include "moving/program.h"
#include "moving/view.h"
#include "sys/clock.h"
#include "sys/entropy.h"
#include "sys/privileges.h"
#include "util/json.h"

#define DATABASES_MAX 16384
#define STATES	      (QLESS_COMPLETE + 1)
#define CHECK_LINES   10

static const char usage[] =
	"Usage: qlessd-import [options] --dir directory\n"
	"       qlessd-import [options] --dry-run\n"
	"\n"
	"Reads the queues of qless from a Redis, and writes them for a qlessd to start with.\n"
	"\n"
	"  --from host[:port], --from path, --from uri\n"
	"                     the Redis, or its Unix socket (127.0.0.1:6379)\n"
	"  --from-user name   user to authenticate as\n"
	"  --from-password text\n"
	"                     default: QLESSD_FROM_PASSWORD in the environment\n"
	"  --from-db number   database to read (0)\n"
	"  --dir directory    directory of a stopped qlessd; it must not contain a log\n"
	"  --to-db number     database to write (0)\n"
	"  --dry-run          write nothing\n"
	"  --strict           refuse if there are findings\n"
	"  --quick            do not read the Redis again to detect changes\n"
	"  --batch n          keys in a request (1000)\n"
	"  --timeout seconds  limit for each reply (60)\n"
	"  --progress         show progress even if standard error is not a terminal\n"
	"  --version, --help\n";

struct import_run {
	struct program program;
	struct peer_options from;
	const char *dir;
	unsigned db;
	bool dry_run;
	bool strict;
	bool quick;

	struct journal *journal;
	struct peer *peer;
	struct keys keys;
	struct qless *engine;
	struct findings findings;
	struct comparison comparison;
	unsigned check_lines;
};

/* ---- the target ---- */

static void save_engine(void *arg, struct base_writer *w)
{
	const struct import_run *run = arg;

	base_add_database(w, run->db, run->engine);
}

/* Keeps the lock of the directory until the end, so that no qlessd starts on it in that time. */
static enum program_result open_target(struct import_run *run)
{
	struct journal_options options = { .dir = run->dir, .save = save_engine, .arg = run };
	struct manifest manifest = { .base = 0 };
	struct buf error = BUF_INIT(8192);
	enum program_result result = PROGRAM_TROUBLE;
	int rc;

	if (privileges_become_owner(run->dir, &error) < 0)
		goto done;
	run->journal = journal_open(&options, &error);
	if (run->journal == NULL)
		goto done;
	rc = manifest_read(&manifest, &journal_io_system, run->dir, &error);
	if (rc == -ENOENT) {
		buf_clear(&error);
		result = PROGRAM_DONE;
	} else {
		buf_clear(&error);
		buf_printf(&error,
			   "%s already contains a log, which is not overwritten. Give an empty "
			   "directory, or move the files away",
			   run->dir);
		result = PROGRAM_REFUSED;
	}
	manifest_done(&manifest);
done:
	if (error.len > 0)
		program_complain(&run->program, "%s", buf_cstr(&error));
	buf_done(&error);
	return result;
}

static enum program_result write_target(struct import_run *run)
{
	struct buf error = BUF_INIT(8192);
	int rc = journal_create(run->journal, 0, &error);

	if (rc == 0) {
		journal_close(run->journal, &error);
		run->journal = NULL;
	}
	if (error.len > 0)
		program_complain(&run->program, "%s", buf_cstr(&error));
	rc = error.len > 0 ? -1 : 0;
	buf_done(&error);
	return rc == 0 ? PROGRAM_DONE : PROGRAM_TROUBLE;
}

/* ---- looking at what was built ---- */

static void print_defect(void *arg, struct qless_str finding)
{
	struct import_run *run = arg;

	if (run->check_lines++ < CHECK_LINES)
		program_complain(&run->program, "%.*s", (int)finding.len, finding.ptr);
}

struct state_counts {
	const struct qless *engine;
	uint64_t counts[STATES];
};

static void count_job(void *arg, struct qless_str jid)
{
	struct state_counts *counts = arg;
	struct qless_job_info info;

	qless_job_read(qless_get(counts->engine, jid), &info);
	counts->counts[info.state]++;
}

static void print_summary(struct import_run *run)
{
	struct state_counts states = { .engine = run->engine };
	struct view_counts all;

	view_counts(run->engine, &all);
	view_each(run->engine, VIEW_JOBS, count_job, &states);
	printf("read: %zu keys, %.1f MB\n", keys_count(&run->keys), (double)run->keys.bytes / 1e6);
	printf("jobs: %" PRIu64, all.jobs);
	for (int state = 0; state < STATES; state++)
		printf(", %" PRIu64 " %s", states.counts[state],
		       qless_state_text((enum qless_state)state).ptr);
	printf("\nalso: %" PRIu64 " recurring jobs, %u queues (%" PRIu64
	       " paused), %u workers, %" PRIu64 " tags, %" PRIu64 " groups of failures, %u "
	       "tracked\n",
	       all.recurs, skiplist_count(view_queues(run->engine)), all.paused_queues,
	       skiplist_count(view_workers(run->engine)), all.tags, all.groups,
	       skiplist_count(view_tracked(run->engine)));
	printf("findings: %" PRIu64 "\n", findings_total(&run->findings));
	findings_print(&run->findings, stdout);
	printf("compared: %" PRIu64 " keys are the same, of these %" PRIu64 " jobs; %" PRIu64
	       " differ as the findings say, %" PRIu64 " for an unknown reason\n",
	       run->comparison.equal, run->comparison.jobs, run->comparison.explained,
	       run->comparison.different);
	if (run->comparison.examples.len > 0)
		fwrite(buf_data(&run->comparison.examples), 1, run->comparison.examples.len,
		       stdout);
}

/* Whether the engine is consistent and equals what was read. */
static bool check_state(struct import_run *run)
{
	if (qless_check(run->engine, print_defect, run) > 0 || run->comparison.different > 0) {
		program_complain(
			&run->program,
			"the result differs from what was read; this is a defect of qlessd-import");
		return false;
	}
	if (run->strict && findings_total(&run->findings) > 0) {
		program_complain(&run->program, "refused because of --strict: there are findings");
		return false;
	}
	return true;
}

static enum program_result check_stillness(struct import_run *run)
{
	uint64_t changed;

	if (run->quick)
		return PROGRAM_DONE;
	if (!program_read_again(&run->program, run->peer, "reading again", &run->keys, &changed))
		return PROGRAM_TROUBLE;
	if (changed == 0) {
		puts("read again: nothing has changed");
		return PROGRAM_DONE;
	}
	program_complain(&run->program,
			 "refused: %" PRIu64
			 " keys changed while they were read. Stop all clients of the Redis",
			 changed);
	return PROGRAM_REFUSED;
}

static enum program_result move(struct import_run *run)
{
	struct qless_hooks hooks = { .hash_seed = entropy_u64() };
	double now = (double)clock_wall_us() / 1e6;
	enum program_result result;

	if (!program_read(&run->program, run->peer, "reading", &run->keys))
		return PROGRAM_TROUBLE;
	run->engine = qless_new(&hooks);
	build_engine(run->engine, &run->keys, now, &run->findings);
	compare_keys(run->engine, &run->keys, &run->findings, &run->comparison);
	print_summary(run);
	if (!check_state(run))
		return PROGRAM_REFUSED;
	result = check_stillness(run);
	if (result == PROGRAM_DONE && !run->dry_run)
		result = write_target(run);
	if (result == PROGRAM_DONE)
		printf("%s, in %.1f seconds\n",
		       run->dry_run ? "nothing was written, as asked" : "written",
		       program_seconds(&run->program));
	return result;
}

/* ---- the program ---- */

static enum program_result import_run(struct import_run *run)
{
	enum program_result result = PROGRAM_DONE;

	if (!run->dry_run)
		result = open_target(run);
	if (result != PROGRAM_DONE)
		return result;
	run->peer = peer_open(&run->from);
	if (peer_error(run->peer) != NULL) {
		program_complain(&run->program, "%s", peer_error(run->peer));
		return PROGRAM_TROUBLE;
	}
	return move(run);
}

static void import_done(struct import_run *run)
{
	peer_close(run->peer);
	keys_done(&run->keys);
	qless_free(run->engine);
	findings_done(&run->findings);
	comparison_done(&run->comparison);
	journal_close(run->journal, NULL);
	peer_options_done(&run->from);
}

static bool set_option(void *arg, int option, const char *value)
{
	struct import_run *run = arg;
	unsigned seconds;

	switch (option) {
	case 'f':
		return program_set_address(&run->from, value);
	case 'u':
		client_settings_set_text(&run->from.server.user, value);
		return true;
	case 'p':
		client_settings_set_text(&run->from.server.password, value);
		return true;
	case 'd':
		return program_parse(value, 0, DATABASES_MAX - 1, &run->from.server.db);
	case 'D':
		run->dir = value;
		return true;
	case 't':
		return program_parse(value, 0, DATABASES_MAX - 1, &run->db);
	case 'n':
		run->dry_run = true;
		return true;
	case 's':
		run->strict = true;
		return true;
	case 'q':
		run->quick = true;
		return true;
	case 'b':
		return program_parse(value, 1, PEER_BATCH_MAX, &run->from.batch);
	case 'T':
		if (!program_parse(value, 1, 86400, &seconds))
			return false;
		peer_options_set_timeout(&run->from, seconds);
		return true;
	case 'P':
		run->program.progress = true;
		return true;
	default:
		return false;
	}
}

static const struct option options[] = {
	{ "from", required_argument, NULL, 'f' },
	{ "from-user", required_argument, NULL, 'u' },
	{ "from-password", required_argument, NULL, 'p' },
	{ "from-db", required_argument, NULL, 'd' },
	{ "dir", required_argument, NULL, 'D' },
	{ "to-db", required_argument, NULL, 't' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "strict", no_argument, NULL, 's' },
	{ "quick", no_argument, NULL, 'q' },
	{ "batch", required_argument, NULL, 'b' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "progress", no_argument, NULL, 'P' },
	{ "version", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool parse_args(struct import_run *run, int argc, char **argv,
		       enum program_result *ret_result)
{
	if (!program_parse_args(&run->program, options, usage, set_option, run, argc, argv,
				ret_result))
		return false;
	if ((run->dir == NULL) == run->dry_run)
		return true;
	fputs(usage, stderr);
	*ret_result = PROGRAM_TROUBLE;
	return false;
}

int main(int argc, char **argv)
{
	struct import_run run = {
		.program = { .name = "qlessd-import", .progress = isatty(STDERR_FILENO) },
	};
	enum program_result result;

	run.program.started_us = clock_mono_us();
	keys_init(&run.keys, entropy_u64());
	findings_init(&run.findings, entropy_u64());
	peer_options_init(&run.from, 6379);
	if (parse_args(&run, argc, argv, &result)) {
		program_set_password(&run.from, "QLESSD_FROM_PASSWORD");
		result = import_run(&run);
	}
	import_done(&run);
	return (int)result;
}
