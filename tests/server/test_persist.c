/*
 * The log of the real daemon: acknowledged changes survive, however the process ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

#include "textfile.h"
#include "unit.h"
#include "variable.h"
#include "wait.h"

#include "util/buf.h"

#define CLIENTS	    4
#define PIPELINE    20
#define REPLY_MAX   64
#define RESTARTS    6
#define OUTPUT_MAX  65536
#define BATCH_PUTS  500
#define BATCHES_MAX 10000
/* Before that, the case has time to look. */
#define EARLY_PERCENT  30
#define LOADED_PERCENT "\nloading_loaded_perc:"

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

static void start(const char *fsync)
{
	QLESSD_START(&q, "--dir", dir.path, "--appendfsync", fsync, "--log-segment-size", "64kb",
		     "--rewrite-rate-limit", "0");
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
	peer_close_all();
	qlessd_stop(&q);
}

static void put(const char *jid)
{
	char words[200], reply[100];

	snprintf(words, sizeof words, "PUT w q %s klass {} 0", jid);
	snprintf(reply, sizeof reply, "$%zu\r\n%s\r\n", strlen(jid), jid);
	ASK(p, words, reply);
}

static void jobs_survive_a_restart(void)
{
	start("everysec");
	put("j1");
	put("j2");
	ASK_HAS(p, "POP q w1 1", "\"j1\"");
	ASK_HAS(p, "CONFIG.SET heartbeat 77", "");
	stop();
	start("everysec");
	ASK_HAS(p, "GET j1", "\"running\"");
	ASK_HAS(p, "GET j2", "\"waiting\"");
	ASK(p, "CONFIG.GET heartbeat", "$2\r\n77\r\n");
	ASK(p, "FLUSHALL", "+OK\r\n");
	stop();
	start("everysec");
	ASK(p, "GET j1", "$-1\r\n");
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO persistence", "aof_enabled:"));
}

/* Commands that are sent together share a record. */
static void info_reports_the_sequence_number_of_earlier_commands(void)
{
	static const char last[] = "log_last_sequence:";
	int64_t before, told;
	const char *info;

	start("everysec");
	before = peer_ask_number(p, "INFO persistence", last);
	peer_send_text(p, "PUT w q j1 k {} 0\r\nPUT w q j2 k {} 0\r\nINFO persistence\r\n"
			  "PUT w q j3 k {} 0\r\n");
	peer_skip_replies(p, 2);
	info = strstr(peer_reply(p), last);
	TEST_ASSERT_NOT_NULL(info);
	told = strtoll(info + strlen(last), NULL, 10);
	TEST_ASSERT_GREATER_THAN_INT64(before, told);
	peer_skip_replies(p, 1);
	TEST_ASSERT_EQUAL_INT64(told + 1, peer_ask_number(p, "INFO persistence", last));
}

static void all_databases_survive_a_restart(void)
{
	start("always");
	ASK(p, "SELECT 3", "+OK\r\n");
	put("j3");
	ASK_HAS(p, "BGREWRITEAOF", "+Background");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") == 1);
	stop();
	start("always");
	ASK(p, "GET j3", "$-1\r\n");
	ASK(p, "SELECT 3", "+OK\r\n");
	ASK_HAS(p, "GET j3", "\"waiting\"");
}

/* Send words. Returns their number of bytes, without the blanks. */
static int64_t ask_and_count(const char *words, const char *reply)
{
	int64_t bytes = 0;

	for (const char *at = words; *at != '\0'; at++)
		bytes += *at != ' ';
	ASK_HAS(p, words, reply);
	return bytes;
}

static void the_log_is_at_most_half_larger_than_its_commands(void)
{
	int64_t said = 0, before, logged;
	char words[400], jid[40], data[101];

	memset(data, 'x', 100);
	memcpy(data, "{\"k\":\"", 6);
	memcpy(data + 98, "\"}", 3);
	start("everysec");
	before = peer_ask_number(p, "INFO persistence", "log_bytes:");
	for (unsigned i = 0; i < 200; i++) {
		snprintf(jid, sizeof jid, "%032x", i * 2654435761u);
		snprintf(words, sizeof words, "PUT a-host-4711 a-queue %s SomeJob %s 0", jid, data);
		said += ask_and_count(words, jid);
		said += ask_and_count("POP a-queue a-host-4711 1", jid);
		snprintf(words, sizeof words, "COMPLETE %s a-host-4711 a-queue {}", jid);
		said += ask_and_count(words, "complete");
		said += 3 * 8; /* when */
	}
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_buffer_length:") == 0);
	logged = peer_ask_number(p, "INFO persistence", "log_bytes:") - before;
	TEST_ASSERT_GREATER_THAN_INT64(said, logged);
	TEST_ASSERT_LESS_OR_EQUAL_INT64(said + said / 2, logged);
}

/* ---- the ledger ---- */

struct ledger {
	struct peer *peer;
	unsigned sent;
	unsigned acknowledged;
};

static void send_puts(struct ledger *l, unsigned client)
{
	char words[200];

	for (int i = 0; i < PIPELINE; i++) {
		snprintf(words, sizeof words, "PUT w q c%u-%u klass {\"n\":1} 0", client,
			 l->sent++);
		peer_send_words(l->peer, words);
	}
}

static void take_replies(struct ledger *l, unsigned client, unsigned until)
{
	char expected[REPLY_MAX];

	while (l->acknowledged < until) {
		int len = snprintf(expected, sizeof expected, "c%u-%u", client, l->acknowledged);
		char reply[REPLY_MAX + 16];

		snprintf(reply, sizeof reply, "$%d\r\n%s\r\n", len, expected);
		peer_expect(l->peer, reply);
		l->acknowledged++;
	}
}

static void check_ledger(const struct ledger *l, unsigned client)
{
	char words[100];

	for (unsigned i = 0; i < l->acknowledged; i++) {
		snprintf(words, sizeof words, "GET c%u-%u", client, i);
		TEST_ASSERT_NOT_EQUAL_INT_MESSAGE(0, strncmp(peer_ask(p, words), "$-1", 3), words);
	}
}

static void a_kill_loses_nothing(const char *fsync)
{
	struct ledger ledgers[CLIENTS] = { 0 };
	unsigned long long rng = 9;

	for (int round = 0; round < RESTARTS; round++) {
		unsigned turns = 5 + (unsigned)(unit_random(&rng) % 40);

		start(fsync);
		for (unsigned c = 0; c < CLIENTS; c++) {
			ledgers[c].peer = peer_connect(&q);
			/* Changes that were not acknowledged may be there or not. */
			ledgers[c].sent = ledgers[c].acknowledged;
		}
		for (unsigned t = 0; t < turns; t++) {
			for (unsigned c = 0; c < CLIENTS; c++)
				send_puts(&ledgers[c], c);
			if (t == turns / 2)
				ASK_HAS(p, "BGREWRITEAOF", "");
			for (unsigned c = 0; c < CLIENTS; c++)
				take_replies(&ledgers[c], c, ledgers[c].sent - PIPELINE / 2);
		}
		kill_it();
	}
	start(fsync);
	for (unsigned c = 0; c < CLIENTS; c++)
		check_ledger(&ledgers[c], c);
	TEST_ASSERT_TRUE(ledgers[0].acknowledged > 200);
}

static void kills_lose_no_acknowledged_write_with_always(void)
{
	a_kill_loses_nothing("always");
}

static void kills_lose_no_acknowledged_write_with_everysec(void)
{
	a_kill_loses_nothing("everysec");
}

/* Run qlessd-check on the directory. *ret_output is to be freed. */
static int check(const char *options, char **ret_output)
{
	char command[400];
	size_t len = 0;
	FILE *pipe;
	int status;

	snprintf(command, sizeof command, "'%s-check' %s %s 2>&1 </dev/null", getenv("QLESSD"),
		 options, dir.path);
	pipe = popen(command, "r");
	*ret_output = calloc(1, OUTPUT_MAX);
	while (len < OUTPUT_MAX - 1 && !feof(pipe))
		len += fread(*ret_output + len, 1, OUTPUT_MAX - 1 - len, pipe);
	status = pclose(pipe);
	return WEXITSTATUS(status);
}

#define CHECK_HAS(status, options, text)                                      \
	do {                                                                  \
		char *output_;                                                \
		int status_ = check(options, &output_);                       \
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output_, text), output_); \
		TEST_ASSERT_EQUAL_INT_MESSAGE(status, status_, output_);      \
		free(output_);                                                \
	} while (0)

#define CHECK_LACKS(options, text)                                        \
	do {                                                              \
		char *output_;                                            \
		check(options, &output_);                                 \
		TEST_ASSERT_NULL_MESSAGE(strstr(output_, text), output_); \
		free(output_);                                            \
	} while (0)

/* ---- users ---- */

static void start_with_users(const char *user_line)
{
	textfile_write(tempdir_file(&dir, "qlessd.conf"), user_line);
	QLESSD_START(&q, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path);
	p = peer_connect(&q);
}

static void rewrite(void)
{
	int64_t before = peer_ask_number(p, "INFO persistence", "aof_rewrites:");

	ASK_HAS(p, "BGREWRITEAOF", "+Background");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") > before);
}

static void users_set_at_run_time_survive_a_restart(void)
{
	for (int with_base = 0; with_base < 2; with_base++) {
		start_with_users("user carol on >c +ping +get");
		ASK(p, "ACL SETUSER alice on >secret +@all -flushall", "+OK\r\n");
		ASK(p, "ACL SETUSER bob on >x +ping", "+OK\r\n");
		ASK(p, "ACL DELUSER bob carol", ":2\r\n");
		ASK(p, "ACL SETUSER default -debug", "+OK\r\n");
		if (with_base)
			rewrite();
		kill_it();
		CHECK_HAS(0, "--dump", "user-set name=");
		CHECK_LACKS("--dump", "#2bb80d"); /* the SHA-256 of "secret" begins with this */
		start_with_users("user carol on >c +ping +get");
		ASK(p, "ACL USERS", "*2\r\n$5\r\nalice\r\n$7\r\ndefault\r\n");
		ASK_HAS(p, "ACL LIST", "user alice on #2bb80d");
		ASK_HAS(p, "ACL LIST", "+@all -flushall\r\n");
		ASK_HAS(p, "ACL LIST", "user default on nopass ~* &* +@all -debug\r\n");
		ASK(p, "AUTH alice secret", "+OK\r\n");
		stop();
		tempdir_done(&dir);
		tempdir_init(&dir);
	}
}

static void users_set_at_run_time_take_precedence_over_the_configuration(void)
{
	start_with_users("user carol on >c +ping\nuser dave on >d +ping");
	ASK(p, "ACL SETUSER carol +get", "+OK\r\n");
	ASK(p, "ACL DELUSER dave", ":1\r\n");
	stop();
	/* The file was edited in between. */
	for (int with_base = 0; with_base < 2; with_base++) {
		start_with_users("user carol on >c +ping +put\nuser dave on >d +get\n"
				 "user erin on >e +get");
		ASK_HAS(p, "ACL LIST", "-@all +ping +get\r\n");
		ASK(p, "ACL USERS", "*3\r\n$5\r\ncarol\r\n$7\r\ndefault\r\n$4\r\nerin\r\n");
		TEST_ASSERT_TRUE(qlessd_has_logged(
			&q, "user carol is not as the configuration says: it was set"));
		TEST_ASSERT_TRUE(qlessd_has_logged(
			&q, "user dave is not as the configuration says: it was deleted"));
		TEST_ASSERT_FALSE(qlessd_has_logged(&q, "user erin is"));
		TEST_ASSERT_FALSE(qlessd_has_logged(&q, "user default is"));
		rewrite();
		stop();
	}
}

static void config_rewrite_gives_users_back_to_the_configuration(void)
{
	start_with_users("user carol on >c +ping\nuser dave on >d +ping");
	ASK(p, "ACL SETUSER carol +get", "+OK\r\n");
	ASK(p, "ACL DELUSER dave", ":1\r\n");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	stop();
	QLESSD_START(&q, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path);
	p = peer_connect(&q);
	ASK(p, "ACL USERS", "*2\r\n$5\r\ncarol\r\n$7\r\ndefault\r\n");
	ASK_HAS(p, "ACL LIST", "-@all +ping +get\r\n");
	stop();
	start_with_users("user carol on >c +put");
	ASK_HAS(p, "ACL LIST", "-@all +put\r\n");
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "user carol is not"));
	ASK(p, "ACL DELUSER carol", ":1\r\n");
	rewrite();
	stop();
	start_with_users("user carol on >c +put");
	ASK(p, "ACL USERS", "*1\r\n$7\r\ndefault\r\n");
}

static void a_user_deleted_at_run_time_may_be_configured_later(void)
{
	start_with_users("");
	ASK(p, "ACL SETUSER carol on >c +get", "+OK\r\n");
	ASK(p, "ACL DELUSER carol", ":1\r\n");
	stop();
	start_with_users("user carol on >c +put");
	ASK_HAS(p, "ACL LIST", "-@all +put\r\n");
}

static void config_set_requirepass_survives_if_default_was_set_at_run_time(void)
{
	start_with_users("");
	ASK(p, "CONFIG SET requirepass first", "+OK\r\n");
	stop();
	start_with_users("");
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "ACL SETUSER default -debug", "+OK\r\n");
	ASK(p, "CONFIG SET requirepass second", "+OK\r\n");
	stop();
	start_with_users("");
	ASK_HAS(p, "PING", "-NOAUTH");
	ASK(p, "AUTH second", "+OK\r\n");
	ASK_HAS(p, "ACL LIST", "+@all -debug\r\n");
}

static void setting_a_user_to_the_same_is_not_recorded(void)
{
	int64_t last;

	start("always");
	ASK(p, "ACL SETUSER alice on +ping", "+OK\r\n");
	last = peer_ask_number(p, "INFO persistence", "log_last_sequence:");
	ASK(p, "ACL SETUSER alice on", "+OK\r\n");
	ASK(p, "ACL DELUSER nobody", ":0\r\n");
	ASK_HAS(p, "ACL SETUSER alice +nonsense", "-ERR ");
	TEST_ASSERT_EQUAL_INT64(last, peer_ask_number(p, "INFO persistence", "log_last_sequence:"));
}

/* ---- loading ---- */

/* Put one job again and again. */
static void put_often(int batches)
{
	struct buf batch = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < BATCH_PUTS; i++)
		buf_printf(&batch, "PUT w q j klass %d 0\r\n", i);
	for (int i = 0; i < batches; i++) {
		peer_send(p, buf_data(&batch), batch.len);
		peer_skip_replies(p, BATCH_PUTS);
	}
	buf_done(&batch);
}

static const char *words_at_end; /* a command at the end of such a log, or NULL */
static const char *port_of_nodes = "0";

/* Start with a log that loads long enough for us to connect in the middle of it; on a fast
 * machine the log is longer. All requests are there when the server looks, so it answers them in
 * the same turn as INFO. Returns the reply to INFO; the other replies follow. */
static const char *start_loading(const char *requests)
{
	const char *info, *done;

	for (int batches = qlessd_is_sanitized() ? 60 : 300;; batches *= 2) {
		TEST_ASSERT_TRUE(batches < BATCHES_MAX);
		/* One large file, because creating many takes longer than everything else. */
		QLESSD_START(&q, "--dir", dir.path, "--appendfsync", "no");
		p = peer_connect(&q);
		put_often(batches);
		if (words_at_end != NULL)
			ASK(p, words_at_end, "+OK\r\n");
		kill(q.pid, SIGKILL);
		qlessd_wait(&q);
		peer_close_all();
		q.may_load = true;
		qlessd_start_again(&q, (const char *const[]){ "--dir", dir.path, "--port", "0",
							      "--replication-port", port_of_nodes,
							      NULL });
		qlessd_halt(&q);
		p = peer_connect_unix(&q);
		peer_send_text(p, "INFO persistence\r\n");
		peer_send_text(p, requests);
		qlessd_go_on(&q);
		info = peer_reply(p);
		done = strstr(info, LOADED_PERCENT);
		if (done != NULL && strtol(done + strlen(LOADED_PERCENT), NULL, 10) < EARLY_PERCENT)
			return info;
		stop();
		tempdir_done(&dir);
		tempdir_init(&dir);
	}
}

static void clients_get_an_error_while_the_log_is_loaded(void)
{
	const char *info;

	info = start_loading("PING\r\nGET j\r\nPUT w q k klass {} 0\r\nEXISTS ql:j:j\r\n"
			     "BGREWRITEAOF\r\nFLUSHALL\r\nACL SETUSER joe\r\nSCRIPT FLUSH\r\n"
			     "ECHO 1\r\nSELECT 0\r\n");
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(info, "\nloading:1\r\n"), info);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(info, "\nloading_eta_seconds:"), info);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(info, "\nloading_loaded_perc:"), info);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(info, "\nloading_start_time:1"), info);
	TEST_ASSERT_NULL_MESSAGE(strstr(info, "\nloading_total_bytes:0"), info);
	for (int i = 0; i < 8; i++)
		peer_expect(p, "-LOADING qlessd is loading the dataset in memory\r\n");
	peer_expect(p, "$1\r\n1\r\n+OK\r\n");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "notice loading: "));
	WAIT_UNTIL(strcmp(peer_ask(p, "PING"), "+PONG\r\n") == 0);
	ASK_HAS(p, "INFO persistence", "\nloading:0\r\n");
	ASK_LACKS(p, "INFO persistence", "loading_eta_seconds");
	ASK_HAS(p, "GET j", "\"waiting\"");
	ASK(p, "GET k", "$-1\r\n");
}

static void a_node_that_loads_is_no_leader(void)
{
	const char *reply;

	port_of_nodes = "1";
	start_loading("INFO replication\r\nROLE\r\n");
	port_of_nodes = "0";
	reply = peer_reply(p);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, "\nrole:slave\r\n"), reply);
	peer_expect(p, "*5\r\n$5\r\nslave\r\n$0\r\n\r\n:0\r\n$7\r\nconnect\r\n:0\r\n");
	/* The log is that of a server alone. */
	WAIT_UNTIL(strcmp(peer_ask(p, "PING"), "+PONG\r\n") == 0);
	ASK_HAS(p, "INFO replication", "\nrole:master\r\n");
}

static void sessions_begun_during_loading_get_the_rights_in_the_log(void)
{
	/* It is the last record, so it is loaded late. */
	words_at_end = "ACL SETUSER default resetpass >pw";
	start_loading("ECHO 1\r\n");
	words_at_end = NULL;
	peer_expect(p, "$1\r\n1\r\n");
	WAIT_UNTIL(strncmp(peer_ask(p, "PING"), "-LOADING", 8) != 0);
	ASK_HAS(p, "GET j", "-NOAUTH");
	ASK(p, "AUTH pw", "+OK\r\n");
	ASK_HAS(p, "GET j", "\"waiting\"");
}

static void subscribers_that_came_during_loading_are_checked_too(void)
{
	struct peer *other;

	words_at_end = "ACL SETUSER default resetpass >pw";
	start_loading("SUBSCRIBE x\r\n");
	words_at_end = NULL;
	peer_expect(p, "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	other = peer_connect_unix(&q);
	WAIT_UNTIL(strncmp(peer_ask(other, "PING"), "-LOADING", 8) != 0);
	peer_expect_end(p);
}

static void the_server_can_be_stopped_while_it_loads(void)
{
	start_loading("");
	stop();
	start("no");
	ASK_HAS(p, "GET j", "\"waiting\"");
}

/* ---- trouble ---- */

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_FSIZE, &limit, NULL));
}

static void a_failing_disk_refuses_writes_and_allows_reads(void)
{
	struct peer *reader;

	start("always");
	put("j1");
	ASK(p, "QLESS put 1000 w later due klass {} 1", "$3\r\ndue\r\n");
	reader = peer_connect(&q);
	set_file_limit(64);
	/* A client whose write meets the failure loses its connection instead of getting a wrong
	 * reply. */
	peer_send_words(p, "PUT w q j2 klass {} 0");
	peer_expect_end(p);
	ASK_HAS(reader, "GET j1", "\"waiting\"");
	ASK_HAS(reader, "PEEK q 5", "j1");
	/* Not even jobs that are due move: a crash would undo that. */
	ASK_HAS(reader, "QUEUES later", "\"scheduled\":1");
	ASK_HAS(reader, "QLESS queues 2000 later", "\"waiting\":0");
	ASK(reader, "PEEK later 5", "$2\r\n[]\r\n");
	ASK(reader, "JOBS scheduled later", "*1\r\n$3\r\ndue\r\n");
	ASK_HAS(reader, "GET due", "\"state\":\"scheduled\"");
	ASK_HAS(reader, "TAG get a", "\"total\":0");
	ASK(reader, "TAG top", "$2\r\n[]\r\n");
	ASK_HAS(reader, "TRACK", "\"jobs\":");
	ASK_HAS(reader, "PUT w q j3 klass {} 0",
		"-MISCONF Errors writing to the log: File too large");
	ASK_HAS(reader, "POP q w 1", "-MISCONF ");
	ASK_HAS(reader, "ACL SETUSER joe", "-MISCONF ");
	ASK_HAS(reader, "ACL DELUSER joe", "-MISCONF ");
	ASK(reader, "MULTI", "+OK\r\n");
	ASK(reader, "PUT w q j5 klass {} 0", "+QUEUED\r\n");
	ASK_HAS(reader, "EXEC", "-EXECABORT Transaction discarded because of: MISCONF ");
	ASK_HAS(reader, "INFO persistence", "log_state:failed");
	ASK_HAS(reader, "INFO persistence", "aof_last_write_status:err");
	set_file_limit(RLIM_INFINITY);
	WAIT_UNTIL(strstr(peer_ask(reader, "INFO persistence"), "log_state:ok") != NULL);
	ASK_HAS(reader, "QUEUES later", "\"waiting\":1");
	p = reader;
	put("j4");
	kill_it();
	start("always");
	ASK_HAS(p, "GET j4", "\"waiting\"");
	ASK_HAS(p, "GET due", "\"state\":\"waiting\"");
	ASK(p, "GET j3", "$-1\r\n");
}

static void a_removed_log_file_is_noticed(void)
{
	struct peer *reader;

	start("always");
	put("j1");
	reader = peer_connect(&q);
	unlink(tempdir_file(&dir, "log-00000001"));
	/* The sync of a removed file succeeds, but the file ends with the process. */
	peer_send_words(p, "PUT w q j2 klass {} 0");
	peer_expect_end(p);
	ASK_HAS(reader, "GET j1", "\"waiting\"");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "the log cannot be written: No such file or "
					       "directory (syncing log-00000001)"));
	WAIT_UNTIL(strstr(peer_ask(reader, "INFO persistence"), "log_state:ok") != NULL);
	p = reader;
	put("j3");
	kill_it();
	start("always");
	ASK_HAS(p, "GET j1", "\"waiting\"");
	ASK_HAS(p, "GET j3", "\"waiting\"");
}

static void a_removed_directory_is_noticed(void)
{
	struct peer *reader;

	start("everysec");
	put("j1");
	unlink(tempdir_file(&dir, "log-00000001"));
	unlink(tempdir_file(&dir, "manifest"));
	unlink(tempdir_file(&dir, "lock"));
	TEST_ASSERT_EQUAL_INT(0, rmdir(dir.path));
	/* This depends on when the next sync begins. */
	peer_send_words(p, "PUT w q j2 klass {} 0");
	WAIT_UNTIL(qlessd_has_logged(&q, "the log cannot be written: No such file"));
	reader = peer_connect(&q);
	ASK_HAS(reader, "INFO persistence", "log_state:failed");
	ASK_HAS(reader, "PUT w q j3 klass {} 0", "-MISCONF ");
	ASK_HAS(reader, "GET j1", "\"waiting\"");
	stop();
	tempdir_init(&dir);
}

static void an_unwritable_directory_is_an_error_at_the_start(void)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", "/proc", "--port", "0",
					    "--unixsocket", tempdir_file(&dir, "socket")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "cannot use the directory ."), output);
	free(output);
}

/* Begin to write a snapshot of 0.8 MB. */
static void begin_rewrite(const char *rate)
{
	static char words[8000];

	start("everysec");
	snprintf(words, sizeof words, "CONFIG SET rewrite-rate-limit %s", rate);
	ASK(p, words, "+OK\r\n");
	for (int i = 0; i < 120; i++) {
		int len = snprintf(words, sizeof words, "PUT w q j%d klass \"", i);

		memset(words + len, 'x', 7000);
		snprintf(words + len + 7000, sizeof words - (size_t)len - 7000, "\" 0");
		peer_send_words(p, words);
		peer_skip_replies(p, 1);
	}
	ASK_HAS(p, "BGREWRITEAOF", "+Background");
}

static void only_one_rewrite_runs_and_info_reports_it(void)
{
	begin_rewrite("20kb");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_bytes:") > 20000);
	ASK_HAS(p, "INFO persistence", "aof_rewrite_in_progress:1");
	ASK_HAS(p, "BGREWRITEAOF", "-ERR Background append only file rewriting already");
}

static void a_rewrite_obeys_its_rate_and_is_counted(void)
{
	int64_t start_ms = wait_now_ms();

	begin_rewrite("1mb");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") == 1);
	/* At 1 MB a second. */
	TEST_ASSERT_TRUE(wait_now_ms() - start_ms >= 750);
	TEST_ASSERT_TRUE(peer_ask_number(p, "INFO persistence", "aof_base_size:") > 800000);
}

static void a_failed_rewrite_is_retried_after_a_delay(void)
{
	static char words[8000];

	start("everysec");
	/* The rewriter process has limits of its own. */
	ASK(p, "CONFIG SET auto-rewrite-percentage 0 fork-max-memory 1gb", "+OK\r\n");
	memset(words, 'x', 7300);
	for (int i = 0; i < 40; i++) {
		int len = snprintf(words, sizeof words, "PUT w q j%d klass \"", i);

		words[len] = 'x';
		snprintf(words + 7000, 100, "\" 0");
		peer_send_words(p, words);
		peer_skip_replies(p, 1);
	}
	/* Room for log segments of 64 KB, but not for the snapshot. */
	set_file_limit(150000);
	ASK(p, "CONFIG SET auto-rewrite-percentage 1 auto-rewrite-min-size 1000", "+OK\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_failures:") == 1);
	ASK_HAS(p, "INFO persistence", "log_state:ok");
	ASK_HAS(p, "INFO persistence", "aof_last_bgrewrite_status:err");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q,
					   "cannot write a new snapshot: File too large. The next "
					   "automatic rewrite waits 60 "
					   "seconds"));
	put("k1");
	/* BGREWRITEAOF still works. */
	set_file_limit(RLIM_INFINITY);
	rewrite();
	ASK_HAS(p, "INFO persistence", "aof_last_bgrewrite_status:ok");
}

static void two_servers_cannot_share_a_directory(void)
{
	char *output;

	start("everysec");
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", dir.path, "--port", "0",
					    "--unixsocket", tempdir_file(&dir, "other")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "another process uses the directory"), output);
	free(output);
}

static void removing_the_lock_file_does_not_let_a_second_server_start(void)
{
	char *output;

	start("everysec");
	put("j1");
	TEST_ASSERT_EQUAL_INT(0, unlink(tempdir_file(&dir, "lock")));
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", dir.path, "--port", "0",
					    "--unixsocket", tempdir_file(&dir, "other")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "another process uses the directory"), output);
	free(output);
	/* The refused server has made another lock file, which does no harm. */
	put("j2");
	stop();
	start("everysec");
	ASK_HAS(p, "GET j2", "\"waiting\"");
}

static bool try_to_rewrite(void)
{
	peer_ask(p, "BGREWRITEAOF");
	return peer_ask_number(p, "INFO persistence", "aof_rewrites:") > 0;
}

/* Names of files that the server will create lead to files that do not exist. */
static void new_files_of_the_log_are_never_written_through_links(void)
{
	static const char *const names[] = { "manifest.new", "log-00000002", "base-00000004" };
	struct stat st;

	start("everysec");
	put("j1");
	for (int i = 0; i < 3; i++) {
		char target[64];

		snprintf(target, sizeof target, "victim-of-%s", names[i]);
		TEST_ASSERT_EQUAL_INT(0, symlink(target, tempdir_file(&dir, names[i])));
	}
	WAIT_UNTIL(try_to_rewrite());
	put("j2");
	stop();
	for (int i = 0; i < 3; i++) {
		char target[64];

		snprintf(target, sizeof target, "victim-of-%s", names[i]);
		TEST_ASSERT_EQUAL_INT(-1, lstat(tempdir_file(&dir, target), &st));
	}
	TEST_ASSERT_EQUAL_INT(0, lstat(tempdir_file(&dir, "manifest"), &st));
	TEST_ASSERT_TRUE(S_ISREG(st.st_mode));
	start("everysec");
	ASK_HAS(p, "GET j2", "\"waiting\"");
}

static void damage_is_reported_and_files_stay_unchanged(void)
{
	char *output, where[256];
	FILE *file;

	start("everysec");
	for (int i = 0; i < 50; i++)
		put("j1");
	stop();
	file = fopen(tempdir_file(&dir, "log-00000001"), "r+");
	fseek(file, 500, SEEK_SET);
	fputc('!', file);
	fclose(file);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", dir.path, "--port", "0",
					    "--unixsocket", tempdir_file(&dir, "other")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "log-00000001 is damaged at offset"), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "qlessd-check"), output);
	/* The directory of the server. */
	snprintf(where, sizeof where, " dir=%s\n", dir.path);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, where), output);
	free(output);
}

static void qlessd_check_reports_dumps_and_cuts(void)
{
	FILE *file;

	start("everysec");
	put("j1");
	put("j2");
	ASK_HAS(p, "POP q w1 1", "\"j1\"");
	stop();
	CHECK_HAS(0, "", "database 0: 2 jobs, 1 waiting, 1 running");
	CHECK_HAS(0, "--dump",
		  " db0 put worker=\"w\" queue=\"q\" jid=\"j1\" klass=\"klass\" data=\"{}\"\n");
	CHECK_HAS(0, "", ", operations: 3, last sequence: ");
	CHECK_HAS(0, "", "\ntime: 20");
	CHECK_HAS(0, "--dump --jid j2", "\"j2\"");
	CHECK_LACKS("--dump --jid j2", "\"j1\"");
	CHECK_LACKS("--dump --jid j2", "durable up to");
	CHECK_HAS(0, "--dump --queue q", "db0 pop queue=\"q\" worker=\"w1\" count=1\n");
	CHECK_LACKS("--dump --queue other", "db0");
	CHECK_HAS(0, "--dump --since 1000000000 --until 100000000000", "db0 pop");
	CHECK_LACKS("--dump --since 100000000000", "db0");
	CHECK_LACKS("--dump --until 1000000000", "db0");
	file = fopen(tempdir_file(&dir, "log-00000001"), "r+");
	fseek(file, 200, SEEK_SET);
	fputc('!', file);
	fclose(file);
	CHECK_HAS(1, "", "the log is NOT whole");
	CHECK_HAS(1, "--fix", "[y/N]");
	CHECK_HAS(0, "--fix --yes", "log-00000001.cut-");
	CHECK_HAS(0, "", "the log is whole");
	start("everysec");
	ASK_HAS(p, "GET j1", "\"waiting\"");
	CHECK_HAS(2, "--nonsense", "Usage");
}

static void copy_file(const char *from, const char *to)
{
	char command[700], path[256];

	snprintf(path, sizeof path, "%s", tempdir_file(&dir, from));
	snprintf(command, sizeof command, "cp '%s' '%s'", path, tempdir_file(&dir, to));
	TEST_ASSERT_EQUAL_INT(0, system(command));
}

static void expect_no_start(const char *error)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", dir.path, "--port", "0",
					    "--unixsocket", tempdir_file(&dir, "other")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, error), output);
	free(output);
}

static void a_manifest_from_before_the_last_segment_stops_the_start_and_can_be_made_again(void)
{
	struct stat st;

	start("everysec");
	copy_file("manifest", "old");
	while (stat(tempdir_file(&dir, "log-00000002"), &st) < 0)
		put_often(1);
	put("last");
	stop();
	copy_file("old", "manifest");
	for (int i = 0; i < 2; i++) {
		expect_no_start("it does not name log-00000002, which has records from sequence ");
		TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "log-00000002"), &st));
	}
	CHECK_HAS(1, "", "is an old one");
	CHECK_HAS(1, "--fix", "Make a new manifest? It names ");
	CHECK_HAS(0, "--fix --yes", "manifest.cut-0");
	CHECK_HAS(0, "", "the log is whole");
	start("everysec");
	ASK_HAS(p, "GET last", "\"waiting\"");
}

static void a_damaged_or_lost_manifest_can_be_made_again(void)
{
	FILE *file;

	start("everysec");
	put("j1");
	rewrite();
	put("j2");
	stop();
	file = fopen(tempdir_file(&dir, "manifest"), "r+");
	fseek(file, 30, SEEK_SET);
	fputc('!', file);
	fclose(file);
	expect_no_start("To make a new one from the other files run: qlessd-check --fix ");
	CHECK_HAS(0, "--fix --yes", "the manifest was made again; the old one is ");
	CHECK_HAS(0, "", "the log is whole");
	TEST_ASSERT_EQUAL_INT(0, unlink(tempdir_file(&dir, "manifest")));
	expect_no_start("has log files but no manifest");
	CHECK_HAS(1, "", "has log files but no manifest");
	CHECK_HAS(0, "--fix --yes", "the manifest was made again\n");
	start("everysec");
	ASK_HAS(p, "GET j1", "\"waiting\"");
	ASK_HAS(p, "GET j2", "\"waiting\"");
}

/* The daemon must be able to read files that root repaired. */
static void qlessd_check_gives_files_to_the_owner_of_the_directory(void)
{
	uid_t owner = geteuid() == 0 ? 54321 : geteuid();
	struct stat st;

	start("everysec");
	put("j1");
	stop();
	TEST_ASSERT_EQUAL_INT(0, chown(dir.path, owner, (gid_t)-1));
	TEST_ASSERT_EQUAL_INT(0, chown(tempdir_file(&dir, "log-00000001"), owner, (gid_t)-1));
	TEST_ASSERT_EQUAL_INT(0, chown(tempdir_file(&dir, "manifest"), owner, (gid_t)-1));
	TEST_ASSERT_EQUAL_INT(0, chown(tempdir_file(&dir, "lock"), owner, (gid_t)-1));
	TEST_ASSERT_EQUAL_INT(0, truncate(tempdir_file(&dir, "log-00000001"), 150));
	CHECK_HAS(0, "--fix --yes", "log-00000001.cut-");
	TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "manifest"), &st));
	TEST_ASSERT_EQUAL_UINT(owner, st.st_uid);
}

/* A file of tests/fixtures, with a NUL after its end. */
static char *read_fixture(const char *log, const char *name, size_t *ret_len)
{
	char path[4096], *bytes;
	FILE *file;
	long len;

	snprintf(path, sizeof path, "%s/%s/%s", variable_get("FIXTURES"), log, name);
	file = fopen(path, "r");
	TEST_ASSERT_NOT_NULL_MESSAGE(file, path);
	fseek(file, 0, SEEK_END);
	len = ftell(file);
	rewind(file);
	bytes = calloc(1, (size_t)len + 1);
	TEST_ASSERT_EQUAL_size_t((size_t)len, fread(bytes, 1, (size_t)len, file));
	fclose(file);
	*ret_len = (size_t)len;
	return bytes;
}

static void copy_fixture(const char *log, const char *name)
{
	size_t len;
	char *bytes = read_fixture(log, name, &len);

	tempdir_write(&dir, name, str_make(bytes, len));
	free(bytes);
}

/* Spell a reply as state.txt does. */
static void escape(const char *bytes, size_t len, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte == '\r' || byte == '\n')
			buf_append_str(out, byte == '\r' ? STR("\\r") : STR("\\n"));
		else if (byte == '\\')
			buf_append_str(out, STR("\\\\"));
		else if (byte >= ' ' && byte < 0x7f)
			buf_append_char(out, (char)byte);
		else
			buf_printf(out, "\\x%02x", byte);
	}
}

/* Send each command of state.txt, and compare its reply with the line after it. */
static void check_state(const char *log)
{
	struct buf reply = BUF_INIT(BUF_NO_MAX);
	size_t len;
	char *text = read_fixture(log, "state.txt", &len), *rest = text;

	while (*rest != '\0') {
		char *end = strchr(rest, '\n') + 1;
		const char *command = rest, *expected;

		peer_send(p, command, (size_t)(end - command));
		end[-1] = '\0';
		expected = strsep(&end, "\n");
		rest = end;
		peer_reply(p);
		escape(p->reply, p->reply_len, &reply);
		TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, buf_cstr(&reply), command);
	}
	buf_done(&reply);
	free(text);
}

/* An old log loads to the state that its program had. So does the old log with new records after
 * it, and the snapshot made of both. */
static void check_old_log(const char *log)
{
	CHECK_HAS(0, "", "the log is whole");
	start("always");
	check_state(log);
	stop();
	start("always");
	check_state(log);
	rewrite();
	stop();
	start("always");
	check_state(log);
}

/* A command hands out these jobs. */
static void check_jobs(const char *words, const char *expected)
{
	struct buf jids = BUF_INIT(BUF_NO_MAX);

	for (const char *at = peer_ask(p, words); (at = strstr(at, "\"jid\":\"")) != NULL;) {
		at += strlen("\"jid\":\"");
		buf_append(&jids, at, strcspn(at, "\""));
		buf_append_char(&jids, ' ');
	}
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&jids));
	buf_done(&jids);
}

static void a_log_of_version_2_loads_to_the_same_state(void)
{
	copy_fixture("log-version-2", "manifest");
	copy_fixture("log-version-2", "base-00000003");
	copy_fixture("log-version-2", "log-00000002");
	check_old_log("log-version-2");
}

static void a_log_of_version_3_loads_to_the_same_state(void)
{
	copy_fixture("log-version-3", "manifest");
	copy_fixture("log-version-3", "base-00000003");
	copy_fixture("log-version-3", "log-00000002");
	copy_fixture("log-version-3", "log-00000004");
	check_old_log("log-version-3");
}

static void a_log_of_version_4_loads_to_the_same_state(void)
{
	copy_fixture("log-version-4", "manifest");
	copy_fixture("log-version-4", "base-00000003");
	copy_fixture("log-version-4", "log-00000002");
	check_old_log("log-version-4");
}

/* The hand-outs depend on all that is known about limits: a slot of `db` is free, the tokens of
 * `domain:a` are used up, and tenant `a` has three turns for one of the others. */
static void a_log_with_limits_loads_to_the_same_state(void)
{
	copy_fixture("log-version-4-limits", "manifest");
	copy_fixture("log-version-4-limits", "base-00000003");
	copy_fixture("log-version-4-limits", "log-00000002");
	check_old_log("log-version-4-limits");
	check_jobs("POP fair w9 7", "a1 a2 b1 c1 b2 c2 ");
	check_jobs("POP q w9 9", "db0 db2 dom3 dom2 ");
	check_jobs("POP held w9 9", "");
	check_jobs("POP full w9 9", "");
}

static void a_log_of_an_older_version_continues_in_a_new_file(void)
{
	const size_t version_at = 8;
	char *old, *now;
	size_t len;

	copy_fixture("log-version-3", "manifest");
	copy_fixture("log-version-3", "base-00000003");
	copy_fixture("log-version-3", "log-00000002");
	copy_fixture("log-version-3", "log-00000004");
	start("always");
	ASK(p, "CONFIG SET max-clock-skew 0", "+OK\r\n");
	ASK(p, "QLESS track 1800000000 track d0", "$1\r\n1\r\n");
	stop();
	CHECK_HAS(0, "--dump --jid hb", " db0 heartbeat \"hb\" \"w1\" \"=\"\n");
	CHECK_HAS(0, "--dump --jid d0", " db0 track jid=\"d0\"\n");
	CHECK_HAS(0, "--dump --jid wj", " db0 put \"w\" \"wq\" \"wj\" \"k\" \"{}\" \"0\"\n");
	CHECK_HAS(0, "--dump --jid joe", " db0 @user \"joe\" ");
	CHECK_LACKS("--dump --jid joe", "5e8848"); /* the SHA-256 of "password" begins with this */
	CHECK_HAS(0, "", "log: 3 segments");
	old = read_fixture("log-version-3", "log-00000004", &len);
	now = textfile_read(tempdir_file(&dir, "log-00000004"));
	TEST_ASSERT_EQUAL_MEMORY(old, now, len);
	TEST_ASSERT_EQUAL_INT(3, old[version_at]);
	free(now);
	now = textfile_read(tempdir_file(&dir, "log-00000005"));
	TEST_ASSERT_EQUAL_INT(4, now[version_at]);
	free(old);
	free(now);
	start("always");
	ASK_HAS(p, "GET d0", "\"tracked\":true");
}

static void recover_to_restores_an_earlier_state(void)
{
	struct tempdir fresh;
	char sequence[32];

	start("always");
	put("j1");
	snprintf(sequence, sizeof sequence, "%lld",
		 (long long)peer_ask_number(p, "INFO persistence", "log_last_sequence:"));
	put("j2");
	stop();
	tempdir_init(&fresh);
	QLESSD_START(&q, "--dir", fresh.path, "--recover-from", dir.path, "--recover-to", sequence);
	p = peer_connect(&q);
	ASK_HAS(p, "GET j1", "\"waiting\"");
	ASK(p, "GET j2", "$-1\r\n");
	put("j3");
	stop();
	QLESSD_START(&q, "--dir", fresh.path);
	p = peer_connect(&q);
	ASK_HAS(p, "GET j3", "\"waiting\"");
	stop();
	tempdir_done(&fresh);
	start("always");
	ASK_HAS(p, "GET j2", "\"waiting\"");
}

static void kept_snapshots_allow_recovery_of_earlier_states(void)
{
	struct tempdir fresh;
	char sequence[32], *output;

	QLESSD_START(&q, "--dir", dir.path, "--log-keep-bases", "1");
	p = peer_connect(&q);
	put("j0");
	put("another");
	rewrite();
	put("j1");
	snprintf(sequence, sizeof sequence, "%lld",
		 (long long)peer_ask_number(p, "INFO persistence", "log_last_sequence:"));
	put("j2");
	rewrite();
	put("j3");
	stop();
	tempdir_init(&fresh);
	QLESSD_START(&q, "--dir", fresh.path, "--recover-from", dir.path, "--recover-to", sequence);
	p = peer_connect(&q);
	ASK_HAS(p, "GET j1", "\"waiting\"");
	ASK(p, "GET j2", "$-1\r\n");
	stop();
	tempdir_done(&fresh);
	tempdir_init(&fresh);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", fresh.path, "--port", "0",
					    "--unixsocket", tempdir_file(&fresh, "socket"),
					    "--recover-from", dir.path, "--recover-to", "1"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "the oldest state that can be recovered from"),
				     output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "log-keep-bases"), output);
	free(output);
	tempdir_done(&fresh);
}

static void shutdown_save_writes_a_snapshot(void)
{
	start("everysec");
	put("j1");
	peer_send_words(p, "SHUTDOWN SAVE");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	stop();
	TEST_ASSERT_NOT_NULL(strstr(tempdir_read(&dir, "manifest"), "\nbase base-"));
	start("everysec");
	ASK_HAS(p, "GET j1", "\"waiting\"");
}

static void shutdown_nosave_loses_nothing(void)
{
	start("everysec");
	put("j1");
	peer_send_words(p, "SHUTDOWN NOSAVE");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	stop();
	TEST_ASSERT_NULL(strstr(tempdir_read(&dir, "manifest"), "\nbase base-"));
	CHECK_HAS(0, "", "the log is whole");
	start("everysec");
	ASK_HAS(p, "GET j1", "\"waiting\"");
}

static void shutdown_save_on_a_full_disk_loses_nothing(void)
{
	start("everysec");
	put("j1");
	/* Not even room for the header and the end of the log. */
	set_file_limit(1);
	peer_send_words(p, "SHUTDOWN SAVE");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	stop();
	start("everysec");
	ASK_HAS(p, "GET j1", "\"waiting\"");
}

static void a_transaction_that_only_reads_is_not_recorded(void)
{
	int64_t last;

	start("always");
	put("j1");
	last = peer_ask_number(p, "INFO persistence", "log_last_sequence:");
	for (int i = 0; i < 5; i++) {
		ASK(p, "MULTI", "+OK\r\n");
		ASK(p, "GET j1", "+QUEUED\r\n");
		ASK_HAS(p, "EXEC", "*1\r\n");
	}
	TEST_ASSERT_EQUAL_INT64(last, peer_ask_number(p, "INFO persistence", "log_last_sequence:"));
}

static void the_log_is_rewritten_automatically(void)
{
	char words[200];

	start("no");
	ASK(p, "CONFIG SET auto-rewrite-min-size 10000", "+OK\r\n");
	for (int i = 0; i < 300; i++) {
		snprintf(words, sizeof words, "PUT w q j klass {} 0");
		ASK(p, words, "$1\r\nj\r\n");
	}
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") > 0);
}

static void without_a_log_nothing_is_written(void)
{
	QLESSD_START(&q, "--dir", dir.path, "--appendonly", "no");
	p = peer_connect(&q);
	put("j1");
	ASK_HAS(p, "BGREWRITEAOF", "-ERR");
	stop();
	TEST_ASSERT_EQUAL_INT(0, tempdir_count(&dir));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(jobs_survive_a_restart);
	RUN(info_reports_the_sequence_number_of_earlier_commands);
	RUN(all_databases_survive_a_restart);
	RUN(the_log_is_at_most_half_larger_than_its_commands);
	RUN(kills_lose_no_acknowledged_write_with_always);
	RUN(kills_lose_no_acknowledged_write_with_everysec);
	RUN(users_set_at_run_time_survive_a_restart);
	RUN(users_set_at_run_time_take_precedence_over_the_configuration);
	RUN(config_rewrite_gives_users_back_to_the_configuration);
	RUN(a_user_deleted_at_run_time_may_be_configured_later);
	RUN(config_set_requirepass_survives_if_default_was_set_at_run_time);
	RUN(setting_a_user_to_the_same_is_not_recorded);
	RUN(clients_get_an_error_while_the_log_is_loaded);
	RUN(a_node_that_loads_is_no_leader);
	RUN(sessions_begun_during_loading_get_the_rights_in_the_log);
	RUN(subscribers_that_came_during_loading_are_checked_too);
	RUN(the_server_can_be_stopped_while_it_loads);
	RUN(a_failing_disk_refuses_writes_and_allows_reads);
	RUN(a_removed_log_file_is_noticed);
	RUN(a_removed_directory_is_noticed);
	RUN(an_unwritable_directory_is_an_error_at_the_start);
	RUN(only_one_rewrite_runs_and_info_reports_it);
	RUN(a_rewrite_obeys_its_rate_and_is_counted);
	RUN(a_failed_rewrite_is_retried_after_a_delay);
	RUN(two_servers_cannot_share_a_directory);
	RUN(removing_the_lock_file_does_not_let_a_second_server_start);
	RUN(new_files_of_the_log_are_never_written_through_links);
	RUN(damage_is_reported_and_files_stay_unchanged);
	RUN(qlessd_check_reports_dumps_and_cuts);
	RUN(a_manifest_from_before_the_last_segment_stops_the_start_and_can_be_made_again);
	RUN(a_damaged_or_lost_manifest_can_be_made_again);
	RUN(qlessd_check_gives_files_to_the_owner_of_the_directory);
	RUN(a_log_of_version_2_loads_to_the_same_state);
	RUN(a_log_of_version_3_loads_to_the_same_state);
	RUN(a_log_of_version_4_loads_to_the_same_state);
	RUN(a_log_with_limits_loads_to_the_same_state);
	RUN(a_log_of_an_older_version_continues_in_a_new_file);
	RUN(recover_to_restores_an_earlier_state);
	RUN(kept_snapshots_allow_recovery_of_earlier_states);
	RUN(shutdown_save_writes_a_snapshot);
	RUN(shutdown_nosave_loses_nothing);
	RUN(shutdown_save_on_a_full_disk_loses_nothing);
	RUN(a_transaction_that_only_reads_is_not_recorded);
	RUN(the_log_is_rewritten_automatically);
	RUN(without_a_log_nothing_is_written);
	return UNIT_RESULT();
}
