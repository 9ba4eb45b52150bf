/*
 * qlessd-benchmark with a real server: each workload in each dialect.
 */
#include <sched.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

#define OUTPUT_MAX  ((size_t)256 * 1024)
#define COMMAND_MAX 1000

static struct qlessd q;
static char output[OUTPUT_MAX];
static unsigned seed;
static pid_t redis; /* 0 unless one runs */

void setUp(void)
{
	qlessd_start(&q);
}

void tearDown(void)
{
	peer_close_all();
	if (redis != 0) {
		kill(redis, SIGKILL);
		waitpid(redis, NULL, 0);
		redis = 0;
	}
	qlessd_stop(&q);
}

/* Run qlessd-benchmark with options. `output` is its standard output, or both outputs. Returns
 * its exit status. */
static int run_to(const char *redirection, const char *options)
{
	char command[COMMAND_MAX];
	size_t len = 0;
	FILE *pipe;
	int status;

	snprintf(command, sizeof command, "'%s-benchmark' --port %d %s %s </dev/null",
		 getenv("QLESSD"), q.port, options, redirection);
	pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the words are ours */
	TEST_ASSERT_NOT_NULL(pipe);
	while (len < OUTPUT_MAX - 1 && !feof(pipe))
		len += fread(output + len, 1, OUTPUT_MAX - 1 - len, pipe);
	output[len] = '\0';
	status = pclose(pipe);
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int run(const char *options)
{
	return run_to("2>&1", options);
}

/* Returns the result as JSON, to be freed. */
static yyjson_doc *run_json(const char *options)
{
	yyjson_doc *doc;
	int status = run_to("", options);

	doc = yyjson_read(output, strlen(output), 0);
	TEST_ASSERT_NOT_NULL_MESSAGE(doc, output);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, status, output);
	return doc;
}

static double number(yyjson_doc *doc, const char *key)
{
	yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(doc), key);

	TEST_ASSERT_TRUE_MESSAGE(yyjson_is_num(value), key);
	return yyjson_get_num(value);
}

static uint64_t replies_to(yyjson_doc *doc, const char *command)
{
	yyjson_val *latency = yyjson_obj_get(yyjson_doc_get_root(doc), "latency");

	return yyjson_get_uint(yyjson_obj_get(yyjson_obj_get(latency, command), "count"));
}

/* Returns the number of jobs in a state, in all queues. */
static int64_t count_jobs(const char *state)
{
	struct peer *p = peer_connect(&q);
	char field[32];
	const char *at;
	int64_t count = 0;

	snprintf(field, sizeof field, "\"%s\":", state);
	at = peer_ask(p, "QUEUES");
	while ((at = strstr(at, field)) != NULL) {
		at += strlen(field);
		count += strtoll(at, NULL, 10);
	}
	peer_close(p);
	return count;
}

/* Jobs that a workload leaves after 240 jobs or requests. */
static const struct {
	const char *name;
	int jobs, waiting, running, scheduled, recurring;
	const char *options;
} workloads[] = {
	{ "ping", 0, 0, 0, 0, 0, "" },
	{ "put", 240, 240, 0, 0, 0, "" },
	{ "pop", 240, 0, 240, 0, 0, "" },
	{ "get", 0, 50, 0, 0, 0, "--backlog 50" },
	{ "heartbeat", 0, 0, 12, 0, 0, "" },
	{ "lifecycle", 240, 0, 0, 0, 0, "" },
	{ "deep", 240, 50, 0, 0, 0, "--backlog 50" },
	{ "scheduled", 240, 0, 0, 50, 0, "--backlog 50" },
	{ "recurring", 240, 0, 0, 0, 50, "--backlog 50" },
	{ "fan-in", 240, 0, 0, 0, 0, "" },
	{ "chain", 240, 0, 0, 0, 0, "" },
	{ "tags", 240, 0, 0, 0, 0, "" },
	{ "priorities", 240, 50, 0, 0, 0, "--backlog 50" },
	{ "many-queues", 240, 0, 0, 0, 0, "" },
	{ "mixed", 240, 0, 0, 0, 0, "" },
	{ "latency", 240, 0, 0, 0, 0, "" },
	{ "handoff", 240, 0, 0, 0, 0, "--workers 5" },
	{ "wait", 240, 0, 0, 0, 0, "--workers 5" },
};

#define WORKLOAD_COUNT (sizeof workloads / sizeof workloads[0])

/* BPOP is a native command. */
static bool needs_native(size_t i)
{
	return strstr(workloads[i].options, "--workers") != NULL;
}

/* At a rate, requests that begin before the end and finish after it do not count. */
static bool has_rate(size_t i)
{
	return strcmp(workloads[i].name, "latency") == 0 ||
	       strcmp(workloads[i].name, "handoff") == 0;
}

static void run_workload(size_t i, const char *dialect, const char *more)
{
	const char *name = workloads[i].name;
	char options[COMMAND_MAX], what[100];
	struct peer *p = peer_connect(&q);
	yyjson_doc *doc;

	ASK(p, "FLUSHALL", "+OK\r\n");
	peer_close(p);
	snprintf(options, sizeof options,
		 "--json --workload %s --dialect %s --seed %u --connections 3 --pipeline 4 "
		 "--jobs 240 %s %s",
		 name, dialect, ++seed, workloads[i].options, more);
	snprintf(what, sizeof what, "%s %s %s", name, dialect, more);
	doc = run_json(options);
	TEST_ASSERT_TRUE_MESSAGE(number(doc, "errors") == 0, what);
	TEST_ASSERT_TRUE_MESSAGE(number(doc, "commands_per_second") > 0, what);
	TEST_ASSERT_EQUAL_INT64_MESSAGE(workloads[i].waiting, count_jobs("waiting"), what);
	TEST_ASSERT_EQUAL_INT64_MESSAGE(workloads[i].running, count_jobs("running"), what);
	TEST_ASSERT_EQUAL_INT64_MESSAGE(workloads[i].scheduled, count_jobs("scheduled"), what);
	TEST_ASSERT_EQUAL_INT64_MESSAGE(workloads[i].recurring, count_jobs("recurring"), what);
	TEST_ASSERT_EQUAL_INT64_MESSAGE(0, count_jobs("depends"), what);
	if (more[0] == '\0' && !has_rate(i))
		TEST_ASSERT_TRUE_MESSAGE(number(doc, "jobs") == workloads[i].jobs, what);
	yyjson_doc_free(doc);
}

static void every_workload_runs_in_every_dialect(void)
{
	for (size_t i = 0; i < WORKLOAD_COUNT; i++) {
		run_workload(i, "native", "");
		if (needs_native(i))
			continue;
		run_workload(i, "qless", "");
		run_workload(i, "evalsha", "");
	}
}

static void every_workload_runs_at_a_rate(void)
{
	for (size_t i = 0; i < WORKLOAD_COUNT; i++)
		run_workload(i, "native", "--rate 50k");
}

static void a_batch_has_several_jobs(void)
{
	yyjson_doc *doc;

	for (size_t i = 0; i < WORKLOAD_COUNT; i++) {
		const char *name = workloads[i].name;

		if (strcmp(name, "put") == 0 || strcmp(name, "pop") == 0 ||
		    strcmp(name, "lifecycle") == 0)
			run_workload(i, "qless", "--batch 8 --queues 3");
	}
	doc = run_json("--json --batch 10 --jobs 100");
	TEST_ASSERT_TRUE(number(doc, "jobs") == 100);
	TEST_ASSERT_TRUE(number(doc, "commands") == 30);
	TEST_ASSERT_EQUAL_UINT64(10, replies_to(doc, "multiput"));
	TEST_ASSERT_EQUAL_UINT64(10, replies_to(doc, "multicomplete"));
	yyjson_doc_free(doc);
}

static void check_hand_overs(const char *options)
{
	yyjson_doc *doc = run_json(options);

	TEST_ASSERT_TRUE(number(doc, "jobs") == 1000);
	TEST_ASSERT_EQUAL_UINT64(1000, replies_to(doc, "hand-over"));
	yyjson_doc_free(doc);
}

static void workers_that_wait_get_and_complete_every_job(void)
{
	yyjson_doc *doc;

	check_hand_overs("--json --workload wait --jobs 1000 --connections 7");
	check_hand_overs("--json --workload wait --jobs 1000 --workers 100");
	TEST_ASSERT_EQUAL_INT64(0, count_jobs("waiting"));
	TEST_ASSERT_EQUAL_INT64(0, count_jobs("running"));
	doc = run_json("--json --workload handoff --duration 0.3");
	TEST_ASSERT_TRUE(number(doc, "rate") == 1000);
	TEST_ASSERT_TRUE(number(doc, "workers") == 1);
	TEST_ASSERT_TRUE(number(doc, "connections") == 1);
	TEST_ASSERT_GREATER_THAN_UINT64(0, replies_to(doc, "complete"));
	TEST_ASSERT_EQUAL_UINT64(replies_to(doc, "put"), replies_to(doc, "hand-over"));
	yyjson_doc_free(doc);
}

/* The lists of Redis instead of a queue, for comparison. */
static void lists_of_redis_hand_jobs_over(void)
{
	char port[16], options[COMMAND_MAX];
	struct peer *p;

	q.port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", q.port);
	redis = fork();
	if (redis == 0) {
		execlp("redis-server", "redis-server", "--port", port, "--save", "", "--dir",
		       q.dir.path, "--bind", "127.0.0.1", "--logfile", "redis", (char *)NULL);
		_exit(127);
	}
	WAIT_UNTIL(run("--workload ping --jobs 1 --connections 1") == 0);
	check_hand_overs("--json --dialect lists --workload wait --jobs 1000");
	snprintf(options, sizeof options, "--dialect lists --workload handoff --seed 7 --jobs 20");
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, run(options), output);
	p = peer_connect(&q);
	peer_ask(p, "LPUSH bench-00000007-000000 mine");
	TEST_ASSERT_EQUAL_INT(1, run(options));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "brpop"), output);
	TEST_ASSERT_EQUAL_INT(2, run("--dialect lists"));
	TEST_ASSERT_EQUAL_INT(2, run("--workload wait"));
}

static void any_workload_can_have_a_backlog(void)
{
	yyjson_doc_free(run_json("--json --workload mixed --jobs 300 --queues 20 --backlog 1230 "
				 "--rate 30k"));
	TEST_ASSERT_EQUAL_INT64(1230, count_jobs("waiting"));
	TEST_ASSERT_EQUAL_INT64(0, count_jobs("running"));
}

static void a_run_ends_after_its_duration(void)
{
	yyjson_doc *doc = run_json("--json --warmup 0.1 --duration 1");

	TEST_ASSERT_TRUE(number(doc, "seconds") >= 1);
	TEST_ASSERT_TRUE(number(doc, "jobs") > 0);
	yyjson_doc_free(doc);
	TEST_ASSERT_EQUAL_INT64(0, count_jobs("waiting"));
	TEST_ASSERT_EQUAL_INT64(0, count_jobs("running"));
}

/* Workers in lockstep return the same jobs again and again. */
static void workers_that_fail_at_times_use_up_no_retries(void)
{
	yyjson_doc *doc = run_json("--json --workload mixed --connections 200 --pipeline 1 "
				   "--jobs 20000");

	TEST_ASSERT_TRUE(number(doc, "errors") == 0);
	yyjson_doc_free(doc);
	TEST_ASSERT_EQUAL_INT64(0, count_jobs("waiting"));
}

static void memory_and_log_of_a_local_server_are_measured(void)
{
	yyjson_doc *doc = run_json("--json --workload put --jobs 2000");

	TEST_ASSERT_TRUE(number(doc, "rss_after") > 0);
	TEST_ASSERT_TRUE(number(doc, "log_bytes") > 2000 * 100);
	yyjson_doc_free(doc);
	TEST_ASSERT_EQUAL_INT(0, run("--jobs 100 --histogram"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "\nserver memory "), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "###"), output);
}

/* Let this process, its children and the server use the same processor, or all of `allowed`. */
static void share_processors(const cpu_set_t *allowed)
{
	TEST_ASSERT_EQUAL_INT(0, sched_setaffinity(0, sizeof *allowed, allowed));
	TEST_ASSERT_EQUAL_INT(0, sched_setaffinity(q.pid, sizeof *allowed, allowed));
}

/* The server wakes the program, which gets the processor only when the server sleeps. */
static void processor_time_and_waits_for_a_processor_are_measured(void)
{
	cpu_set_t all, one;
	yyjson_doc *doc;
	size_t first = 0;

	TEST_ASSERT_EQUAL_INT(0, sched_getaffinity(0, sizeof all, &all));
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	share_processors(&one);
	doc = run_json("--json --workload put --jobs 100");
	share_processors(&all);
	TEST_ASSERT_TRUE(number(doc, "server_cpu") > 0);
	TEST_ASSERT_TRUE(number(doc, "server_run_delay") + number(doc, "client_run_delay") > 0);
	TEST_ASSERT_TRUE(number(doc, "server_run_delay") < 1);
	TEST_ASSERT_TRUE(number(doc, "client_run_delay") < 1);
	yyjson_doc_free(doc);
}

static void the_same_seed_puts_the_same_jobs(void)
{
	struct peer *p = peer_connect(&q);

	TEST_ASSERT_EQUAL_INT(0, run("--seed 5 --workload put --jobs 1 --connections 1"));
	TEST_ASSERT_EQUAL_INT(0, run("--seed 5 --workload put --jobs 1 --connections 1"));
	ASK(p, "LENGTH bench-00000005-000000", ":1\r\n");
}

static void a_script_from_a_file_is_loaded(void)
{
	char path[200], options[COMMAND_MAX];

	snprintf(path, sizeof path, "%s/script.lua", q.dir.path);
	snprintf(options, sizeof options, "--dialect evalsha --jobs 10 --script %s", path);
	TEST_ASSERT_EQUAL_INT(2, run(options));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "cannot open"), output);
	textfile_write(path, "return 1");
	TEST_ASSERT_EQUAL_INT(2, run(options));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "the server replied"), output);
}

static void missing_jobs_are_an_error(void)
{
	struct peer *p = peer_connect(&q);

	ASK(p, "PAUSE bench-00000007-000000", "$-1\r\n");
	TEST_ASSERT_EQUAL_INT(1, run("--seed 7 --jobs 20 --connections 2"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "pop returned 0 of 1 jobs"), output);
}

static void foreign_jobs_are_an_error(void)
{
	struct peer *p = peer_connect(&q);

	ASK(p, "PUT w bench-00000007-000000 mine k {} 0 priority 5", "$4\r\nmine\r\n");
	TEST_ASSERT_EQUAL_INT(1, run("--seed 7 --jobs 20 --connections 2"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "job mine was popped, but never put"), output);
	ASK(p, "PUT w bench-00000008-000000 other k {} 0", "$5\r\nother\r\n");
	TEST_ASSERT_EQUAL_INT(1, run("--seed 8 --workload wait --jobs 20"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "job other was popped, but never put"), output);
}

static void duplicate_jobs_are_an_error(void)
{
	struct peer *p = peer_connect(&q);

	/* A lock that has expired when the job is popped. */
	ASK(p, "QLESS config.set 1 heartbeat -1", "$-1\r\n");
	ASK(p, "CONFIG.SET grace-period 0", "$-1\r\n");
	TEST_ASSERT_EQUAL_INT(1, run("--workload pop --jobs 20 --connections 2"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "was popped twice"), output);
}

static void errors_of_the_server_are_shown_and_counted(void)
{
	struct peer *p = peer_connect(&q);

	ASK(p, "CONFIG SET max-data-size 1024", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT(1, run("--workload put --payload 2k --jobs 20"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "put: "), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "and 15 more"), output);
}

static bool is_asleep(pid_t pid)
{
	char path[64], *text;
	bool is_asleep;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	text = textfile_read(path);
	is_asleep = strstr(text, "State:\tS") != NULL;
	free(text);
	return is_asleep;
}

/* A signal interrupts a receive that has a time limit, although the process goes on. */
static void a_benchmark_that_was_suspended_goes_on(void)
{
	char program[300], port[16];
	int status;
	pid_t pid;

	snprintf(program, sizeof program, "%s-benchmark", getenv("QLESSD"));
	snprintf(port, sizeof port, "%d", q.port);
	qlessd_halt(&q);
	pid = fork();
	if (pid == 0) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl(program, program, "--port", port, "--jobs", "10", (char *)NULL);
		_exit(127);
	}
	/* It waits for the first reply of the server. */
	WAIT_UNTIL(is_asleep(pid));
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	kill(pid, SIGCONT);
	WAIT_UNTIL(is_asleep(pid) || waitpid(pid, &status, WNOHANG | WNOWAIT) != 0);
	qlessd_go_on(&q);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
}

static void users_have_to_authenticate(void)
{
	struct peer *p = peer_connect(&q);

	ASK(p, "ACL SETUSER ann on >secret +@all", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT(0, run("--user ann --password secret --jobs 10 --database 2"));
	TEST_ASSERT_EQUAL_INT(2, run("--user ann --password wrong --jobs 10"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "WRONGPASS"), output);
}

static void impossible_options_are_refused(void)
{
	TEST_ASSERT_EQUAL_INT(2, run("--workload set"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "qlessd has no SET"), output);
	TEST_ASSERT_EQUAL_INT(2, run("--workload nothing"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "unknown workload 'nothing'"), output);
	TEST_ASSERT_EQUAL_INT(2, run("--workload get --batch 2"));
	TEST_ASSERT_EQUAL_INT(2, run("--jobs 11 --batch 2"));
	TEST_ASSERT_EQUAL_INT(2, run("--workload pop --duration 1"));
	TEST_ASSERT_EQUAL_INT(2, run("--workload chain --queues 2"));
	TEST_ASSERT_EQUAL_INT(2, run("--workers 2"));
	TEST_ASSERT_EQUAL_INT(2, run("--workload wait --queues 2"));
	TEST_ASSERT_EQUAL_INT(2, run("--workload wait --backlog 10"));
	TEST_ASSERT_EQUAL_INT(2, run("--workload handoff --dialect qless"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "only native commands wait"), output);
	TEST_ASSERT_EQUAL_INT(2, run("--workload wait --dialect lists"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "qlessd has no lists"), output);
	TEST_ASSERT_EQUAL_INT(2, run("--workload wait --dialect beanstalkd"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "the server replied: -ERR"), output);
	TEST_ASSERT_EQUAL_INT(2, run("--nonsense"));
	TEST_ASSERT_EQUAL_INT(2, run("--socket /nowhere"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "cannot connect to /nowhere"), output);
}

static void help_and_version_are_printed(void)
{
	TEST_ASSERT_EQUAL_INT(0, run("--help"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "--pipeline n"), output);
	TEST_ASSERT_EQUAL_INT(0, run("--workload help"));
	for (size_t i = 0; i < WORKLOAD_COUNT; i++)
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, workloads[i].name), output);
	TEST_ASSERT_EQUAL_INT(0, run("--version"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_workload_runs_in_every_dialect);
	RUN(every_workload_runs_at_a_rate);
	RUN(a_batch_has_several_jobs);
	RUN(workers_that_wait_get_and_complete_every_job);
	RUN(lists_of_redis_hand_jobs_over);
	RUN(any_workload_can_have_a_backlog);
	RUN(a_run_ends_after_its_duration);
	RUN(workers_that_fail_at_times_use_up_no_retries);
	RUN(memory_and_log_of_a_local_server_are_measured);
	RUN(processor_time_and_waits_for_a_processor_are_measured);
	RUN(the_same_seed_puts_the_same_jobs);
	RUN(a_script_from_a_file_is_loaded);
	RUN(missing_jobs_are_an_error);
	RUN(foreign_jobs_are_an_error);
	RUN(duplicate_jobs_are_an_error);
	RUN(errors_of_the_server_are_shown_and_counted);
	RUN(a_benchmark_that_was_suspended_goes_on);
	RUN(users_have_to_authenticate);
	RUN(impossible_options_are_refused);
	RUN(help_and_version_are_printed);
	return UNIT_RESULT();
}
