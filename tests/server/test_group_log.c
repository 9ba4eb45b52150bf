/*
 * The directory of a node of a group, as qlessd-check describes it.
 */
#include "journal_fixture.h"
#include "tempdir.h"

#include <sys/wait.h>

#define OUTPUT_MAX  65536
#define COMMAND_MAX 400

static const struct journal_identity identity = { "\x01\xab group test.\xff", 2 };

static struct fixture f;
static struct tempdir dir;
static char output[OUTPUT_MAX];
static uint64_t term;

void setUp(void)
{
	tempdir_init(&dir);
	fixture_init(&f);
	f.options.io = NULL;
	f.options.dir = dir.path;
}

void tearDown(void)
{
	fixture_done(&f);
	tempdir_done(&dir);
}

static void record(void *arg, const struct operation *op)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);

	(void)arg;
	operation_encode(op, &bytes);
	journal_append_entry(f.journal, term, RECORD_OPERATIONS, buf_str(&bytes));
	buf_done(&bytes);
}

static void change(struct random_calls *calls, int count)
{
	while (count > 0)
		count -= fixture_step(&f, calls);
	for (int i = 0; i < 3; i++)
		fixture_flush(&f);
}

/* A log with members, a replaced tail, and two entries at the end that are not committed. */
static void write_log(void)
{
	static const struct operation_recorder recorder = { .record = record };
	struct random_calls calls;

	random_calls_init(&calls, 5);
	f.journal = journal_open(&f.options, &f.error);
	TEST_ASSERT_NOT_NULL(f.journal);
	TEST_ASSERT_EQUAL_INT(0, journal_recover(f.journal, &(struct recovery_target){ 0 },
						 &f.recovery, &f.error));
	TEST_ASSERT_EQUAL_INT(0,
			      journal_begin_group(f.journal, &identity, STR("members"), &f.error));
	databases_set_recorder(f.engines.databases, &recorder);
	term = 1;
	change(&calls, 20);
	for (int i = 0; i < 3; i++)
		journal_append_entry(f.journal, term, RECORD_BARRIER, STR(""));
	TEST_ASSERT_EQUAL_INT(0,
			      journal_replace_tail(f.journal, journal_last_index(f.journal) - 1));
	term = 4;
	journal_append_entry(f.journal, term, RECORD_BARRIER, STR(""));
	change(&calls, 20);
	journal_note_commit(f.journal, journal_last_index(f.journal) - 2);
	journal_store_vote(f.journal, (struct journal_vote){ 5, 3 });
	for (int i = 0; i < 3; i++)
		fixture_flush(&f);
	fixture_finish(&f);
}

/* Run qlessd-check on the directory. Returns its exit status. */
static int check(const char *options)
{
	char command[COMMAND_MAX];
	FILE *pipe;
	size_t len;
	int status;

	snprintf(command, sizeof command, "'%s-check' %s %s 2>&1", getenv("QLESSD"), options,
		 dir.path);
	pipe = popen(command, "r");
	TEST_ASSERT_NOT_NULL(pipe);
	len = fread(output, 1, sizeof output - 1, pipe);
	output[len] = '\0';
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_output(const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, text), output);
}

static void the_group_and_the_vote_are_printed(void)
{
	write_log();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(""), output);
	expect_output("group: 01ab2067726f757020746573742eff00\n");
	expect_output("node: 2, term: 5, vote for node 3\n");
	expect_output("last sequence: 41\n");
	expect_output("entries 42 to 43 are not known to be committed and were not applied\n");
}

static void all_kinds_of_records_are_printed(void)
{
	write_log();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, check("--dump"), output);
	expect_output(" term 1\n");
	expect_output(" term 4\n");
	expect_output(" members 7 bytes\n");
	expect_output(" barrier\n");
	expect_output(", committed up to 41\n");
}

static void damage_of_the_log_is_not_cut_off(void)
{
	char path[100];
	FILE *log;

	write_log();
	snprintf(path, sizeof path, "%s/log-00000002", dir.path);
	log = fopen(path, "r+");
	TEST_ASSERT_NOT_NULL(log);
	fseek(log, 300, SEEK_SET);
	fputs("damage", log);
	fclose(log);
	TEST_ASSERT_EQUAL_INT(1, check("--fix --yes"));
	expect_output("which may rely on what would be cut off");
}

/* Clients may have been told of entries that no mark calls committed yet. */
static void a_new_log_has_all_entries_of_the_node(void)
{
	char options[100];
	struct tempdir fresh;

	write_log();
	for (int i = 0; i < 2; i++) {
		tempdir_init(&fresh);
		snprintf(options, sizeof options, "--recover-into %s%s", fresh.path,
			 i == 0 ? "" : " --skip-damaged");
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(options), output);
		expect_output("recovered up to sequence 43 into ");
		tempdir_done(&fresh);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_group_and_the_vote_are_printed);
	RUN(all_kinds_of_records_are_printed);
	RUN(damage_of_the_log_is_not_cut_off);
	RUN(a_new_log_has_all_entries_of_the_node);
	return UNIT_RESULT();
}
