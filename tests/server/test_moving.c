/*
 * qlessd-import and qlessd-export between a real qlessd and a real Redis, which the test starts.
 */
#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "certs.h"
#include "peer.h"
#include "qlessd.h"
#include "unit.h"
#include "wait.h"

#define OUTPUT_MAX  ((size_t)64 * 1024)
#define COMMAND_MAX 1000

static struct tempdir redis_dir, target;
static pid_t redis_pid;
static int redis_port;
static redisContext *redis;
static struct qlessd q;
static char output[OUTPUT_MAX];

static bool redis_answers(void)
{
	redis = redisConnect("127.0.0.1", redis_port);
	if (redis != NULL && redis->err == 0)
		return true;
	redisFree(redis);
	redis = NULL;
	return false;
}

void setUp(void)
{
	char port[16];

	tempdir_init(&redis_dir);
	tempdir_init(&target);
	redis_port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", redis_port);
	redis_pid = fork();
	if (redis_pid == 0) {
		execlp("redis-server", "redis-server", "--port", port, "--save", "", "--dir",
		       redis_dir.path, "--bind", "127.0.0.1", "--logfile", "log",
		       "--enable-debug-command", "yes", (char *)NULL);
		_exit(127);
	}
	WAIT_UNTIL(redis_answers());
}

void tearDown(void)
{
	redisFree(redis);
	kill(redis_pid, SIGKILL);
	waitpid(redis_pid, NULL, 0);
	qlessd_stop(&q);
	tempdir_done(&redis_dir);
	tempdir_done(&target);
}

/* Run "import" or "export" with options. `output` is its output. Returns its exit status. */
__attribute__((format(printf, 2, 3))) static int run(const char *program, const char *format, ...)
{
	char arguments[COMMAND_MAX / 2], command[COMMAND_MAX];
	size_t len = 0;
	va_list args;
	FILE *pipe;
	int status;

	va_start(args, format);
	vsnprintf(arguments, sizeof arguments, format, args);
	va_end(args);
	snprintf(command, sizeof command, "'%s-%s' %s </dev/null 2>&1", getenv("QLESSD"), program,
		 arguments);
	pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the words are ours */
	TEST_ASSERT_NOT_NULL(pipe);
	while (len < OUTPUT_MAX - 1 && !feof(pipe))
		len += fread(output + len, 1, OUTPUT_MAX - 1 - len, pipe);
	output[len] = '\0';
	status = pclose(pipe);
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define ASSERT_RUN(expected, ...)                                         \
	do {                                                              \
		int status_ = run(__VA_ARGS__);                           \
		TEST_ASSERT_EQUAL_INT_MESSAGE(expected, status_, output); \
	} while (0)

#define ASSERT_SAID(text) TEST_ASSERT_TRUE_MESSAGE(strstr(output, text) != NULL, output)

/* Run a command that must not fail. Returns the reply as text or number, valid until the next
 * call. */
static const char *ask(redisContext *c, const char *command)
{
	static char text[256];
	redisReply *reply = redisCommand(c, command);

	TEST_ASSERT_NOT_NULL(reply);
	TEST_ASSERT_TRUE_MESSAGE(reply->type != REDIS_REPLY_ERROR, reply->str);
	if (reply->type == REDIS_REPLY_INTEGER)
		snprintf(text, sizeof text, "%lld", reply->integer);
	else
		snprintf(text, sizeof text, "%s", reply->str != NULL ? reply->str : "");
	freeReplyObject(reply);
	return text;
}

static void fill_qlessd(void)
{
	static const char *const commands[] = {
		"QLESS config.set 1 heartbeat 100",
		"QLESS put 1 w q a k {} 0 tags [\"x\",\"y\"]",
		"QLESS put 2 w q b k {\"b\":1.50} 0 priority 3",
		"QLESS put 3 w q c k {} 500",
		"QLESS put 4 w q d k {} 0 depends [\"a\",\"b\"]",
		"QLESS put 5 w r e k {} 0 retries 0",
		"QLESS pop 6 q w1 1",
		"QLESS pop 6 r w2 1",
		"QLESS fail 7 e w2 group message",
		"QLESS put 8 w r f k {} 0",
		"QLESS pop 9 r w2 1",
		"QLESS complete 10 f w2 r {}",
		"QLESS recur 11 q rec k {} interval 60 5 tags [\"z\"]",
		"QLESS track 12 track a",
		"QLESS log 12 a hello {\"n\":[1,2]}",
		"QLESS pause 13 r",
	};
	redisContext *c = redisConnect("127.0.0.1", q.port);

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		ask(c, commands[i]);
	redisFree(c);
}

/* Make a job as the script would store it. */
static void put_job(void)
{
	redisReply *reply = redisCommand(
		redis,
		"HSET ql:j:a jid a klass k data {} priority 0 tags {} state waiting worker %s "
		"expires 0 queue q retries 5 remaining 5 time 10",
		"");

	freeReplyObject(reply);
	ask(redis, "RPUSH ql:j:a-history [10,\"put\",{\"q\":\"q\"}]");
	ask(redis, "ZADD ql:q:q-work -1e-9 a");
	ask(redis, "ZADD ql:queues 10 q");
}

static void export_and_import_keep_the_state(void)
{
	char digest[256];

	qlessd_start(&q);
	fill_qlessd();
	ASSERT_RUN(0, "export", "--from 127.0.0.1:%d --to 127.0.0.1:%d", q.port, redis_port);
	snprintf(digest, sizeof digest, "%s", ask(redis, "DEBUG DIGEST"));
	qlessd_stop(&q);

	ASSERT_RUN(0, "import", "--strict --from 127.0.0.1:%d --dir %s", redis_port, target.path);
	ASSERT_SAID("jobs: 6, 1 waiting, 1 running, 0 stalled, 1 scheduled, 1 depends, 1 failed, "
		    "1 complete");
	ask(redis, "FLUSHALL");
	QLESSD_START(&q, "--dir", target.path);
	ASSERT_RUN(0, "export", "--batch 3 --from %s --to 127.0.0.1:%d", q.socket_path, redis_port);
	TEST_ASSERT_EQUAL_STRING(digest, ask(redis, "DEBUG DIGEST"));
}

static void export_says_that_limits_are_not_moved(void)
{
	struct peer *p;

	qlessd_start(&q);
	p = peer_connect(&q);
	ASK(p, "PUT w q j k {} 0", "$1\r\nj\r\n");
	ASSERT_RUN(0, "export", "--dry-run --from 127.0.0.1:%d", q.port);
	TEST_ASSERT_NULL(strstr(output, "limits are not moved"));
	ASK(p, "LIMIT.SET db CONCURRENCY 1", "+OK\r\n");
	ASSERT_RUN(0, "export", "--dry-run --from 127.0.0.1:%d", q.port);
	ASSERT_SAID("limits are not moved");
	peer_close_all();
}

static void export_and_import_take_database_numbers(void)
{
	ask(redis, "SELECT 3");
	put_job();
	ASSERT_RUN(0, "import", "--from 127.0.0.1:%d --from-db 3 --to-db 5 --dir %s", redis_port,
		   target.path);
	ask(redis, "FLUSHALL");
	ask(redis, "SELECT 0");
	QLESSD_START(&q, "--dir", target.path);
	ASSERT_RUN(0, "export", "--from 127.0.0.1:%d --from-db 5 --to 127.0.0.1:%d", q.port,
		   redis_port);
	TEST_ASSERT_EQUAL_STRING("4", ask(redis, "DBSIZE"));
}

static void import_does_not_overwrite_a_log(void)
{
	put_job();
	ASSERT_RUN(0, "import", "--from 127.0.0.1:%d --dir %s", redis_port, target.path);
	ASSERT_RUN(1, "import", "--from 127.0.0.1:%d --dir %s", redis_port, target.path);
	ASSERT_SAID("already contains a log");
}

static void import_refuses_the_directory_of_a_running_qlessd(void)
{
	QLESSD_START(&q, "--dir", target.path);
	ASSERT_RUN(2, "import", "--from 127.0.0.1:%d --dir %s", redis_port, target.path);
}

static void export_does_not_overwrite_keys(void)
{
	qlessd_start(&q);
	fill_qlessd();
	ask(redis, "SET something else");
	ASSERT_RUN(1, "export", "--from 127.0.0.1:%d --to 127.0.0.1:%d", q.port, redis_port);
	TEST_ASSERT_EQUAL_STRING("1", ask(redis, "DBSIZE"));
}

static void export_warns_of_what_qless_lacks(void)
{
	static const char *const commands[] = {
		"PUT w q a k {} 0 unique one backoff fixed 1 60 priority 9",
		"PUT w q b k {} 0 unique two runtime 30",
		"PUT w q c k bytes 0 raw",
		"POP q w1 1",
		"JOB.START a w1",
		"JOB.PROGRESS a w1 50 half",
		"JOB.META b SET colour red",
		"RECUR q r k {} interval 1000 1000 backoff linear 1 60",
	};
	redisContext *c;

	qlessd_start(&q);
	fill_qlessd();
	ASSERT_RUN(0, "export", "--from 127.0.0.1:%d --dry-run", q.port);
	TEST_ASSERT_NULL(strstr(output, "warning"));
	c = redisConnect("127.0.0.1", q.port);
	ask(c, "FLUSHALL");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		ask(c, commands[i]);
	ASSERT_RUN(0, "export", "--batch 2 --from 127.0.0.1:%d --to 127.0.0.1:%d", q.port,
		   redis_port);
	ASSERT_SAID("warning: jobs have what qless lacks");
	ASSERT_SAID("\n  unique: 2; the keys are not moved\n");
	ASSERT_SAID("\n  backoff: 2; it is not moved\n");
	ASSERT_SAID("\n  runtime: 1;");
	ASSERT_SAID("\n  raw: 1; the data becomes JSON with the bytes in base64\n");
	ASSERT_SAID("\n  started: 1;");
	ASSERT_SAID("\n  progress: 1;");
	ASSERT_SAID("\n  note: 1;");
	ASSERT_SAID("\n  meta: 1;");
	TEST_ASSERT_NULL(strstr(output, "\n  result"));
	redisFree(c);
}

static void export_refuses_recurring_jobs_that_qless_lacks(void)
{
	redisContext *c;

	qlessd_start(&q);
	c = redisConnect("127.0.0.1", q.port);
	ask(c, "RECUR q nightly k {} cron @daily");
	ASSERT_RUN(1, "export", "--from 127.0.0.1:%d --to 127.0.0.1:%d", q.port, redis_port);
	ASSERT_SAID("1 recurring jobs have cron expressions");
	ASSERT_SAID("\"nightly\"");
	TEST_ASSERT_EQUAL_STRING("0", ask(redis, "DBSIZE"));
	ask(c, "RECUR.UPDATE nightly interval 86400");
	ASSERT_RUN(0, "export", "--from 127.0.0.1:%d --to 127.0.0.1:%d", q.port, redis_port);
	redisFree(c);
}

static void a_dry_run_writes_nothing(void)
{
	put_job();
	ASSERT_RUN(0, "import", "--from 127.0.0.1:%d --dry-run", redis_port);
	ASSERT_SAID("nothing was written");
	ASSERT_RUN(0, "export", "--from 127.0.0.1:%d --dry-run", redis_port);
	ASSERT_SAID("read: 4 keys");
}

static void findings_are_reported_and_refused_with_strict(void)
{
	put_job();
	ask(redis, "ZADD ql:q:q-work 0 gone");
	ask(redis, "SET ql:lock x");
	ASSERT_RUN(1, "import", "--strict --from 127.0.0.1:%d --dir %s", redis_port, target.path);
	ASSERT_SAID("lost-job: 1 x");
	ASSERT_SAID("foreign-key: 1 x");
	ASSERT_RUN(0, "import", "--from 127.0.0.1:%d --dir %s", redis_port, target.path);
}

static void long_lists_are_moved_completely(void)
{
	put_job();
	ask(redis, "EVAL for\ti=1,25000\tdo\tredis.call('zadd','ql:w:w:jobs',i,'j'..i)\tend 0");
	ask(redis,
	    "EVAL for\ti=1,25000\tdo\tredis.call('rpush','ql:j:a-history','[1,\"e'..i..'\"]')\t"
	    "end 0");
	ASSERT_RUN(0, "import", "--strict --from 127.0.0.1:%d --dir %s", redis_port, target.path);
	QLESSD_START(&q, "--dir", target.path);
	ask(redis, "FLUSHALL");
	ASSERT_RUN(0, "export", "--from 127.0.0.1:%d --to 127.0.0.1:%d", q.port, redis_port);
	TEST_ASSERT_EQUAL_STRING("25000", ask(redis, "ZCARD ql:w:w:jobs"));
	TEST_ASSERT_EQUAL_STRING("25001", ask(redis, "LLEN ql:j:a-history"));
}

static void a_password_may_come_from_the_environment(void)
{
	put_job();
	ask(redis, "CONFIG SET requirepass secret");
	ASSERT_RUN(2, "import", "--from 127.0.0.1:%d --dry-run", redis_port);
	ASSERT_SAID("NOAUTH");
	ASSERT_RUN(2, "import", "--from 127.0.0.1:%d --from-password wrong --dry-run", redis_port);
	ASSERT_RUN(0, "import",
		   "--from 127.0.0.1:%d --from-user default --from-password secret --dry-run",
		   redis_port);
	ASSERT_RUN(0, "import", "--from redis://:secret@127.0.0.1:%d/0 --dry-run", redis_port);
	setenv("QLESSD_FROM_PASSWORD", "secret", 1);
	ASSERT_RUN(0, "import", "--from 127.0.0.1:%d --dry-run", redis_port);
	unsetenv("QLESSD_FROM_PASSWORD");
}

static void a_uri_may_ask_for_tls(void)
{
	char port[16], cert[300], key[300];

	certs_make(&target);
	snprintf(port, sizeof port, "%d", qlessd_free_port());
	snprintf(cert, sizeof cert, "%s", tempdir_file(&target, "server.crt"));
	snprintf(key, sizeof key, "%s", tempdir_file(&target, "server.key"));
	QLESSD_START(&q, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
		     "--tls-auth-clients", "no");
	fill_qlessd();
	ASSERT_RUN(2, "export", "--from rediss://127.0.0.1:%s --dry-run", port);
	ASSERT_SAID("the certificate of the server is not valid");
	/* OpenSSL trusts this file as it does the certificates of the system. */
	setenv("SSL_CERT_FILE", tempdir_file(&target, "ca.crt"), 1);
	ASSERT_RUN(0, "export", "--from rediss://127.0.0.1:%s --to 127.0.0.1:%d", port, redis_port);
	unsetenv("SSL_CERT_FILE");
}

/* Answer a few requests as a Redis would, and close. */
static pid_t start_quitter(int *ret_port)
{
	static const char replies[] = ":4\r\n*2\r\n$1\r\n0\r\n*1\r\n$6\r\nql:j:a\r\n+ha";
	struct sockaddr_in address = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client;
	socklen_t len = sizeof address;
	char request[512];
	pid_t pid;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	TEST_ASSERT_EQUAL_INT(0, bind(listener, (struct sockaddr *)&address, len));
	TEST_ASSERT_EQUAL_INT(0, listen(listener, 1));
	getsockname(listener, (struct sockaddr *)&address, &len);
	*ret_port = ntohs(address.sin_port);
	pid = fork();
	if (pid != 0) {
		close(listener);
		return pid;
	}
	client = accept(listener, NULL, NULL);
	if (read(client, request, sizeof request) > 0 &&
	    write(client, replies, sizeof replies - 1) > 0)
		_exit(0);
	_exit(1);
}

static void a_lost_connection_leaves_the_directory_unchanged(void)
{
	int port;
	pid_t pid = start_quitter(&port);

	ASSERT_RUN(2, "import", "--from 127.0.0.1:%d --dir %s", port, target.path);
	waitpid(pid, NULL, 0);
	ASSERT_SAID("the connection failed");
	put_job();
	ASSERT_RUN(0, "import", "--from 127.0.0.1:%d --dir %s", redis_port, target.path);
}

static void wrong_arguments_are_explained(void)
{
	ASSERT_RUN(2, "import", "%s", "");
	ASSERT_SAID("Usage:");
	ASSERT_RUN(2, "import", "--dir %s --dry-run", target.path);
	ASSERT_RUN(2, "import", "--dry-run --from 127.0.0.1:99999");
	ASSERT_SAID("--from: '127.0.0.1:99999' is invalid");
	ASSERT_RUN(2, "import", "--dry-run --from-db -1");
	ASSERT_RUN(2, "import", "--dry-run --batch 0");
	ASSERT_RUN(2, "import", "--dry-run --nonsense");
	ASSERT_RUN(2, "import", "--from 127.0.0.1:%d --dir /nonexistent", redis_port);
	ASSERT_RUN(2, "import", "--from /nonexistent/socket --dry-run");
	ASSERT_RUN(2, "export", "%s", "");
	ASSERT_RUN(2, "export", "--dry-run --timeout never");
	ASSERT_RUN(0, "import", "--help");
	ASSERT_RUN(0, "export", "--version");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(export_and_import_keep_the_state);
	RUN(export_says_that_limits_are_not_moved);
	RUN(export_and_import_take_database_numbers);
	RUN(import_does_not_overwrite_a_log);
	RUN(import_refuses_the_directory_of_a_running_qlessd);
	RUN(export_does_not_overwrite_keys);
	RUN(export_warns_of_what_qless_lacks);
	RUN(export_refuses_recurring_jobs_that_qless_lacks);
	RUN(a_dry_run_writes_nothing);
	RUN(findings_are_reported_and_refused_with_strict);
	RUN(long_lists_are_moved_completely);
	RUN(a_password_may_come_from_the_environment);
	RUN(a_uri_may_ask_for_tls);
	RUN(a_lost_connection_leaves_the_directory_unchanged);
	RUN(wrong_arguments_are_explained);
	return UNIT_RESULT();
}
