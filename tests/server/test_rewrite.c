/*
 * Rewrites of the log: by a fork of the server, or by a process that makes snapshots from the log.
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "luatext.h"
#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

/* The lowest priority. */
#define NICEST 19
/* Bytes at the start of a snapshot of two jobs. */
#define BASE_BYTES 1024

static struct qlessd q;
static struct tempdir dir;
static struct peer *p;

void setUp(void)
{
	tempdir_init(&dir);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
}

/* Start a server that is large if it uses more than this much memory. */
static void start(const char *fork_max)
{
	QLESSD_START(&q, "--dir", dir.path, "--rewrite-rate-limit", "0", "--fork-max-memory",
		     fork_max);
	p = peer_connect(&q);
}

static void stop(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void kill_it(void)
{
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	stop();
}

static void put(const char *jid)
{
	char words[100];

	snprintf(words, sizeof words, "PUT w q %s klass {} 0", jid);
	ASK_HAS(p, words, jid);
}

static int64_t persistence_figure(const char *name)
{
	return peer_ask_number(p, "INFO persistence", name);
}

static void rewrite(void)
{
	int64_t before = persistence_figure("aof_rewrites:");

	ASK_HAS(p, "BGREWRITEAOF", "+Background");
	WAIT_UNTIL(persistence_figure("aof_rewrites:") > before);
}

/* Returns a child of a process, or a child of a child, with that name; 0 if there is none. */
static pid_t find_child(pid_t pid, const char *name)
{
	char path[64], comm[32];
	pid_t found = 0;
	int child;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "r");
	while (found == 0 && file != NULL && fscanf(file, "%d", &child) == 1) {
		FILE *comm_file;

		snprintf(path, sizeof path, "/proc/%d/comm", child);
		comm_file = fopen(path, "r");
		if (comm_file != NULL && fscanf(comm_file, "%31s", comm) == 1 &&
		    strcmp(comm, name) == 0)
			found = child;
		if (comm_file != NULL)
			fclose(comm_file);
		if (found == 0)
			found = find_child(child, name);
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static pid_t find_rewriter(void)
{
	return find_child(q.pid, "qlessd-rewriter");
}

/* Begin a rewrite that does not end. */
static pid_t begin_endless_rewrite(void)
{
	pid_t worker;

	ASK(p, "CONFIG SET rewrite-rate-limit 1", "+OK\r\n");
	ASK_HAS(p, "BGREWRITEAOF", "+Background");
	WAIT_UNTIL((worker = find_child(q.pid, "qlessd-rewrite")) != 0);
	WAIT_UNTIL(persistence_figure("aof_rewrite_bytes:") > 0);
	return worker;
}

static void a_small_server_forks_and_logs_how_long_that_took(void)
{
	start("1gb");
	put("j1");
	rewrite();
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("aof_rewrites_from_log:"));
	TEST_ASSERT_TRUE(persistence_figure("latest_fork_usec:") > 0);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "fork took"));
}

static void a_large_server_makes_snapshots_from_the_log(void)
{
	start("0");
	for (int i = 1; i <= 3; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "j%d", i);
		put(jid);
		rewrite();
		TEST_ASSERT_EQUAL_INT64(i, persistence_figure("aof_rewrites_from_log:"));
	}
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("latest_fork_usec:"));
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("aof_rewrite_from_log_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "seconds, from the log"));
	put("j4");
	kill_it();
	start("0");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "loaded up to sequence"));
	ASK_HAS(p, "KEYS ql:j:*", "*8\r\n");
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

/* The process that makes snapshots from the log knows nothing about users. */
static void a_snapshot_from_the_log_has_the_users_of_the_server(void)
{
	textfile_write(tempdir_file(&dir, "qlessd.conf"),
		       "user carol on >c +ping\nfork-max-memory 0\n");
	QLESSD_START(&q, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path);
	p = peer_connect(&q);
	ASK(p, "ACL SETUSER alice on >first +ping", "+OK\r\n");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	ASK(p, "ACL SETUSER alice +get", "+OK\r\n");
	ASK(p, "ACL DELUSER carol", ":1\r\n");
	rewrite();
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrites_from_log:"));
	kill_it();
	QLESSD_START(&q, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path);
	p = peer_connect(&q);
	ASK(p, "ACL USERS", "*2\r\n$5\r\nalice\r\n$7\r\ndefault\r\n");
	ASK_HAS(p, "ACL LIST", "-@all +ping +get\r\n");
}

/* Load a script. Its SHA-1 is valid until the next call. */
static const char *load_script(const char *text)
{
	static char sha[41];
	char head[64];

	snprintf(head, sizeof head, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n", strlen(text));
	peer_send_text(p, head);
	peer_send_text(p, text);
	peer_send_text(p, "\r\n");
	snprintf(sha, sizeof sha, "%.40s", peer_reply(p) + strlen("$40\r\n"));
	return sha;
}

static void a_snapshot_from_the_log_has_the_scripts(void)
{
	char line[200];

	start("0");
	snprintf(line, sizeof line, "SCRIPT EXISTS %s", load_script(LUATEXT_CLASSIC));
	rewrite();
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrites_from_log:"));
	kill_it();
	start("0");
	ASK(p, line, "*1\r\n:1\r\n");
}

static void the_options_a_script_lacks_outlive_the_server(void)
{
	char line[200];

	start("0");
	snprintf(line, sizeof line, "EVALSHA %s 0 put 1 w q j k {} 0 throttles []",
		 load_script(LUATEXT_FORK));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "commands: throttle.set; options of put: "
					       "throttles resources"));
	kill_it();
	start("0");
	ASK_HAS(p, line, "lacks the option \"throttles\"");
	rewrite();
	kill_it();
	start("0");
	ASK_HAS(p, line, "lacks the option \"throttles\"");
}

static void a_fork_makes_the_snapshot_if_the_log_cannot(void)
{
	pid_t worker;

	start("0");
	put("j1");
	worker = begin_endless_rewrite();
	ASK(p, "CONFIG SET rewrite-rate-limit 0", "+OK\r\n");
	kill(worker, SIGKILL);
	WAIT_UNTIL(persistence_figure("aof_rewrite_from_log_failures:") == 1);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "cannot make a snapshot from the log: its process "
					       "was killed. It is made by a fork"));
	WAIT_UNTIL(persistence_figure("aof_rewrites:") == 1);
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("aof_rewrite_failures:"));
	TEST_ASSERT_TRUE(persistence_figure("latest_fork_usec:") > 0);
	/* That happened once. */
	rewrite();
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrites_from_log:"));
}

static void without_the_rewriter_process_the_server_forks(void)
{
	start("0");
	put("j1");
	kill(find_rewriter(), SIGKILL);
	rewrite();
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("aof_rewrites_from_log:"));
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrite_from_log_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "from the log: the rewriter process is gone"));
	rewrite();
	kill_it();
	start("0");
	ASK_HAS(p, "KEYS ql:j:*", "*2\r\n");
}

/* Put the same job again and again, with a megabyte each. */
static void put_megabytes(int count)
{
	static char data[1000000];
	char head[200];

	memset(data, 'x', sizeof data);
	data[0] = data[sizeof data - 1] = '"';
	snprintf(head, sizeof head,
		 "*7\r\n$3\r\nPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$3\r\nbig\r\n$5\r\nklass\r\n$%zu\r\n",
		 sizeof data);
	for (int i = 0; i < count; i++) {
		peer_send_text(p, head);
		peer_send(p, data, sizeof data);
		peer_send_text(p, "\r\n$1\r\n0\r\n");
		peer_expect(p, "$3\r\nbig\r\n");
	}
}

static void a_rewriter_that_cannot_keep_up_is_abandoned(void)
{
	pid_t worker;

	start("0");
	put("j1");
	worker = begin_endless_rewrite();
	kill(worker, SIGSTOP);
	ASK(p, "CONFIG SET rewrite-rate-limit 0", "+OK\r\n");
	put_megabytes(60);
	ASK_HAS(p, "INFO persistence", "aof_rewrite_from_log_failures:0");
	put_megabytes(10);
	WAIT_UNTIL(persistence_figure("aof_rewrites:") == 1);
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrite_from_log_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "the log grows faster than it can be read"));
}

/* It needs another snapshot, of the state in memory at that time. */
static void check_log_that_fails(const char *fork_max)
{
	start(fork_max);
	put("j1");
	begin_endless_rewrite();
	ASK(p, "CONFIG SET rewrite-rate-limit 0", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT(0, unlink(tempdir_file(&dir, "log-00000002")));
	put("j2");
	WAIT_UNTIL(persistence_figure("aof_rewrites:") == 1);
	ASK_HAS(p, "INFO persistence", "log_state:ok");
	put("j3");
}

static void a_failed_log_does_not_wait_for_the_rewriter(void)
{
	check_log_that_fails("0");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "from the log: the log has failed"));
	kill_it();
	start("0");
	ASK_HAS(p, "KEYS ql:j:*", "*6\r\n");
}

static void a_failed_log_does_not_wait_for_a_fork(void)
{
	check_log_that_fails("1gb");
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrite_failures:"));
	kill_it();
	start("1gb");
	ASK_HAS(p, "KEYS ql:j:*", "*6\r\n");
}

/* The only snapshot that exists. */
static bool base_holds(const char *text)
{
	DIR *d = opendir(dir.path);
	int bases = 0;
	bool found = false;

	TEST_ASSERT_NOT_NULL(d);
	for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
		char name[32];
		const char *bytes;

		if (strncmp(entry->d_name, "base-", 5) != 0)
			continue;
		bases++;
		snprintf(name, sizeof name, "%.31s", entry->d_name);
		bytes = tempdir_read(&dir, name);
		for (size_t i = 0; i < BASE_BYTES && !found; i++)
			found = memcmp(bytes + i, text, strlen(text)) == 0;
	}
	closedir(d);
	TEST_ASSERT_EQUAL_INT(1, bases);
	return found;
}

/* SHUTDOWN SAVE writes a snapshot of that moment, not an earlier one. */
static void check_shutdown_save(const char *fork_max)
{
	start(fork_max);
	put("first-job");
	begin_endless_rewrite();
	put("second-job");
	peer_send_words(p, "SHUTDOWN SAVE");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	stop();
	TEST_ASSERT_TRUE(base_holds("first-job"));
	TEST_ASSERT_TRUE(base_holds("second-job"));
}

static void shutdown_save_does_not_wait_for_an_earlier_rewrite(void)
{
	check_shutdown_save("0");
	check_shutdown_save("1gb");
}

static void a_log_much_larger_than_the_state_is_not_read_for_a_snapshot(void)
{
	start("0");
	put_megabytes(100);
	rewrite();
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("aof_rewrites_from_log:"));
	TEST_ASSERT_EQUAL_INT64(0, persistence_figure("aof_rewrite_from_log_failures:"));
	put_megabytes(2);
	rewrite();
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrites_from_log:"));
}

/* The process may be a zombie. */
static bool is_gone(pid_t pid)
{
	char path[64], state = 'Z';
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		return true;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(file);
	return state == 'Z';
}

/* All processes end with the server, and no part of the snapshot remains. */
static void stopping_does_not_wait_for_a_rewrite(void)
{
	pid_t rewriter, worker;

	for (int by_kill = 0; by_kill < 2; by_kill++) {
		start("0");
		put("j1");
		rewriter = find_rewriter();
		worker = begin_endless_rewrite();
		if (by_kill)
			kill_it();
		else
			stop();
		WAIT_UNTIL(is_gone(rewriter) && is_gone(worker));
	}
	start("0");
	/* The lock, the manifest, and three log files. */
	TEST_ASSERT_EQUAL_INT(5, tempdir_count(&dir));
}

static void the_rewriter_process_ignores_signals_for_the_server(void)
{
	start("0");
	put("j1");
	kill(find_rewriter(), SIGTERM);
	kill(find_rewriter(), SIGINT);
	rewrite();
	TEST_ASSERT_EQUAL_INT64(1, persistence_figure("aof_rewrites_from_log:"));
}

static void the_process_that_writes_a_snapshot_has_low_priority(void)
{
	pid_t child;
	int expected;

	start("1gb");
	put("j1");
	child = begin_endless_rewrite();
	/* As far as possible: the tests may run with low priority already. */
	expected = getpriority(PRIO_PROCESS, (id_t)q.pid) + 10;
	if (expected > NICEST)
		expected = NICEST;
	WAIT_UNTIL(getpriority(PRIO_PROCESS, (id_t)child) == expected);
}

static void the_rewriter_process_runs_when_the_machine_is_idle(void)
{
	pid_t worker;

	start("0");
	put("j1");
	worker = begin_endless_rewrite();
	WAIT_UNTIL(sched_getscheduler(worker) == SCHED_IDLE);
	TEST_ASSERT_EQUAL_INT(SCHED_OTHER, sched_getscheduler(q.pid));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_small_server_forks_and_logs_how_long_that_took);
	RUN(a_large_server_makes_snapshots_from_the_log);
	RUN(a_snapshot_from_the_log_has_the_users_of_the_server);
	RUN(a_snapshot_from_the_log_has_the_scripts);
	RUN(the_options_a_script_lacks_outlive_the_server);
	RUN(a_fork_makes_the_snapshot_if_the_log_cannot);
	RUN(without_the_rewriter_process_the_server_forks);
	RUN(a_rewriter_that_cannot_keep_up_is_abandoned);
	RUN(a_failed_log_does_not_wait_for_the_rewriter);
	RUN(a_failed_log_does_not_wait_for_a_fork);
	RUN(shutdown_save_does_not_wait_for_an_earlier_rewrite);
	RUN(a_log_much_larger_than_the_state_is_not_read_for_a_snapshot);
	RUN(stopping_does_not_wait_for_a_rewrite);
	RUN(the_rewriter_process_ignores_signals_for_the_server);
	RUN(the_process_that_writes_a_snapshot_has_low_priority);
	RUN(the_rewriter_process_runs_when_the_machine_is_idle);
	return UNIT_RESULT();
}
