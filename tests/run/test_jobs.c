/*
 * A program gets a job, and its end decides what becomes of the job.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "peer.h"
#include "runner.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

/* More than the kernel takes as arguments and environment: 3/4 of 8 MiB. */
#define BIG_BYTES ((size_t)9 * 1024 * 1024)
#define BIG_LIMIT "16mb"
/* More than a variable may have, and less than all variables together. */
#define LONG_BYTES ((size_t)70 * 1024)

static struct qlessd q;
static struct peer *p;
static struct runner r;

void setUp(void)
{
	runner_begin();
	QLESSD_START(&q, "--max-data-size", BIG_LIMIT, "--max-job-size", BIG_LIMIT,
		     "--max-call-size", BIG_LIMIT, "--proto-max-bulk-len", BIG_LIMIT);
	p = peer_connect(&q);
}

void tearDown(void)
{
	runner_stop(&r);
	peer_close_all();
	qlessd_stop(&q);
	runner_expect_no_orphans();
	runner_done();
}

#define START(...) RUNNER_START(&r, &q, "-q", "mail", "--", runner_handler(), __VA_ARGS__)
/* The last file that a program of a test wrote. */
#define OUT "out"

/* PUT with a jid of any characters and data of any length. An option may follow. */
static void put_with(struct qless_str jid, struct qless_str data, const char *option)
{
	char text[200];

	snprintf(text, sizeof text, "*%d\r\n$3\r\nPUT\r\n$1\r\nw\r\n$4\r\nmail\r\n$%zu\r\n",
		 option == NULL ? 7 : 8, jid.len);
	peer_send_text(p, text);
	peer_send(p, jid.ptr, jid.len);
	snprintf(text, sizeof text, "\r\n$4\r\nSend\r\n$%zu\r\n", data.len);
	peer_send_text(p, text);
	peer_send(p, data.ptr, data.len);
	peer_send_text(p, "\r\n$1\r\n0\r\n");
	if (option != NULL) {
		snprintf(text, sizeof text, "$%zu\r\n%s\r\n", strlen(option), option);
		peer_send_text(p, text);
	}
	snprintf(text, sizeof text, "$%zu\r\n", jid.len);
	peer_expect(p, text);
	peer_skip(p, jid.len + 2);
}

static void put(struct qless_str jid, struct qless_str data)
{
	put_with(jid, data, NULL);
}

static bool has_state(const char *jid, const char *state)
{
	char words[100], text[100];

	snprintf(words, sizeof words, "GET %s", jid);
	snprintf(text, sizeof text, "\"state\":\"%s\"", state);
	return strstr(peer_ask(p, words), text) != NULL;
}

/* Waits for the file that the program writes, and takes it. The caller frees it. */
static char *take_out(void)
{
	char *text;

	WAIT_UNTIL(access(runner_path(OUT), F_OK) == 0);
	text = textfile_read(runner_path(OUT));
	unlink(runner_path(OUT));
	return text;
}

static void expect_out(const char *part)
{
	char *text = take_out();

	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, part), text);
	free(text);
}

static void program_gets_the_job_as_json_on_standard_input(void)
{
	char *text;

	START("echo", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {\"to\":\"ann\"} 0 priority 7");
	text = take_out();
	TEST_ASSERT_EQUAL_INT('{', text[0]);
	TEST_ASSERT_EQUAL_STRING("}\n", text + strlen(text) - 2);
	TEST_ASSERT_NOT_NULL(strstr(text, "\"jid\":\"j1\""));
	TEST_ASSERT_NOT_NULL(strstr(text, "\"data\":\"{\\\"to\\\":\\\"ann\\\"}\""));
	TEST_ASSERT_NOT_NULL(strstr(text, "\"priority\":7"));
	TEST_ASSERT_NOT_NULL(strstr(text, "\"state\":\"running\""));
	free(text);
	WAIT_UNTIL(has_state("j1", "complete"));
}

static void program_gets_the_job_in_variables(void)
{
	static const struct {
		const char *name, *value;
	} cases[] = {
		{ "QLESS_JID", "[j1]" },
		{ "QLESS_CLASS", "[Send]" },
		{ "QLESS_QUEUE", "[mail]" },
		{ "QLESS_DATA", "[{\"to\":\"ann\"}]" },
		{ "QLESS_TAGS", "[[\"a\",\"b\"]]" },
		{ "QLESS_PRIORITY", "[7]" },
		{ "QLESS_ATTEMPT", "[1]" },
		{ "QLESS_RETRIES", "[3]" },
		{ "QLESS_RETRIES_LEFT", "[3]" },
		{ "QLESS_WORKER", "[me]" },
		{ "HOME", "[/nowhere]" },
		/* Neither the password nor variables of another job are passed on. */
		{ "REDISCLI_AUTH", "" },
		{ "QLESS_OLD", "" },
	};

	setenv("HOME", "/nowhere", 1);
	setenv("REDISCLI_AUTH", "secret", 1);
	setenv("QLESS_OLD", "1", 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *text;

		peer_ask(p, "FLUSHALL");
		RUNNER_START(&r, &q, "-q", "mail", "--name", "me", "--", runner_handler(), "show",
			     runner_path(""), cases[i].name);
		peer_ask(p, "PUT w mail j1 Send {\"to\":\"ann\"} 0 priority 7 retries 3 tags "
			    "[\"a\",\"b\"]");
		text = take_out();
		TEST_ASSERT_EQUAL_STRING(cases[i].value, text);
		free(text);
		runner_stop(&r);
	}
	unsetenv("REDISCLI_AUTH");
	unsetenv("QLESS_OLD");
}

static void number_of_the_hand_out_grows(void)
{
	long first, second;
	char *text;

	START("show", runner_path(""), "QLESS_LOCK");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	text = take_out();
	first = atol(text + 1);
	free(text);
	peer_ask(p, "PUT w mail j2 Send {} 0");
	text = take_out();
	second = atol(text + 1);
	free(text);
	TEST_ASSERT_TRUE(first > 0 && second > first);
}

static void bytes_that_no_variable_can_have_are_named(void)
{
	/* A NUL, a quote, a newline and a letter of two bytes. */
	static const char jid[] = "a\0\"\n\xc3\xbc";
	static const char get[] = "*2\r\n$3\r\nGET\r\n$6\r\na\0\"\n\xc3\xbc\r\n";

	START("show", runner_path(""), "QLESS_OMITTED");
	put(str_make(jid, sizeof jid - 1), STR("{}"));
	expect_out("[QLESS_JID]");
	/* The worker has named the job to the server byte for byte. */
	for (;;) {
		peer_send(p, get, sizeof get - 1);
		if (strstr(peer_reply(p), "\"state\":\"complete\"") != NULL)
			break;
	}
}

static void bytes_without_nul_reach_the_variable(void)
{
	static const char jid[] = "a\"\n\xc3\xbc";

	START("show", runner_path(""), "QLESS_JID");
	put(str_make(jid, sizeof jid - 1), STR("{}"));
	expect_out("[a\"\n\xc3\xbc]");
}

static void bytes_of_a_raw_job_reach_the_variable(void)
{
	static const char data[] = "not JSON: \"\xff\n";

	START("show", runner_path(""), "QLESS_DATA");
	put_with(STR("j1"), str_make(data, sizeof data - 1), "raw");
	expect_out("[not JSON: \"\xff\n]");
}

static void expect_omitted(size_t bytes)
{
	struct qless_str data = { malloc(bytes), bytes };
	char *text;

	TEST_ASSERT_NOT_NULL(data.ptr);
	memset((char *)(uintptr_t)data.ptr, 'x', bytes);
	((char *)(uintptr_t)data.ptr)[0] = ((char *)(uintptr_t)data.ptr)[bytes - 1] = '"';
	START("show", runner_path(""), "QLESS_OMITTED");
	put(STR("big"), data);
	expect_out("[QLESS_DATA]");
	runner_stop(&r);
	START("echo", runner_path(""));
	put(STR("big"), data);
	text = take_out();
	TEST_ASSERT_TRUE(strlen(text) > bytes);
	free(text);
	runner_stop(&r);
	free((char *)(uintptr_t)data.ptr);
}

static void data_too_long_for_a_variable_is_on_standard_input(void)
{
	expect_omitted(LONG_BYTES);
	expect_omitted(BIG_BYTES);
}

static void program_that_reads_nothing_completes_a_long_job(void)
{
	struct qless_str data = { calloc(1, BIG_BYTES), BIG_BYTES };

	memset((char *)(uintptr_t)data.ptr, '1', BIG_BYTES);
	START("exit", "0", "");
	put(STR("big"), data);
	WAIT_UNTIL(has_state("big", "complete"));
	free((char *)(uintptr_t)data.ptr);
}

static void output_is_the_result(void)
{
	START("exit", "0", "");
	peer_ask(p, "PUT w mail silent Send {} 0");
	WAIT_UNTIL(has_state("silent", "complete"));
	ASK_LACKS(p, "GET silent", "\"result\"");
	runner_stop(&r);
	RUNNER_START(&r, &q, "-q", "mail", "--result-max", "10", "--", runner_handler(), "flood",
		     "3000000");
	peer_ask(p, "PUT w mail j1 Send {\"kept\":1} 0");
	WAIT_UNTIL(has_state("j1", "complete"));
	ASK_HAS(p, "GET j1", "\"result\":\"abcdefghij\"");
	ASK_HAS(p, "GET j1", "\"data\":\"{\\\"kept\\\":1}\"");
}

static void start_is_reported(void)
{
	START("hold", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(strstr(peer_ask(p, "GET j1"), "\"started\":") != NULL);
	ASK_HAS(p, "GET j1", "\"pid\":");
	ASK_HAS(p, "GET j1", "\"node\":\"");
	runner_touch("go");
	WAIT_UNTIL(has_state("j1", "complete"));
}

static int count(const char *text, const char *part)
{
	int found = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		found++;
	return found;
}

static void status_75_tries_again(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--backoff", "0", "--", runner_handler(), "until", "4");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has_state("j1", "complete"));
	TEST_ASSERT_EQUAL_INT(4, count(peer_ask(p, "GET j1"), "\"what\":\"popped\""));
}

static void status_75_waits_before_the_next_attempt(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--backoff", "1000", "--", runner_handler(), "until",
		     "4");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has_state("j1", "scheduled"));
	ASK_HAS(p, "GET j1", "\"remaining\":4");
}

static void backoff_of_the_job_leaves_the_last_words(void)
{
	START("exit", "75", "busy");
	peer_ask(p, "PUT w mail j1 Send {} 0 retries 1 backoff fixed 0.01 1");
	WAIT_UNTIL(has_state("j1", "failed"));
	ASK_HAS(p, "GET j1", "\"group\":\"exit-75\"");
	ASK_HAS(p, "GET j1", "\"message\":\"busy\"");
}

static void job_that_backs_off_has_the_last_words_of_its_run(void)
{
	START("exit", "75", "busy");
	peer_ask(p, "PUT w mail j1 Send {} 0 backoff fixed 1000 1000");
	WAIT_UNTIL(has_state("j1", "scheduled"));
	ASK_HAS(p, "GET j1", "\"group\":\"exit-75\"");
	ASK_HAS(p, "GET j1", "\"message\":\"busy\"");
}

static void job_without_retries_fails_with_status_75(void)
{
	START("exit", "75", "busy");
	peer_ask(p, "PUT w mail j1 Send {} 0 retries 0");
	WAIT_UNTIL(has_state("j1", "failed"));
	ASK_HAS(p, "GET j1", "\"group\":\"exit-75\"");
	ASK_HAS(p, "GET j1", "\"message\":\"busy\"");
}

static void backoff_of_the_job_comes_before_that_of_the_worker(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--backoff", "1000", "--", runner_handler(), "until",
		     "2");
	peer_ask(p, "PUT w mail j1 Send {} 0 backoff fixed 0.01 1");
	WAIT_UNTIL(has_state("j1", "complete"));
}

static void other_statuses_fail_the_job_with_its_last_words(void)
{
	START("exit", "3", "there is no paper");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has_state("j1", "failed"));
	ASK_HAS(p, "GET j1", "\"group\":\"exit-3\"");
	ASK_HAS(p, "GET j1", "\"message\":\"there is no paper\"");
}

static void silent_failure_has_a_message(void)
{
	START("exit", "1", "");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has_state("j1", "failed"));
	ASK_HAS(p, "GET j1", "\"message\":\"the program ended with status 1\"");
}

static void signal_fails_the_job(void)
{
	START("die");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has_state("j1", "failed"));
	ASK_HAS(p, "GET j1", "\"group\":\"signal-SEGV\"");
}

static void program_that_cannot_be_executed_is_tried_again(void)
{
	char script[300];

	snprintf(script, sizeof script, "%s", runner_path("script"));
	textfile_write(script, "#!/nowhere/interpreter\n");
	chmod(script, 0700);
	RUNNER_START(&r, &q, "-q", "mail", "--backoff", "1000", "--", script);
	peer_ask(p, "PUT w mail j1 Send {} 0 retries 0");
	WAIT_UNTIL(has_state("j1", "failed"));
	ASK_HAS(p, "GET j1", "\"group\":\"not-started\"");
	ASK_HAS(p, "GET j1", "No such file or directory");
}

static void missing_program_is_noticed_at_the_start(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--", "/nowhere/program");
	TEST_ASSERT_EQUAL_INT(2 << 8, runner_wait(&r));
	TEST_ASSERT_TRUE(runner_has_logged(&r, "cannot execute /nowhere/program"));
}

static void scratch_directory_is_removed_whatever_is_in_it(void)
{
	char *scratch;

	runner_touch("outside");
	START("litter", runner_path(""));
	peer_ask(p, "PUT w mail j1 Send {} 0");
	scratch = take_out();
	WAIT_UNTIL(has_state("j1", "complete"));
	TEST_ASSERT_EQUAL_INT(-1, access(scratch, F_OK));
	TEST_ASSERT_EQUAL_INT(0, access(runner_path("outside"), F_OK));
	TEST_ASSERT_FALSE(runner_has_logged(&r, "cannot be removed"));
	free(scratch);
}

static void jobs_of_the_first_queue_come_first(void)
{
	char *runs;

	peer_ask(p, "PUT w second j2 Send {} 0");
	peer_ask(p, "PUT w first j1 Send {} 0");
	RUNNER_START(&r, &q, "-q", "first", "-q", "second", "--", runner_handler(), "run",
		     runner_path(""));
	WAIT_UNTIL(has_state("j1", "complete") && has_state("j2", "complete"));
	runs = textfile_read(runner_path("runs"));
	TEST_ASSERT_EQUAL_STRING("j1\nj2\n", runs);
	free(runs);
}

static void jobs_of_other_classes_are_left_to_other_workers(void)
{
	char *runs;

	peer_ask(p, "PUT w mail j1 Report {} 0");
	peer_ask(p, "PUT w mail j2 Send {} 0");
	peer_ask(p, "PUT w mail j3 Report {} 0");
	peer_ask(p, "PUT w mail j4 Send {} 0");
	RUNNER_START(&r, &q, "-q", "mail", "--class", "Send", "--", runner_handler(), "run",
		     runner_path(""));
	WAIT_UNTIL(has_state("j2", "complete") && has_state("j4", "complete"));
	runner_stop(&r);
	runs = textfile_read(runner_path("runs"));
	TEST_ASSERT_EQUAL_STRING("j2\nj4\n", runs);
	TEST_ASSERT_TRUE(has_state("j1", "waiting") && has_state("j3", "waiting"));
	free(runs);
}

static void a_class_without_a_name_is_refused(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--class", "", "--", "/bin/true");
	TEST_ASSERT_NOT_EQUAL_INT(0, runner_wait(&r));
	TEST_ASSERT_TRUE(runner_has_logged(&r, "--class must be the name of a class, not ''"));
}

static void worker_is_attached_and_listens(void)
{
	RUNNER_START(&r, &q, "-q", "mail", "--name", "me", "-c", "3", "--", runner_handler(),
		     "echo", runner_path(""));
	WAIT_UNTIL(strstr(peer_ask(p, "WORKER.LIST QUEUE mail"), "\"name\":\"me\"") != NULL);
	ASK_HAS(p, "WORKER.LIST", "\"grace\":30");
	runner_stop(&r);
	ASK_LACKS(p, "WORKER.LIST", "\"name\":\"me\"");
}

static void wrong_password_ends_the_worker(void)
{
	peer_ask(p, "CONFIG SET requirepass secret");
	RUNNER_START(&r, &q, "-q", "mail", "-a", "wrong", "--", "/bin/true");
	TEST_ASSERT_EQUAL_INT(1 << 8, runner_wait(&r));
	TEST_ASSERT_TRUE(runner_has_logged(&r, "WRONGPASS"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(program_gets_the_job_as_json_on_standard_input);
	RUN(program_gets_the_job_in_variables);
	RUN(number_of_the_hand_out_grows);
	RUN(bytes_that_no_variable_can_have_are_named);
	RUN(bytes_without_nul_reach_the_variable);
	RUN(bytes_of_a_raw_job_reach_the_variable);
	RUN(data_too_long_for_a_variable_is_on_standard_input);
	RUN(program_that_reads_nothing_completes_a_long_job);
	RUN(output_is_the_result);
	RUN(start_is_reported);
	RUN(status_75_tries_again);
	RUN(status_75_waits_before_the_next_attempt);
	RUN(job_without_retries_fails_with_status_75);
	RUN(backoff_of_the_job_leaves_the_last_words);
	RUN(job_that_backs_off_has_the_last_words_of_its_run);
	RUN(backoff_of_the_job_comes_before_that_of_the_worker);
	RUN(other_statuses_fail_the_job_with_its_last_words);
	RUN(silent_failure_has_a_message);
	RUN(signal_fails_the_job);
	RUN(program_that_cannot_be_executed_is_tried_again);
	RUN(missing_program_is_noticed_at_the_start);
	RUN(scratch_directory_is_removed_whatever_is_in_it);
	RUN(jobs_of_the_first_queue_come_first);
	RUN(jobs_of_other_classes_are_left_to_other_workers);
	RUN(a_class_without_a_name_is_refused);
	RUN(worker_is_attached_and_listens);
	RUN(wrong_password_ends_the_worker);
	return UNIT_RESULT();
}
