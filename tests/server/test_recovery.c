/*
 * qlessd-check --recover-into: new logs from old and from damaged ones, and what the daemon makes
 * of them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

#define OUTPUT_MAX  65536
#define COMMAND_MAX 600
#define FILE_MAX    65536
/* Bytes that are changed at a time, in the test with random damage. */
#define PATCH_MAX 40

static struct qlessd q;
static struct tempdir dir, fresh;
static struct peer *p;
static char output[OUTPUT_MAX];
static unsigned long long rng;

void setUp(void)
{
	tempdir_init(&dir);
	tempdir_init(&fresh);
	rng = 5;
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
	tempdir_done(&fresh);
}

static void start(const struct tempdir *in)
{
	QLESSD_START(&q, "--dir", in->path, "--appendfsync", "always", "--log-keep-bases", "1");
	p = peer_connect(&q);
}

static void stop(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void put(const char *jid)
{
	char words[100];

	snprintf(words, sizeof words, "PUT w q %s klass {} 0", jid);
	peer_ask(p, words);
}

static long long last_sequence(void)
{
	return (long long)peer_ask_number(p, "INFO persistence", "log_last_sequence:");
}

static void rewrite(void)
{
	int64_t before = peer_ask_number(p, "INFO persistence", "aof_rewrites:");

	peer_ask(p, "BGREWRITEAOF");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") > before);
}

/* Run a shell command. Returns its exit status, or -1 if a signal ended it; its output is in
 * `output`. */
static int shell(const char *command)
{
	FILE *pipe = popen(command, "r");
	size_t len;
	int status;

	TEST_ASSERT_NOT_NULL(pipe);
	len = fread(output, 1, sizeof output - 1, pipe);
	output[len] = '\0';
	status = pclose(pipe);
	/* The shell turns a signal into a status above 128. */
	return WIFEXITED(status) && WEXITSTATUS(status) < 128 ? WEXITSTATUS(status) : -1;
}

/* Run qlessd-check with options and both directories. */
static int recover(const char *options)
{
	char command[COMMAND_MAX];

	snprintf(command, sizeof command, "'%s-check' --recover-into %s %s %s 2>&1",
		 getenv("QLESSD"), fresh.path, options, dir.path);
	return shell(command);
}

static int check(const struct tempdir *log)
{
	char command[COMMAND_MAX];

	snprintf(command, sizeof command, "'%s-check' %s 2>&1", getenv("QLESSD"), log->path);
	return shell(command);
}

/* The output of a command has a text. */
static void expect_output(const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, text), output);
}

/* Begin with an empty directory for the new log again. */
static void empty_fresh(void)
{
	tempdir_done(&fresh);
	tempdir_init(&fresh);
}

/* A number that changes with any file of a directory. */
static void sum_files(const struct tempdir *of, char ret_sum[64])
{
	char command[COMMAND_MAX];

	snprintf(command, sizeof command, "cd %s && cksum * | cksum", of->path);
	TEST_ASSERT_EQUAL_INT(0, shell(command));
	snprintf(ret_sum, 64, "%.60s", output);
}

/* ---- whole logs ---- */

static void the_new_log_has_the_whole_state(void)
{
	char before[64], after[64];

	start(&dir);
	put("j1");
	peer_ask(p, "POP q w 1");
	put("j2");
	peer_ask(p, "SELECT 3");
	put("j3");
	peer_ask(p, "ACL SETUSER ann on >secret ~* +@all");
	peer_ask(p, "ACL SETUSER bob on >secret ~* +@all");
	peer_ask(p, "ACL DELUSER bob");
	stop();
	sum_files(&dir, before);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, recover(""), output);
	expect_output("recovered up to sequence ");
	sum_files(&dir, after);
	TEST_ASSERT_EQUAL_STRING(before, after);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(&fresh), output);
	start(&fresh);
	ASK_HAS(p, "GET j1", "\"running\"");
	ASK_HAS(p, "GET j2", "\"waiting\"");
	ASK_HAS(p, "ACL LIST", "user ann on ");
	TEST_ASSERT_NULL(strstr(peer_ask(p, "ACL LIST"), "bob"));
	ASK(p, "AUTH ann secret", "+OK\r\n");
	peer_ask(p, "SELECT 3");
	ASK_HAS(p, "GET j3", "\"waiting\"");
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

static void a_limit_leads_to_an_earlier_state(void)
{
	char options[64];

	start(&dir);
	put("j1");
	snprintf(options, sizeof options, "--recover-to %lld", last_sequence());
	put("j2");
	rewrite();
	put("j3");
	stop();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, recover(options), output);
	start(&fresh);
	ASK_HAS(p, "GET j1", "\"waiting\"");
	ASK(p, "GET j2", "$-1\r\n");
	put("j4");
	stop();
	empty_fresh();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, recover("--recover-to 2100-01-01T00:00:00"), output);
	start(&fresh);
	ASK_HAS(p, "GET j3", "\"waiting\"");
	stop();
	empty_fresh();
	/* The log is kept from its beginning on, when there were no jobs. */
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, recover("--recover-to @1000000000"), output);
	expect_output("recovered up to sequence 0 into ");
}

static void a_limit_before_all_snapshots_is_refused(void)
{
	start(&dir);
	put("j1");
	put("j2");
	rewrite();
	rewrite();
	rewrite();
	stop();
	TEST_ASSERT_EQUAL_INT_MESSAGE(2, recover("--recover-to 1"), output);
	expect_output("the oldest state that can be recovered from");
	TEST_ASSERT_EQUAL_INT_MESSAGE(2, recover("--recover-to 1 --skip-damaged"), output);
	expect_output("the oldest state that can be recovered from");
}

static void wrong_arguments_change_nothing(void)
{
	start(&dir);
	put("j1");
	stop();
	TEST_ASSERT_EQUAL_INT(2, recover("--recover-to yesterday"));
	expect_output("--recover-to yesterday is neither a sequence number nor a time");
	TEST_ASSERT_EQUAL_INT(2, recover("--fix"));
	expect_output("Usage:");
	TEST_ASSERT_EQUAL_INT(2, check(&fresh));
	expect_output("there is no log in ");
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, recover(""), output);
	TEST_ASSERT_EQUAL_INT(2, recover(""));
	expect_output("there is a log in ");
}

/* ---- damaged logs ---- */

/* Returns the path of the n-th log segment. */
static const char *segment(int n)
{
	char name[32];

	snprintf(name, sizeof name, "log-%08d", n);
	return tempdir_file(&dir, name);
}

static void patch(const char *path, off_t offset, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_INT64((long long)len, pwrite(fd, bytes, len, offset));
	close(fd);
}

static size_t size_of(const char *path)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
	return (size_t)st.st_size;
}

/* The files of the log, in the order of their names. */
struct names {
	char of[100][32];
	unsigned count;
};

static void list_files(const char *prefix, struct names *names)
{
	struct dirent **entries;
	int count = scandir(dir.path, &entries, NULL, alphasort);

	names->count = 0;
	for (int i = 0; i < count; i++) {
		if (strncmp(entries[i]->d_name, prefix, strlen(prefix)) == 0 && names->count < 100)
			snprintf(names->of[names->count++], sizeof names->of[0], "%.31s",
				 entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static const char *newest_base(void)
{
	static struct names names;

	list_files("base-", &names);
	TEST_ASSERT_TRUE(names.count > 0);
	return tempdir_file(&dir, names.of[names.count - 1]);
}

/* Damage the record that holds a text. */
static void damage_record_of(const char *path, const char *text)
{
	static char bytes[FILE_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, bytes, sizeof bytes);
	const char *at;

	close(fd);
	TEST_ASSERT_TRUE(len > 0);
	at = memmem(bytes, (size_t)len, text, strlen(text));
	TEST_ASSERT_NOT_NULL(at);
	patch(path, at - bytes, "#", 1);
}

static void a_damaged_log_loses_only_the_damaged_record(void)
{
	char before[64], after[64];

	start(&dir);
	put("job-one");
	put("job-two");
	put("job-three");
	ASK_HAS(p, "TAG add job-two fast", "fast");
	put("job-four");
	stop();
	damage_record_of(segment(1), "job-two");
	sum_files(&dir, before);
	TEST_ASSERT_EQUAL_INT(2, recover(""));
	expect_output("To recover all that is intact add --skip-damaged");
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, recover("--skip-damaged"), output);
	expect_output("missing: log-00000001, offset ");
	expect_output(": sequence 2, written after ");
	expect_output("of the operations after it, 1 could not be applied");
	expect_output("missing records: 1;");
	sum_files(&dir, after);
	TEST_ASSERT_EQUAL_STRING(before, after);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(&fresh), output);
	start(&fresh);
	ASK_HAS(p, "GET job-one", "\"waiting\"");
	ASK(p, "GET job-two", "$-1\r\n");
	ASK_HAS(p, "GET job-three", "\"waiting\"");
	ASK_HAS(p, "GET job-four", "\"waiting\"");
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

static void a_damaged_snapshot_is_replaced_by_a_kept_one(void)
{
	start(&dir);
	put("job-one");
	rewrite();
	put("job-two");
	rewrite();
	put("job-three");
	stop();
	TEST_ASSERT_EQUAL_INT(0, recover("--skip-damaged"));
	empty_fresh();
	damage_record_of(newest_base(), "job-two");
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, recover("--skip-damaged"), output);
	expect_output("damaged: a snapshot was left out: ");
	start(&fresh);
	ASK_HAS(p, "GET job-one", "\"waiting\"");
	ASK_HAS(p, "GET job-two", "\"waiting\"");
	ASK_HAS(p, "GET job-three", "\"waiting\"");
}

static void without_a_target_nothing_is_written(void)
{
	char command[COMMAND_MAX];

	start(&dir);
	put("job-one");
	put("job-two");
	put("job-three");
	stop();
	damage_record_of(segment(1), "job-two");
	snprintf(command, sizeof command, "'%s-check' --skip-damaged %s 2>&1", getenv("QLESSD"),
		 dir.path);
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, shell(command), output);
	expect_output("missing: log-00000001");
	expect_output("nothing was written");
}

/* A log with many kinds of operations. */
static void make_busy_log(void)
{
	char words[120];

	start(&dir);
	for (int i = 0; i < 40; i++) {
		snprintf(words, sizeof words, "PUT w q busy-%d klass {\"n\":%d} 0 tags [\"t%d\"]",
			 i, i, i % 3);
		peer_ask(p, words);
		if (i % 4 == 1)
			peer_ask(p, "POP q w 2");
		snprintf(words, sizeof words, "COMPLETE busy-%d w q {}", i / 2);
		peer_ask(p, words);
		snprintf(words, sizeof words, "FAIL busy-%d w group message {}", i / 3);
		peer_ask(p, words);
		snprintf(words, sizeof words, "PUT w q child-%d klass {} 0 depends [\"busy-%d\"]",
			 i, i);
		peer_ask(p, words);
		if (i % 10 == 5)
			peer_ask(p, "RECUR q recurring klass {} interval 60 0");
		if (i == 20)
			rewrite();
	}
	stop();
}

static void damage_somewhere(void)
{
	static const char *const prefixes[] = { "log-", "log-", "base-", "manifest" };
	struct names names;
	char bytes[PATCH_MAX];
	const char *path;
	size_t len = 1 + unit_random(&rng) % PATCH_MAX, size;

	list_files(prefixes[unit_random(&rng) % 4], &names);
	if (names.count == 0)
		return;
	path = tempdir_file(&dir, names.of[unit_random(&rng) % names.count]);
	size = size_of(path);
	if (size == 0)
		return;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)unit_random(&rng);
	if (unit_random(&rng) % 4 == 0)
		TEST_ASSERT_EQUAL_INT(0, truncate(path, (off_t)(unit_random(&rng) % size)));
	else if (unit_random(&rng) % 8 == 0)
		TEST_ASSERT_EQUAL_INT(0, unlink(path));
	else
		patch(path, (off_t)(unit_random(&rng) % size), bytes, len);
}

static void any_damage_leads_to_a_log_that_is_whole(void)
{
	int rounds = qlessd_is_sanitized() ? 60 : 200, recovered = 0;
	struct tempdir original;

	make_busy_log();
	original = dir;
	for (int i = 0; i < rounds; i++) {
		char command[COMMAND_MAX];
		int status;

		tempdir_init(&dir);
		snprintf(command, sizeof command, "cp %s/* %s/", original.path, dir.path);
		TEST_ASSERT_EQUAL_INT(0, shell(command));
		for (unsigned long long n = 1 + unit_random(&rng) % 6; n > 0; n--)
			damage_somewhere();
		status = recover("--skip-damaged");
		/* Everything may be gone. */
		TEST_ASSERT_TRUE_MESSAGE(status == 0 || status == 1 ||
						 (status == 2 && strstr(output, "there is no log")),
					 output);
		TEST_ASSERT_NULL_MESSAGE(strstr(output, "inconsistent: "), output);
		if (status != 2)
			TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(&fresh), output);
		recovered += status == 1;
		empty_fresh();
		tempdir_done(&dir);
	}
	dir = original;
	TEST_ASSERT_TRUE(recovered > rounds / 2);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(the_new_log_has_the_whole_state);
	RUN(a_limit_leads_to_an_earlier_state);
	RUN(a_limit_before_all_snapshots_is_refused);
	RUN(wrong_arguments_change_nothing);
	RUN(a_damaged_log_loses_only_the_damaged_record);
	RUN(a_damaged_snapshot_is_replaced_by_a_kept_one);
	RUN(without_a_target_nothing_is_written);
	RUN(any_damage_leads_to_a_log_that_is_whole);
	return UNIT_RESULT();
}
