/*
 * qlessd-export: from a qlessd to an empty Redis, as the keys that qless would store there.
 *
 * The daemon shows these keys itself. So they are read as from a Redis and written unchanged to the
 * other one. Then the other one is read and compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "moving/exportable.h"
#include "moving/program.h"
#include "sys/clock.h"
#include "sys/entropy.h"

#define DATABASES_MAX 16384

static const char usage[] =
	"Usage: qlessd-export [options] --to host[:port]\n"
	"       qlessd-export [options] --dry-run\n"
	"\n"
	"Writes the queues of a qlessd to an empty Redis, for qless to go on there.\n"
	"\n"
	"  --from host[:port], --from path, --from uri\n"
	"                     the qlessd, or its Unix socket (127.0.0.1:7537)\n"
	"  --from-user name, --from-password text\n"
	"                     to authenticate; default password: QLESSD_FROM_PASSWORD\n"
	"  --from-db number   database to read (0)\n"
	"  --to host[:port], --to path, --to uri\n"
	"                     the Redis, or its Unix socket\n"
	"  --to-user name, --to-password text\n"
	"                     to authenticate; default password: QLESSD_TO_PASSWORD\n"
	"  --to-db number     database to write, which must be empty (0)\n"
	"  --dry-run          write nothing\n"
	"  --quick            do not read the qlessd again to detect changes\n"
	"  --batch n          keys in a request (1000)\n"
	"  --timeout seconds  limit for each reply (60)\n"
	"  --progress         show progress even if standard error is not a terminal\n"
	"  --version, --help\n";

struct export_run {
	struct program program;
	struct peer_options from;
	struct peer_options to;
	bool has_target;
	bool dry_run;
	bool quick;

	struct peer *source;
	struct peer *target;
	struct keys keys;
};

static bool complain(const struct export_run *run, const struct peer *peer)
{
	program_complain(&run->program, "%s", peer_error(peer));
	return false;
}

static enum program_result open_target(struct export_run *run)
{
	uint64_t count;

	run->target = peer_open(&run->to);
	if (peer_error(run->target) != NULL || !peer_count_keys(run->target, &count)) {
		complain(run, run->target);
		return PROGRAM_TROUBLE;
	}
	if (count == 0)
		return PROGRAM_DONE;
	program_complain(&run->program,
			 "refused: the database %u has %" PRIu64
			 " keys, which are not overwritten. Give an empty database",
			 run->to.server.db, count);
	return PROGRAM_REFUSED;
}

static bool write_all(struct export_run *run)
{
	size_t count, i;
	struct key **sorted = keys_sorted(&run->keys, &count);

	for (i = 0; i < count; i++) {
		if (!peer_write(run->target, sorted[i]))
			break;
	}
	free(sorted);
	if (peer_flush(run->target) && i == count)
		return true;
	complain(run, run->target);
	program_complain(&run->program, "the export is incomplete: flush that database");
	return false;
}

/* Read one of the two again. *ret_result tells whether it differs from what was read first. */
static bool compare_with(struct export_run *run, struct peer *peer, const char *what,
			 const char *complaint, enum program_result *ret_result)
{
	uint64_t changed;

	if (!program_read_again(&run->program, peer, what, &run->keys, &changed)) {
		*ret_result = PROGRAM_TROUBLE;
		return false;
	}
	if (changed == 0)
		return true;
	program_complain(&run->program, "%" PRIu64 " %s", changed, complaint);
	*ret_result = PROGRAM_REFUSED;
	return false;
}

static bool check_recurring(const struct export_run *run)
{
	struct qless_str jid;
	size_t count = exportable_count_schedules(&run->keys, &jid);

	if (count == 0)
		return true;
	program_complain(&run->program,
			 "refused: %zu recurring jobs have cron expressions, which qless lacks, "
			 "the first one \"%.*s\". Delete them, or give them an interval by "
			 "RECUR.UPDATE",
			 count, (int)jid.len, jid.ptr);
	return false;
}

static void note(void *arg, struct qless_str json)
{
	exportable_note(arg, json);
}

/* Say what of the jobs is lost. Their keys do not show it, but native commands do. */
static bool tell_losses(struct export_run *run)
{
	static const struct qless_str commands[] = { STR_INIT("GET"), STR_INIT("RECUR.GET") };
	struct exportable_losses losses = { .counts = { 0 } };
	bool ok = true;

	for (int i = 0; ok && i < 2; i++) {
		size_t count;
		struct qless_str *jids = exportable_find_jids(&run->keys, i == 1, &count);

		ok = peer_ask_each(run->source, commands[i], jids, count, note, &losses);
		free(jids);
	}
	if (!ok)
		return complain(run, run->source);
	exportable_print(&losses, stdout);
	return true;
}

static enum program_result move(struct export_run *run)
{
	enum program_result result = PROGRAM_DONE;

	if (!program_read(&run->program, run->source, "reading", &run->keys))
		return PROGRAM_TROUBLE;
	printf("read: %zu keys, %.1f MB\n", keys_count(&run->keys), (double)run->keys.bytes / 1e6);
	if (peer_has_limits(run->source))
		puts("limits are not moved: qless has none, so its workers would not obey them");
	if (!check_recurring(run))
		return PROGRAM_REFUSED;
	if (!tell_losses(run))
		return PROGRAM_TROUBLE;
	if (!run->quick) {
		if (!compare_with(run, run->source, "reading again",
				  "keys changed while they were read, nothing was written. Stop "
				  "all clients of the qlessd",
				  &result))
			return result;
		puts("read again: nothing has changed");
	}
	if (!run->dry_run) {
		if (!write_all(run))
			return PROGRAM_TROUBLE;
		if (!compare_with(run, run->target, "comparing",
				  "keys differ from what was written: flush that database",
				  &result))
			return result;
		puts("compared: every key in the Redis is equal");
	}
	printf("%s, in %.1f seconds\n", run->dry_run ? "nothing was written, as asked" : "written",
	       program_seconds(&run->program));
	return PROGRAM_DONE;
}

static enum program_result export_run(struct export_run *run)
{
	enum program_result result;

	run->source = peer_open(&run->from);
	if (peer_error(run->source) != NULL) {
		complain(run, run->source);
		return PROGRAM_TROUBLE;
	}
	result = run->dry_run ? PROGRAM_DONE : open_target(run);
	return result == PROGRAM_DONE ? move(run) : result;
}

static bool set_peer_option(struct peer_options *options, int option, const char *value)
{
	switch (option) {
	case 'u':
		client_settings_set_text(&options->server.user, value);
		return true;
	case 'p':
		client_settings_set_text(&options->server.password, value);
		return true;
	default:
		return program_parse(value, 0, DATABASES_MAX - 1, &options->server.db);
	}
}

static bool set_option(void *arg, int option, const char *value)
{
	struct export_run *run = arg;
	unsigned seconds;

	switch (option) {
	case 'f':
		return program_set_address(&run->from, value);
	case 't':
		run->has_target = true;
		return program_set_address(&run->to, value);
	case 'u':
	case 'p':
	case 'd':
		return set_peer_option(&run->from, option, value);
	case 'U':
		return set_peer_option(&run->to, 'u', value);
	case 'A':
		return set_peer_option(&run->to, 'p', value);
	case 'D':
		return set_peer_option(&run->to, 'd', value);
	case 'n':
		run->dry_run = true;
		return true;
	case 'q':
		run->quick = true;
		return true;
	case 'b':
		if (!program_parse(value, 1, PEER_BATCH_MAX, &run->from.batch))
			return false;
		run->to.batch = run->from.batch;
		return true;
	case 'T':
		if (!program_parse(value, 1, 86400, &seconds))
			return false;
		peer_options_set_timeout(&run->from, seconds);
		peer_options_set_timeout(&run->to, seconds);
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
	{ "to", required_argument, NULL, 't' },
	{ "to-user", required_argument, NULL, 'U' },
	{ "to-password", required_argument, NULL, 'A' },
	{ "to-db", required_argument, NULL, 'D' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "quick", no_argument, NULL, 'q' },
	{ "batch", required_argument, NULL, 'b' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "progress", no_argument, NULL, 'P' },
	{ "version", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool parse_args(struct export_run *run, int argc, char **argv,
		       enum program_result *ret_result)
{
	if (!program_parse_args(&run->program, options, usage, set_option, run, argc, argv,
				ret_result))
		return false;
	if (run->has_target != run->dry_run)
		return true;
	fputs(usage, stderr);
	*ret_result = PROGRAM_TROUBLE;
	return false;
}

int main(int argc, char **argv)
{
	struct export_run run = {
		.program = { .name = "qlessd-export", .progress = isatty(STDERR_FILENO) },
	};
	enum program_result result;

	run.program.started_us = clock_mono_us();
	keys_init(&run.keys, entropy_u64());
	peer_options_init(&run.from, 7537);
	peer_options_init(&run.to, 6379);
	if (parse_args(&run, argc, argv, &result)) {
		program_set_password(&run.from, "QLESSD_FROM_PASSWORD");
		program_set_password(&run.to, "QLESSD_TO_PASSWORD");
		result = export_run(&run);
	}
	peer_close(run.source);
	peer_close(run.target);
	keys_done(&run.keys);
	peer_options_done(&run.from);
	peer_options_done(&run.to);
	return (int)result;
}
