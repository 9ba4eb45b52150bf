#include "check/recovering.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/dump.h"
#include "check/state.h"
#include "check/whole.h"
#include "journal/journal.h"
#include "journal/sweep.h"
#include "sys/privileges.h"

/* Largest size of an error text, in bytes. */
#define ERROR_MAX ((size_t)8192)

static enum result complain(const char *text)
{
	fprintf(stderr, "qlessd-check: %s\n", text);
	return RESULT_TROUBLE;
}

/* ---- the new directory ---- */

/* Give a new directory to another user. It may be in the directory of a user, who can put a link in
 * its place. */
static int give_away(const char *path, const struct stat *to)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fchown(fd, to->st_uid, to->st_gid);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Make the directory of the new log, unless it exists. If root does that, the directory belongs to
 * the owner of the old log, so that the same server can use it. */
static int make_directory(const struct recovering_options *o, struct buf *error)
{
	struct stat st;

	if (mkdir(o->into, 0700) < 0) {
		if (errno == EEXIST)
			return 0;
		buf_printf(error, "cannot make %s: %s", o->into, strerror(errno));
		return -1;
	}
	if (geteuid() != 0 || stat(o->dir, &st) < 0 || give_away(o->into, &st) == 0)
		return 0;
	buf_printf(error, "cannot give %s to the owner of %s: %s", o->into, o->dir,
		   strerror(errno));
	return -1;
}

static int check_directory(const struct recovering_options *o, struct buf *error)
{
	char path[JOURNAL_PATH_MAX];
	struct stat st;

	if (journal_check_dir(o->dir) < 0 || journal_check_dir(o->into) < 0) {
		buf_printf(error, "the name of a directory is too long");
		return -1;
	}
	journal_path(path, o->into, MANIFEST_NAME);
	if (lstat(path, &st) < 0 && errno == ENOENT)
		return 0;
	buf_printf(error, "there is a log in %s already", o->into);
	return -1;
}

/* Files of the new log belong to the owner of its directory, who must be able to read the old one.
 */
static int prepare(const struct recovering_options *o, struct buf *error)
{
	if (make_directory(o, error) < 0 || privileges_become_owner(o->into, error) < 0)
		return -1;
	return check_directory(o, error);
}

static int write_log(const struct recovering_options *o, struct whole *whole, uint64_t sequence,
		     struct buf *error)
{
	struct journal_options options = { .dir = o->into, .save = whole_save, .arg = whole };
	struct journal *journal = journal_open(&options, error);
	int rc = journal == NULL ? -1 : journal_create(journal, sequence, error);

	if (rc == 0) {
		journal_close(journal, error);
		return error->len == 0 ? 0 : -1;
	}
	journal_close(journal, NULL);
	return rc;
}

/* ---- what is missing ---- */

static void print_place(const struct rescue_gap *gap)
{
	if (gap->is_no_file)
		printf("log-%08" PRIu64 " is gone", gap->file);
	else if (gap->file == 0)
		printf("before the first log segment");
	else if (gap->bytes == 0)
		printf("log-%08" PRIu64 ", after offset %" PRIu64, gap->file, gap->offset);
	else
		printf("log-%08" PRIu64 ", offset %" PRIu64 ", %" PRIu64 " bytes", gap->file,
		       gap->offset, gap->bytes);
}

static void print_times(const struct rescue_gap *gap)
{
	char time[DUMP_TIME_MAX];

	if (gap->after_us != 0)
		printf(", written after %s", dump_format_time((double)gap->after_us / 1e6, time));
	if (gap->before_us != 0)
		printf("%s before %s", gap->after_us != 0 ? " and" : ", written",
		       dump_format_time((double)gap->before_us / 1e6, time));
}

static void print_gap(const struct rescue_gap *gap)
{
	bool is_missing = gap->last >= gap->first;

	printf("%s: ", is_missing ? "missing" : "damaged");
	print_place(gap);
	if (!is_missing)
		printf(": no record is missing");
	else if (gap->last == UINT64_MAX)
		printf(": sequence %" PRIu64 " and whatever came after it", gap->first);
	else if (gap->last == gap->first)
		printf(": sequence %" PRIu64, gap->first);
	else
		printf(": sequence %" PRIu64 " to %" PRIu64, gap->first, gap->last);
	if (gap->is_continued)
		printf(", together with the place before");
	print_times(gap);
	if (gap->refused > 0 || gap->idle > 0)
		printf("; of the operations after it, %" PRIu64 " could not be applied and %" PRIu64
		       " changed nothing",
		       gap->refused, gap->idle);
	putchar('\n');
}

static void print_notes(const struct buf *notes)
{
	struct qless_str rest = buf_str(notes);

	while (rest.len > 0) {
		size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);

		printf("damaged: %.*s\n", (int)len, rest.ptr);
		rest = str_make(rest.ptr + len + 1, rest.len - len - 1);
	}
}

static uint64_t count_missing(const struct rescue *r)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < r->gap_count; i++) {
		const struct rescue_gap *gap = &r->gaps[i];

		if (gap->last >= gap->first && gap->last != UINT64_MAX && !gap->is_continued)
			missing += gap->last - gap->first + 1;
	}
	return missing;
}

/* Operations after the first missing record that changed nothing. */
static uint64_t count_idle(const struct rescue *r)
{
	uint64_t idle = 0;

	for (size_t i = 0; i < r->gap_count; i++)
		idle += r->gaps[i].idle;
	return idle;
}

static void print_rescue(const struct rescue *r, const struct whole *whole)
{
	print_notes(&r->notes);
	for (size_t i = 0; i < r->gap_count; i++)
		print_gap(&r->gaps[i]);
	if (r->untimed_sequence != 0)
		printf("left out: sequence %" PRIu64 " and later: nothing tells that they were "
		       "written before the limit\n",
		       r->untimed_sequence);
	if (rescue_is_incomplete(r) || whole->tally.refused > 0)
		printf("missing records: %" PRIu64 "%s; operations that could not be applied: "
		       "%" PRIu64 ", that changed nothing: %" PRIu64 "\n",
		       count_missing(r),
		       r->gap_count > 0 && r->gaps[r->gap_count - 1].last == UINT64_MAX
			       ? " and those at the end"
			       : "",
		       whole->tally.refused, count_idle(r));
}

/* ---- reading ---- */

/* Returns 0 with the state in `whole`, 1 if something is missing in it, or a negative errno. */
static int read_past_damage(const struct recovering_options *o, struct whole *whole,
			    uint64_t *ret_sequence, struct buf *error)
{
	struct rescue_owner owner = { .target = whole_target(whole),
				      .clear = whole_clear,
				      .tally = &whole->tally };
	struct rescue r;
	int rc = rescue_run(&r, &journal_io_system, o->dir, &o->limit, &owner, error);

	if (rc == 0) {
		print_rescue(&r, whole);
		rc = rescue_is_incomplete(&r) || whole->tally.refused > 0;
	}
	*ret_sequence = r.recovery.last_sequence;
	rescue_done(&r);
	return rc;
}

static int read_whole(const struct recovering_options *o, struct whole *whole,
		      uint64_t *ret_sequence, struct buf *error)
{
	struct recovery_target target = whole_target(whole);
	struct recovery_limit limit = o->limit;
	struct recovery r;
	int rc;

	/* The last entries of a group's node may have been acknowledged. */
	limit.is_committed = true;
	rc = recovery_run(&r, &journal_io_system, o->dir, &limit, &target, error);
	if (rc == 0 && !r.limited)
		rc = sweep_check(&journal_io_system, o->dir, &r, error);
	if (rc == 0 && r.cut_bytes > 0)
		printf("torn end: log-%08" PRIu64 " has %" PRIu64 " bytes after offset %" PRIu64
		       ", as a crash leaves them. They are left out\n",
		       r.tail.number, r.cut_bytes, r.tail_size);
	if (rc == -EBADMSG)
		buf_printf(error, ". To recover all that is intact add --skip-damaged");
	*ret_sequence = r.last_sequence;
	recovery_done(&r);
	return rc;
}

/* ---- all of it ---- */

static enum result finish(const struct recovering_options *o, struct whole *whole, bool is_missing,
			  uint64_t sequence, struct buf *error)
{
	size_t findings = check_state_print(whole->stored.databases);

	if (o->into == NULL) {
		printf("nothing was written: the state would be that of sequence %" PRIu64 "\n",
		       sequence);
	} else {
		if (write_log(o, whole, sequence, error) < 0)
			return complain(buf_cstr(error));
		printf("recovered up to sequence %" PRIu64 " into %s\n", sequence, o->into);
	}
	return is_missing || findings > 0 ? RESULT_DAMAGED : RESULT_GOOD;
}

enum result recovering_run(const struct recovering_options *o)
{
	struct buf error = BUF_INIT(ERROR_MAX);
	enum result result = RESULT_TROUBLE;
	struct whole whole;
	uint64_t sequence;
	int rc;

	if (o->into != NULL && prepare(o, &error) < 0) {
		complain(buf_cstr(&error));
		buf_done(&error);
		return RESULT_TROUBLE;
	}
	whole_init(&whole, o->skip_damaged);
	rc = o->skip_damaged ? read_past_damage(o, &whole, &sequence, &error)
			     : read_whole(o, &whole, &sequence, &error);
	if (rc == -ENOENT && error.len == 0)
		buf_printf(&error, "there is no log in %s", o->dir);
	if (rc < 0)
		complain(buf_cstr(&error));
	else
		result = finish(o, &whole, rc == 1, sequence, &error);
	whole_done(&whole);
	buf_done(&error);
	return result;
}
