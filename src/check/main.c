/*
 * qlessd-check: verify, print, copy, recover or cut off the log in a directory.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_config.h"
#include "check/dump.h"
#include "check/group.h"
#include "check/recovering.h"
#include "check/result.h"
#include "check/state.h"
#include "journal/copy.h"
#include "journal/recover.h"
#include "journal/repair.h"
#include "journal/salvage.h"
#include "journal/sweep.h"
#include "sys/privileges.h"

/* Largest size of an error text, in bytes. */
#define ERROR_MAX ((size_t)8192)

static const char usage[] =
	"Usage: qlessd-check [--fix [--yes]] directory\n"
	"       qlessd-check --dump [filter ...] directory\n"
	"       qlessd-check --copy-to target directory\n"
	"       qlessd-check [--recover-into target] [--recover-to limit]\n"
	"                    [--skip-damaged] directory\n"
	"\n"
	"Verifies the log in a directory, and prints what is in it.\n"
	"\n"
	"  --fix      cut off the log where it is damaged, or make its manifest again,\n"
	"             after asking; what is replaced is kept in other files\n"
	"  --yes      do not ask\n"
	"  --dump     print the records\n"
	"  --jid id, --queue name\n"
	"             filter: only operations with this argument\n"
	"  --since seconds, --until seconds\n"
	"             filter: only operations from or up to this time\n"
	"  --copy-to target\n"
	"             copy the log to a new or empty directory; qlessd may run\n"
	"  --recover-into target\n"
	"             write a new log with the state of this one to a new or empty\n"
	"             directory\n"
	"  --recover-to limit\n"
	"             only up to a sequence number, or a time such as\n"
	"             2026-11-18T14:00:00 (UTC) or @1795000000.5\n"
	"  --skip-damaged\n"
	"             use every intact record, and list what is missing\n"
	"  --version, --help\n";

struct options {
	const char *dir;
	bool fix;
	bool yes;
	bool dump;
	const char *copy_to; /* NULL: no copy */
	bool recover;	     /* one of the options of `recovering` was given */
	struct recovering_options recovering;
	struct dump_filter filter;
};

/* ---- printing ---- */

static void print_summary(const char *dir, const struct recovery *r)
{
	char first[DUMP_TIME_MAX], last[DUMP_TIME_MAX];

	if (r->manifest.base != 0)
		printf("snapshot: base-%08" PRIu64 ", %" PRIu64 " bytes, up to sequence %" PRIu64
		       "\n",
		       r->manifest.base, r->base_bytes, r->manifest.base_sequence);
	printf("log: %zu segments, %" PRIu64 " bytes\n", r->manifest.log_count, r->log_bytes);
	printf("records: %" PRIu64 ", operations: %" PRIu64 ", last sequence: %" PRIu64 "\n",
	       r->records, r->operations, r->last_sequence);
	if (r->manifest.has_group)
		group_print(dir, r);
	if (r->first_us != 0)
		printf("time: %s to %s\n", dump_format_time((double)r->first_us / 1e6, first),
		       dump_format_time((double)r->last_us / 1e6, last));
}

struct check {
	struct recovery recovery;
	bool is_loaded; /* the log was read to its end */
	bool is_old;	/* the manifest does not name all segments of the log */
};

/* ---- repairing ---- */

static bool get_answer(const struct options *o)
{
	char answer[16];

	if (o->yes) {
		puts("y");
		return true;
	}
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static bool ask_to_cut(const struct options *o, const struct recovery *r)
{
	printf("Cut log-%08" PRIu64 " at offset %" PRIu64
	       "? The log loses everything from sequence %" PRIu64
	       " on, which is kept in other files. [y/N] ",
	       r->damaged_file, r->damaged_offset, r->damaged_sequence);
	return get_answer(o);
}

/* Cut the log where it is damaged. */
static enum result cut(const struct options *o, const struct recovery *r, struct buf *error)
{
	struct buf kept = BUF_INIT(BUF_NO_MAX);
	enum result result = RESULT_DAMAGED;

	if (repair_is_possible(r, error) && ask_to_cut(o, r) &&
	    repair_cut(&journal_io_system, o->dir, r, &kept, error) == 0) {
		printf("the log was cut; the bytes that were cut off are in\n%s", buf_cstr(&kept));
		result = RESULT_GOOD;
	}
	buf_done(&kept);
	return result;
}

static bool ask_for_manifest(const struct options *o, const struct recovery *found,
			     struct buf *unreadable)
{
	const struct manifest *m = &found->manifest;

	if (unreadable->len > 0)
		printf("The headers of these files cannot be read, so their records would be "
		       "missing:\n%s",
		       buf_cstr(unreadable));
	printf("Make a new manifest? It names ");
	if (m->base != 0)
		printf("base-%08" PRIu64 " and ", m->base);
	printf("%zu segment%s from log-%08" PRIu64 " to log-%08" PRIu64
	       ". The log then ends with sequence %" PRIu64 "%s. [y/N] ",
	       m->log_count, m->log_count == 1 ? "" : "s", m->logs[0], m->logs[m->log_count - 1],
	       found->last_sequence, found->damaged ? ", where it is damaged" : "");
	return get_answer(o);
}

/* Check that a manifest from the headers leads further than the current one. `error` has the line
 * of salvage_find(). */
static bool check_found(const struct check *check, const struct recovery *found, int rc,
			struct buf *error)
{
	const struct recovery *r = &check->recovery;

	if (rc < 0 && !found->damaged) {
		buf_printf(error, ". Restore the directory from a copy");
		return false;
	}
	buf_clear(error);
	if (!check->is_loaded || found->last_sequence > r->last_sequence)
		return true;
	buf_printf(error,
		   "no manifest that could be made from the files leads further than sequence "
		   "%" PRIu64 ": restore the directory from a copy, or move files that are not "
		   "part of the log to another directory",
		   r->last_sequence);
	return false;
}

/* Make the manifest again from the headers of the files. */
static enum result remake_manifest(const struct options *o, const struct check *check,
				   struct buf *error)
{
	struct buf kept = BUF_INIT(BUF_NO_MAX), unreadable = BUF_INIT(BUF_NO_MAX);
	enum result result = RESULT_DAMAGED;
	struct recovery found;
	int rc = salvage_find(&found, &journal_io_system, o->dir, &unreadable, error);

	if (check_found(check, &found, rc, error) && ask_for_manifest(o, &found, &unreadable) &&
	    repair_manifest(&journal_io_system, o->dir, &found, &kept, error) == 0) {
		printf("the manifest was made again%s%s", kept.len > 0 ? "; the old one is " : "\n",
		       kept.len > 0 ? buf_cstr(&kept) : "");
		result = rc == 0 ? RESULT_GOOD : RESULT_DAMAGED;
		if (rc < 0)
			puts("the log is still damaged: run this command again to cut it");
	}
	recovery_done(&found);
	buf_done(&kept);
	buf_done(&unreadable);
	return result;
}

/* A damaged segment can only be cut. All other damage is mended by another manifest, if at all. */
static enum result fix(const struct options *o, const struct check *check)
{
	const struct recovery *r = &check->recovery;
	struct buf error = BUF_INIT(ERROR_MAX);
	struct directory_lock lock;
	enum result result;

	if (repair_lock(&lock, &journal_io_system, o->dir, &error) < 0)
		result = RESULT_TROUBLE;
	else
		result = r->damaged_file != 0 && !check->is_old ? cut(o, r, &error)
								: remake_manifest(o, check, &error);
	if (error.len > 0)
		fprintf(stderr, "qlessd-check: %s\n", buf_cstr(&error));
	directory_lock_release(&lock, &journal_io_system);
	buf_done(&error);
	return result;
}

/* Complain about files of a log without a manifest. */
static int check_files(const struct options *o, struct buf *error)
{
	uint64_t highest = 0;

	if (journal_find_highest(&journal_io_system, o->dir, &highest) < 0 || highest == 0)
		return -ENOENT;
	buf_printf(error,
		   "%s has log files but no manifest that says which of them are current. To make "
		   "one from the files run: qlessd-check --fix %s",
		   o->dir, o->dir);
	return -EBADMSG;
}

static enum result report(const struct options *o, const struct recovery *r, int rc,
			  const char *error)
{
	if (rc == -ENOENT && error[0] == '\0') {
		fprintf(stderr, "qlessd-check: there is no log in %s\n", o->dir);
		return RESULT_TROUBLE;
	}
	if (rc < 0)
		fprintf(stderr, "qlessd-check: %s\n", error);
	if (rc == -EBADMSG || rc == -ENOENT)
		return RESULT_DAMAGED;
	if (rc < 0)
		return RESULT_TROUBLE;
	if (r->cut_bytes == 0)
		return RESULT_GOOD;
	fprintf(o->dump ? stderr : stdout,
		"torn end: log-%08" PRIu64 " has %" PRIu64 " bytes after offset %" PRIu64
		", where its last intact record ends, sequence %" PRIu64
		". qlessd cuts them off at its next start\n",
		r->tail.number, r->cut_bytes, r->tail_size, r->last_sequence);
	return RESULT_DAMAGED;
}

/* The daemon must be able to read the files that are written here, so root becomes the owner of the
 * directory. */
static bool become_owner(const char *dir)
{
	struct buf error = BUF_INIT(ERROR_MAX);
	bool done = privileges_become_owner(dir, &error) == 0;

	if (!done)
		fprintf(stderr, "qlessd-check: %s\n", buf_cstr(&error));
	buf_done(&error);
	return done;
}

static enum result run_dump(const struct options *o)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct buf error = BUF_INIT(ERROR_MAX);
	struct recovery recovery;
	struct dump dump;
	struct recovery_target target = { .arg = &dump, .visit = dump_record };
	enum result result;
	int rc;

	dump_init(&dump, &o->filter);
	rc = recovery_run(&recovery, &journal_io_system, o->dir, &all, &target, &error);
	result = report(o, &recovery, rc, buf_cstr(&error));
	recovery_done(&recovery);
	dump_done(&dump);
	buf_done(&error);
	return result;
}

/* Read the log into a state, and look for what is wrong. Returns 0 or a negative errno. */
static int read_log(const struct options *o, struct check *check, struct buf *error)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery *r = &check->recovery;
	struct check_state state;
	struct recovery_target target;
	size_t findings = 0;
	int rc;

	check_state_init(&state);
	target = check_state_target(&state);
	rc = recovery_run(r, &journal_io_system, o->dir, &all, &target, error);
	if (rc != -ENOENT)
		print_summary(o->dir, r);
	if (rc == -ENOENT && error->len == 0)
		rc = check_files(o, error);
	check->is_loaded = rc == 0;
	if (check->is_loaded) {
		findings = check_state_print(state.databases);
		rc = sweep_check(&journal_io_system, o->dir, r, error);
		check->is_old = rc == -EBADMSG;
	}
	check_state_done(&state);
	return rc == 0 && findings > 0 ? -EBADMSG : rc;
}

static enum result run_check(const struct options *o)
{
	struct buf error = BUF_INIT(ERROR_MAX);
	struct check check = { 0 };
	int rc = read_log(o, &check, &error);
	enum result result = report(o, &check.recovery, rc, buf_cstr(&error));

	if (result == RESULT_DAMAGED && o->fix)
		result = fix(o, &check);
	else
		puts(result == RESULT_GOOD ? "the log is whole" : "the log is NOT whole");
	recovery_done(&check.recovery);
	buf_done(&error);
	return result;
}

/* ---- copying ---- */

/* The server shows the time of its last copy. */
static void leave_marker(const struct options *o)
{
	int rc = copy_leave_marker(&journal_io_system, o->dir);

	if (rc < 0)
		fprintf(stderr,
			"qlessd-check: warning: the copy is complete, but the file %s/%s, which "
			"tells the server of it, cannot be written: %s. INFO and /metrics will not "
			"show this copy\n",
			o->dir, COPY_MARKER_NAME, strerror(-rc));
}

static enum result run_copy(const struct options *o)
{
	struct buf error = BUF_INIT(ERROR_MAX);
	struct recovery recovery;
	int rc;

	if (mkdir(o->copy_to, 0750) < 0 && errno != EEXIST) {
		fprintf(stderr, "qlessd-check: cannot make %s: %s\n", o->copy_to, strerror(errno));
		return RESULT_TROUBLE;
	}
	rc = copy_log(&journal_io_system, o->dir, o->copy_to, &recovery, &error);
	if (rc == 0) {
		printf("copied up to sequence %" PRIu64 "\n", recovery.last_sequence);
		leave_marker(o);
	} else {
		fprintf(stderr, "qlessd-check: %s\n", buf_cstr(&error));
	}
	recovery_done(&recovery);
	buf_done(&error);
	if (rc == 0)
		return RESULT_GOOD;
	return rc == -EBADMSG ? RESULT_DAMAGED : RESULT_TROUBLE;
}

/* ---- the program ---- */

static bool parse_seconds(const char *text, double *ret_seconds)
{
	char *end;

	*ret_seconds = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*ret_seconds);
}

static bool parse_limit(const char *text, struct recovery_limit *limit)
{
	if (recovery_parse_limit(text, limit))
		return true;
	fprintf(stderr,
		"qlessd-check: --recover-to %s is neither a sequence number nor a time such as "
		"2026-11-18T14:00:00 or @1795000000\n",
		text);
	return false;
}

static int parse_args(struct options *o, int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "fix", no_argument, NULL, 'f' },
		{ "yes", no_argument, NULL, 'y' },
		{ "dump", no_argument, NULL, 'd' },
		{ "jid", required_argument, NULL, 'j' },
		{ "queue", required_argument, NULL, 'q' },
		{ "since", required_argument, NULL, 's' },
		{ "until", required_argument, NULL, 'u' },
		{ "copy-to", required_argument, NULL, 'c' },
		{ "recover-into", required_argument, NULL, 'i' },
		{ "recover-to", required_argument, NULL, 't' },
		{ "skip-damaged", no_argument, NULL, 'k' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool ok = true;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'f':
			o->fix = true;
			break;
		case 'y':
			o->yes = true;
			break;
		case 'd':
			o->dump = true;
			break;
		case 'j':
			o->filter.jid = str_from(optarg);
			break;
		case 'q':
			o->filter.queue = str_from(optarg);
			break;
		case 's':
			ok &= parse_seconds(optarg, &o->filter.since);
			break;
		case 'u':
			ok &= parse_seconds(optarg, &o->filter.until);
			break;
		case 'c':
			o->copy_to = optarg;
			break;
		case 'i':
			o->recovering.into = optarg;
			o->recover = true;
			break;
		case 't':
			ok &= parse_limit(optarg, &o->recovering.limit);
			o->recover = true;
			break;
		case 'k':
			o->recovering.skip_damaged = true;
			o->recover = true;
			break;
		case 'v':
			printf("qlessd-check %s\n", QLESSD_VERSION);
			exit(RESULT_GOOD);
		case 'h':
			fputs(usage, stdout);
			exit(RESULT_GOOD);
		default:
			return -1;
		}
	}
	if (!ok || optind + 1 != argc || o->fix + o->dump + (o->copy_to != NULL) + o->recover > 1)
		return -1;
	o->dir = o->recovering.dir = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .filter = DUMP_FILTER_NONE, .recovering.limit = RECOVERY_NO_LIMIT };

	if (parse_args(&o, argc, argv) < 0) {
		fputs(usage, stderr);
		return RESULT_TROUBLE;
	}
	if (o.fix && !become_owner(o.dir))
		return RESULT_TROUBLE;
	if (o.copy_to != NULL)
		return (int)run_copy(&o);
	if (o.recover)
		return (int)recovering_run(&o.recovering);
	return (int)(o.dump ? run_dump(&o) : run_check(&o));
}
