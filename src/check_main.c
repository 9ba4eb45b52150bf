/*
 * qlessd-check: look at the log of a qlessd that does not run, and cut it where it is damaged.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "build_config.h"
#include "command/databases.h"
#include "command/replay.h"
#include "engine/view.h"
#include "journal/copy.h"
#include "journal/recover.h"
#include "journal/repair.h"
#include "sys/privileges.h"
#include "util/json.h"

/* Exit codes. */
enum result {
	RESULT_GOOD = 0,
	RESULT_DAMAGED = 1,
	RESULT_TROUBLE = 2,
};

#define DATABASES_MAX 16384
#define STATE_COUNT   (QLESS_COMPLETE + 1)
#define TIME_MAX      40

static const char usage[] =
	"Usage: qlessd-check [--fix [--yes]] [--dump [filter ...]] directory\n"
	"       qlessd-check --copy-to target directory\n"
	"\n"
	"Reads the log in a directory, says what is in it and whether it is whole.\n"
	"\n"
	"  --fix      cut it off where it is damaged, after asking; what is cut is kept\n"
	"  --yes      do not ask\n"
	"  --dump     print its records\n"
	"  --jid id, --queue name\n"
	"             of these, only operations with such an argument\n"
	"  --since seconds, --until seconds\n"
	"             of these, only operations with such a time\n"
	"  --copy-to target\n"
	"             make a copy in a directory that is new or empty; qlessd may run\n"
	"  --version, --help\n";

struct check {
	const char *dir;
	bool fix;
	bool yes;
	bool dump;
	const char *copy_to;  /* NULL: no copy */
	struct qless_str jid; /* ptr is NULL: any */
	struct qless_str queue;
	double since;
	double until;

	struct databases *databases;
	struct replay replay;
	struct buf line;
};

/* ---- printing records ---- */

static const char *format_time(double seconds, char to[TIME_MAX])
{
	time_t whole = (time_t)floor(seconds);
	struct tm tm;
	size_t len;

	if (!(fabs(seconds) < 1e11) || gmtime_r(&whole, &tm) == NULL) {
		snprintf(to, TIME_MAX, "%.17g", seconds);
		return to;
	}
	len = strftime(to, TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(to + len, TIME_MAX - len, ".%06dZ",
		 (int)((seconds - floor(seconds)) * 1e6 + 0.5) % 1000000);
	return to;
}

static bool is_in_time(const struct check *c, double now)
{
	return now >= c->since && now <= c->until;
}

static bool is_wanted(const struct check *c, const struct operation *op)
{
	return (c->jid.ptr == NULL || operation_mentions(op, c->jid)) &&
	       (c->queue.ptr == NULL || operation_mentions(op, c->queue)) && is_in_time(c, op->now);
}

static bool is_wanted_command(const struct check *c, const struct legacy_command *command)
{
	return (c->jid.ptr == NULL || legacy_mentions(command, c->jid)) &&
	       (c->queue.ptr == NULL || legacy_mentions(command, c->queue)) &&
	       is_in_time(c, command->now);
}

static bool has_filter(const struct check *c)
{
	return c->jid.ptr != NULL || c->queue.ptr != NULL || isfinite(c->since) ||
	       isfinite(c->until);
}

static void append_payload(struct check *c, const struct record *record)
{
	struct record_mark mark;
	char time[TIME_MAX];
	uint64_t number;

	if (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark))
		buf_printf(&c->line, " %s durable up to %" PRIu64,
			   format_time((double)mark.wall_us / 1e6, time), mark.durable);
	else if (record->type == RECORD_STATE_DATA)
		buf_printf(&c->line, " %zu bytes", record->payload.len);
	else if (record_decode_number(record->payload, &number))
		buf_printf(&c->line, " %" PRIu64, number);
}

static void begin_line(struct check *c, const char *path, uint64_t offset,
		       const struct record *record)
{
	const char *slash = strrchr(path, '/');

	buf_clear(&c->line);
	buf_printf(&c->line, "%" PRIu64 " %s:%" PRIu64, record->sequence,
		   slash != NULL ? slash + 1 : path, offset);
}

static void end_line(struct check *c)
{
	buf_append_char(&c->line, '\n');
	fwrite(buf_data(&c->line), 1, c->line.len, stdout);
}

static void print_operations(struct check *c, const char *path, uint64_t offset,
			     const struct record *record)
{
	struct qless_str rest = record->payload;
	struct buf error = BUF_INIT(4096);
	struct operation op;
	char time[TIME_MAX];

	while (rest.len > 0 && operation_decode(&rest, &c->replay.room, &op, &error) == 0) {
		if (!is_wanted(c, &op))
			continue;
		begin_line(c, path, offset, record);
		buf_printf(&c->line, " %s ", format_time(op.now, time));
		operation_describe(&op, &c->line);
		end_line(c);
	}
	buf_done(&error);
}

static void print_commands(struct check *c, const char *path, uint64_t offset,
			   const struct record *record)
{
	struct qless_str rest = record->payload;
	struct legacy_command command;
	char time[TIME_MAX];

	while (rest.len > 0 && legacy_take(&c->replay.legacy, &rest, &command)) {
		if (!is_wanted_command(c, &command))
			continue;
		begin_line(c, path, offset, record);
		buf_printf(&c->line, " %s ", format_time(command.now, time));
		legacy_describe(&command, &c->line);
		end_line(c);
	}
}

/* A record may hold several operations: each gets a line, with the same sequence number. */
static void print_record(void *arg, const char *path, uint64_t offset, const struct record *record)
{
	struct check *c = arg;

	if (record->type == RECORD_OPERATIONS) {
		print_operations(c, path, offset, record);
	} else if (record->type == RECORD_COMMANDS) {
		print_commands(c, path, offset, record);
	} else if (!has_filter(c)) {
		begin_line(c, path, offset, record);
		buf_printf(&c->line, " %s", record_type_name(record->type));
		append_payload(c, record);
		end_line(c);
	}
}

/* ---- the state ---- */

static struct qless *engine_of(void *arg, unsigned db)
{
	struct check *c = arg;

	return db < DATABASES_MAX ? databases_get(c->databases, db)->engine : NULL;
}

/* What is not of a database changes no jobs. */
static int apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct check *c = arg;

	if (!operation_is_for_engine(op) && op->kind != OPERATION_FLUSH)
		return 0;
	return databases_apply(c->databases, op, ret_error);
}

static int apply_record(void *arg, const struct record *record, uint64_t *ret_count,
			struct buf *ret_error)
{
	struct check *c = arg;

	if (record->type == RECORD_COMMANDS)
		return replay_commands(&c->replay, record->payload, ret_count, ret_error);
	return replay_operations(&c->replay, record->payload, ret_count, ret_error);
}

struct count {
	const struct qless *engine;
	uint64_t jobs[STATE_COUNT];
};

static void count_job(void *arg, struct qless_str jid)
{
	struct count *count = arg;
	struct qless_job_info info;

	qless_job_read(qless_get(count->engine, jid), &info);
	count->jobs[info.state]++;
}

static void print_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	printf("inconsistent: %.*s\n", (int)finding.len, finding.ptr);
}

/* Returns how much is wrong with the state itself. */
static size_t print_jobs(const struct check *c)
{
	size_t findings = 0;

	for (unsigned db = 0; db < databases_count(c->databases); db++) {
		struct count count = { .engine = databases_peek(c->databases, db) };
		struct view_counts all;

		if (count.engine == NULL)
			continue;
		view_each(count.engine, VIEW_JOBS, count_job, &count);
		view_counts(count.engine, &all);
		printf("database %u: %" PRIu64 " jobs", db, all.jobs);
		for (int state = 0; state < STATE_COUNT; state++)
			printf(", %" PRIu64 " %.*s", count.jobs[state],
			       (int)qless_state_text((enum qless_state)state).len,
			       qless_state_text((enum qless_state)state).ptr);
		putchar('\n');
		findings += qless_check(count.engine, print_finding, NULL);
	}
	return findings;
}

static void print_summary(const struct recovery *r)
{
	char first[TIME_MAX], last[TIME_MAX];

	if (r->manifest.base != 0)
		printf("base: base-%08" PRIu64 ", %" PRIu64 " bytes, up to sequence %" PRIu64 "\n",
		       r->manifest.base, r->base_bytes, r->manifest.base_sequence);
	printf("log: %zu files, %" PRIu64 " bytes\n", r->manifest.log_count, r->log_bytes);
	printf("records: %" PRIu64 ", operations: %" PRIu64 ", last sequence: %" PRIu64 "\n",
	       r->records, r->operations, r->last_sequence);
	if (r->first_us != 0)
		printf("time: %s to %s\n", format_time((double)r->first_us / 1e6, first),
		       format_time((double)r->last_us / 1e6, last));
}

/* ---- fixing ---- */

static bool ask(const struct check *c, const struct recovery *r)
{
	char answer[16];

	printf("Cut log-%08" PRIu64 " at offset %" PRIu64 "? All from sequence %" PRIu64
	       " on is lost to the log, and kept in other files. [y/N] ",
	       r->damaged_file, r->damaged_offset, r->damaged_sequence);
	if (c->yes) {
		puts("y");
		return true;
	}
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static enum result fix(const struct check *c, const struct recovery *r)
{
	struct buf error = BUF_INIT(8192), kept = BUF_INIT(BUF_NO_MAX);
	enum result result = RESULT_DAMAGED;
	int lock;

	lock = repair_lock(&journal_io_system, c->dir, &error);
	if (lock < 0) {
		result = RESULT_TROUBLE;
	} else if (repair_is_possible(r, &error) && ask(c, r) &&
		   repair_cut(&journal_io_system, c->dir, r, &kept, &error) == 0) {
		printf("cut; what was there is kept in\n%s", buf_cstr(&kept));
		result = RESULT_GOOD;
	}
	if (error.len > 0)
		fprintf(stderr, "qlessd-check: %s\n", buf_cstr(&error));
	if (lock >= 0)
		close(lock);
	buf_done(&error);
	buf_done(&kept);
	return result;
}

static enum result report(const struct check *c, const struct recovery *r, int rc,
			  const char *error)
{
	if (rc == -ENOENT && error[0] == '\0') {
		fprintf(stderr, "qlessd-check: there is no log in %s\n", c->dir);
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
	fprintf(c->dump ? stderr : stdout,
		"torn end: log-%08" PRIu64 " has %" PRIu64 " bytes after offset %" PRIu64
		", its last intact record, sequence %" PRIu64
		". qlessd cuts them off at its next start\n",
		r->tail.number, r->cut_bytes, r->tail_size, r->last_sequence);
	return RESULT_DAMAGED;
}

/* What is written is the daemon's to read: of root it would be out of its reach. */
static bool become_owner(const char *dir)
{
	struct buf error = BUF_INIT(1024);
	bool done = privileges_become_owner(dir, &error) == 0;

	if (!done)
		fprintf(stderr, "qlessd-check: %s\n", buf_cstr(&error));
	buf_done(&error);
	return done;
}

static enum result run(struct check *c)
{
	struct recovery_target target = { .arg = c };
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct buf error = BUF_INIT(8192);
	struct recovery recovery;
	enum result result;
	int rc;

	if (c->dump) {
		target.visit = print_record;
	} else {
		target.engine = engine_of;
		target.apply = apply_record;
	}
	rc = recovery_run(&recovery, &journal_io_system, c->dir, &all, &target, &error);
	if (!c->dump && rc != -ENOENT)
		print_summary(&recovery);
	if (!c->dump && rc == 0 && print_jobs(c) > 0)
		rc = -EBADMSG;
	result = report(c, &recovery, rc, buf_cstr(&error));
	if (result == RESULT_DAMAGED && c->fix)
		result = fix(c, &recovery);
	else if (!c->dump)
		puts(result == RESULT_GOOD ? "the log is whole" : "the log is NOT whole");
	recovery_done(&recovery);
	buf_done(&error);
	return result;
}

/* ---- copying ---- */

static enum result copy(const struct check *c)
{
	struct buf error = BUF_INIT(8192);
	struct recovery recovery;
	int rc;

	if (mkdir(c->copy_to, 0750) < 0 && errno != EEXIST) {
		fprintf(stderr, "qlessd-check: cannot make %s: %s\n", c->copy_to, strerror(errno));
		return RESULT_TROUBLE;
	}
	rc = copy_log(&journal_io_system, c->dir, c->copy_to, &recovery, &error);
	if (rc == 0)
		printf("copied up to sequence %" PRIu64 "\n", recovery.last_sequence);
	else
		fprintf(stderr, "qlessd-check: %s\n", buf_cstr(&error));
	recovery_done(&recovery);
	buf_done(&error);
	if (rc == 0)
		return RESULT_GOOD;
	return rc == -EBADMSG ? RESULT_DAMAGED : RESULT_TROUBLE;
}

static bool parse_seconds(const char *text, double *ret_seconds)
{
	char *end;

	*ret_seconds = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*ret_seconds);
}

static int parse_args(struct check *c, int argc, char **argv)
{
	static const struct option options[] = {
		{ "fix", no_argument, NULL, 'f' },
		{ "yes", no_argument, NULL, 'y' },
		{ "dump", no_argument, NULL, 'd' },
		{ "jid", required_argument, NULL, 'j' },
		{ "queue", required_argument, NULL, 'q' },
		{ "since", required_argument, NULL, 's' },
		{ "until", required_argument, NULL, 'u' },
		{ "copy-to", required_argument, NULL, 'c' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool ok = true;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			c->fix = true;
			break;
		case 'y':
			c->yes = true;
			break;
		case 'd':
			c->dump = true;
			break;
		case 'j':
			c->jid = str_from(optarg);
			break;
		case 'q':
			c->queue = str_from(optarg);
			break;
		case 's':
			ok &= parse_seconds(optarg, &c->since);
			break;
		case 'u':
			ok &= parse_seconds(optarg, &c->until);
			break;
		case 'c':
			c->copy_to = optarg;
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
	if (!ok || optind + 1 != argc || (c->fix + c->dump + (c->copy_to != NULL) > 1))
		return -1;
	c->dir = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	struct check c = { .since = -INFINITY, .until = INFINITY, .line = BUF_INIT(BUF_NO_MAX) };
	struct qless_hooks hooks = { 0 };
	enum result result;

	if (parse_args(&c, argc, argv) < 0) {
		fputs(usage, stderr);
		return RESULT_TROUBLE;
	}
	if (c.fix && !become_owner(c.dir))
		return RESULT_TROUBLE;
	c.databases = databases_new(DATABASES_MAX, &hooks);
	replay_init(&c.replay, c.databases, apply, &c);
	result = c.copy_to != NULL ? copy(&c) : run(&c);
	databases_free(c.databases);
	replay_done(&c.replay);
	buf_done(&c.line);
	return (int)result;
}
