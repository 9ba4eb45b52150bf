/*
 * The process: starting, signals, stopping.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

/* Number of attempts to do something in time. */
#define ATTEMPTS 5

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

static void start(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

static void assert_exit(int wanted, int status)
{
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(wanted, WEXITSTATUS(status));
}

static void version_help_and_check_config_print_and_exit(void)
{
	char *output, path[300];

	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "--version"));
	TEST_ASSERT_EQUAL_INT(0, strncmp(output, "qlessd ", 7));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "\nlog format 4, "), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "\nbuilt with "), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "OpenSSL 3."), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, ", yyjson 0."), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "-v"));
	TEST_ASSERT_EQUAL_INT(0, strncmp(output, "qlessd ", 7));
	free(output);
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "-h"));
	TEST_ASSERT_NOT_NULL(strstr(output, "Usage: qlessd"));
	free(output);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "-p", "70000"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "port: expected"), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--check-config", "-p", "70000"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "port: expected"), output);
	free(output);
	/* The value of a directive is no option. */
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "--requirepass", "-v", "--check-config"));
	free(output);
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "--help"));
	TEST_ASSERT_NOT_NULL(strstr(output, "Usage: qlessd"));
	free(output);
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "--check-config", "--timeout", "5"));
	TEST_ASSERT_NOT_NULL(strstr(output, "the configuration is valid"));
	free(output);
	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "qlessd.conf"));
	textfile_write(path, "# fine\ntimeout 5\n\nmaxclients many\n");
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, path, "--check-config"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "qlessd.conf:4: "), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "maxclients"), output);
	free(output);
	textfile_write(path, "timeout 5\nuser ann +nosuch\n");
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, path, "--port", "0", "--unixsocket",
					    tempdir_file(&dir, "s")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "ann"), output);
	free(output);
}

static void assert_check_finds(const char *text, const char *what)
{
	char path[300], *output;

	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "qlessd.conf"));
	textfile_write(path, text);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, path, "--check-config"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, what), output);
	free(output);
	/* A start fails for the same reason. */
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, path));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, what), output);
	free(output);
}

static void check_config_finds_what_would_stop_a_start(void)
{
	char *output, port[16];

	assert_check_finds("dir /nosuch\n", "cannot change to the directory /nosuch: ");
	assert_check_finds("run-as nosuchuser\n", "nosuchuser");
	assert_check_finds("user ann on +nosuch\n", "user ann: ");
	assert_check_finds("bind 192.0.2.1\n", "cannot listen on 192.0.2.1 port 7537: ");
	assert_check_finds("http-port 7539\nhttp-bind 192.0.2.1\n",
			   "cannot listen on 192.0.2.1 port 7539");
	assert_check_finds("bind -192.0.2.1\n", "nothing to listen on: no address");
	assert_check_finds("logfile /nosuch/log\n", "/nosuch/log");
	assert_check_finds("port 0\nunixsocket /nosuch/socket\n", "/nosuch/socket");
	assert_check_finds("pidfile /nosuch/pid\n", "/nosuch/pid");
	assert_check_finds("tls-port 7538\ntls-auth-clients no\ntls-cert-file /nosuch/crt\n"
			   "tls-key-file /nosuch/key\n",
			   "/nosuch/crt");
	/* The port of a running server is fine. */
	start();
	snprintf(port, sizeof port, "%d", q.port);
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "--check-config", "--port", port));
	free(output);
}

static void a_start_that_fails_says_so_last(void)
{
	char *output, *last;

	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", "/nosuch"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, " fatal cannot change to the directory"),
				     output);
	last = strstr(output, " fatal qlessd did not start\n");
	TEST_ASSERT_NOT_NULL_MESSAGE(last, output);
	TEST_ASSERT_EQUAL_STRING(" fatal qlessd did not start\n", last);
	free(output);
	textfile_write(tempdir_file(&dir, "manifest"), "nonsense\n");
	TEST_ASSERT_EQUAL_INT(
		1, QLESSD_RUN(&output, "--dir", dir.path, "--port", "0", "--unixsocket", "socket"));
	last = strstr(output, " fatal qlessd did not start\n");
	TEST_ASSERT_NOT_NULL_MESSAGE(last, output);
	TEST_ASSERT_EQUAL_STRING(" fatal qlessd did not start\n", last);
	free(output);
}

static void an_invalid_configuration_is_reported_with_its_line(void)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--nosuch", "1"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "nosuch"), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "/nosuch/qlessd.conf"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "/nosuch/qlessd.conf"), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--port", "0"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "nothing to listen on"), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", "/nosuch"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "/nosuch"), output);
	free(output);
}

static void a_stop_signal_ends_it_with_all_replies_delivered(int number)
{
	struct peer *idle, *slow;
	size_t len = (size_t)8 * 1024 * 1024;
	char *bytes = malloc(len);

	start();
	idle = peer_connect(&q);
	peer_ask(idle, "PING");
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	memset(bytes, 'x', len);
	peer_send_blindly(slow, "*2\r\n$4\r\nECHO\r\n$8388608\r\n", 24);
	peer_send_blindly(slow, bytes, len);
	peer_send_blindly(slow, "\r\nPING\r\n", 8);
	WAIT_UNTIL(strstr(peer_ask(p, "CLIENT LIST"), " cmd=ping ") != NULL);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "client_max_output_buffer:") > 0);
	kill(q.pid, number);
	peer_expect_end(idle);
	/* The client goes on sending, but nothing more runs. */
	peer_try_send(slow, bytes, 65536);
	free(bytes);
	peer_expect(slow, "$8388608\r\n");
	peer_skip(slow, len);
	peer_expect(slow, "\r\n+PONG\r\n");
	peer_expect_end(slow);
	peer_close(slow);
	assert_exit(0, qlessd_wait(&q));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, number == SIGINT ? "SIGINT" : "SIGTERM"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "qlessd stopped"));
	TEST_ASSERT_NOT_EQUAL(0, access(q.socket_path, F_OK));
}

static void sigterm_stops_after_all_replies(void)
{
	a_stop_signal_ends_it_with_all_replies_delivered(SIGTERM);
}

static void sigint_stops_after_all_replies(void)
{
	a_stop_signal_ends_it_with_all_replies_delivered(SIGINT);
}

/* Returns the milliseconds from the first of two signals to the end. */
static int64_t stop_twice_with_a_slow_reader(void)
{
	struct peer *slow;
	size_t len = (size_t)8 * 1024 * 1024;
	char *bytes = malloc(len);
	int64_t before, took_ms;

	start();
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	memset(bytes, 'x', len);
	peer_send_blindly(slow, "*2\r\n$4\r\nECHO\r\n$8388608\r\n", 24);
	peer_send_blindly(slow, bytes, len);
	peer_send_blindly(slow, "\r\n", 2);
	free(bytes);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "client_max_output_buffer:") > 0);
	before = wait_now_ms();
	kill(q.pid, SIGTERM);
	WAIT_UNTIL(qlessd_has_logged(&q, "SIGTERM received"));
	kill(q.pid, SIGTERM);
	assert_exit(0, qlessd_wait(&q));
	took_ms = wait_now_ms() - before;
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "SIGTERM received again"));
	peer_close_all();
	qlessd_stop(&q);
	return took_ms;
}

/* After one signal, a slow reader has five seconds. The machine may take as long for one attempt.
 */
static void a_second_sigterm_does_not_wait_for_slow_readers(void)
{
	int64_t took_ms = INT64_MAX;

	for (int i = 0; i < ATTEMPTS && took_ms > 4000; i++)
		took_ms = stop_twice_with_a_slow_reader();
	TEST_ASSERT_LESS_THAN_INT64(4000, took_ms);
}

static void shutdown_sends_no_reply(void)
{
	start();
	ASK(p, "SHUTDOWN ABORT", "-ERR No shutdown in progress.\r\n");
	ASK(p, "SHUTDOWN SAVE NOSAVE", "-ERR syntax error\r\n");
	ASK(p, "SHUTDOWN maybe", "-ERR syntax error\r\n");
	peer_send_text(p, "PING\r\nSHUTDOWN NOSAVE\r\nPING\r\n");
	peer_expect(p, "+PONG\r\n");
	peer_expect_end(p);
	assert_exit(0, qlessd_wait(&q));
}

static void a_broken_pipe_does_not_stop_the_server(void)
{
	start();
	for (int i = 0; i < 20; i++) {
		struct peer *gone = peer_connect(&q);

		for (int k = 0; k < 100; k++)
			peer_send_text(gone, "COMMAND\r\n");
		peer_reset(gone);
	}
	ASK(p, "PING", "+PONG\r\n");
}

static void sighup_reopens_the_log_file(void)
{
	char path[300], moved[300], *text;

	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "log"));
	snprintf(moved, sizeof moved, "%s", tempdir_file(&dir, "log.1"));
	QLESSD_START(&q, "--logfile", path);
	TEST_ASSERT_EQUAL_INT(0, rename(path, moved));
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(access(path, F_OK) == 0);
	qlessd_stop(&q);
	text = textfile_read(path);
	TEST_ASSERT_NOT_NULL(strstr(text, "SIGHUP"));
	TEST_ASSERT_NOT_NULL(strstr(text, "stopped"));
	free(text);
	text = textfile_read(moved);
	TEST_ASSERT_NOT_NULL(strstr(text, "ready to accept"));
	TEST_ASSERT_NULL(strstr(text, "stopped"));
	free(text);
}

static void sigusr1_logs_the_state(void)
{
	start();
	kill(q.pid, SIGUSR1);
	WAIT_UNTIL(qlessd_has_logged(&q, "connected_clients:1"));
	ASK(p, "PING", "+PONG\r\n");
}

static void a_port_in_use_is_an_error(void)
{
	char port[8], *output;

	start();
	snprintf(port, sizeof port, "%d", q.port);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--port", port, "--dir", dir.path));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "Address already in use"), output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, port), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--port", "0", "--unixsocket", q.socket_path));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "another server listens there"), output);
	free(output);
	ASK(peer_connect_unix(&q), "PING", "+PONG\r\n");
}

static void a_unix_socket_has_its_permissions_and_a_stale_one_is_replaced(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char file[300], *output;
	struct stat st;
	int fd;

	QLESSD_START(&q, "--unixsocketperm", "0640");
	TEST_ASSERT_EQUAL_INT(0, stat(q.socket_path, &st));
	TEST_ASSERT_EQUAL_INT(0640, st.st_mode & 0777);
	qlessd_stop(&q);
	snprintf(un.sun_path, sizeof un.sun_path, "%.90s", tempdir_file(&dir, "stale"));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	TEST_ASSERT_EQUAL_INT(0, bind(fd, (const void *)&un, sizeof un));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, stat(un.sun_path, &st));
	snprintf(q.socket_path, sizeof q.socket_path, "%.90s", un.sun_path);
	qlessd_start(&q);
	qlessd_stop(&q);
	TEST_ASSERT_NOT_EQUAL(0, access(un.sun_path, F_OK));
	snprintf(file, sizeof file, "%s", tempdir_file(&dir, "file"));
	textfile_write(file, "mine");
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--port", "0", "--unixsocket", file));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "not a socket"), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(0, access(file, F_OK));
}

static void a_daemon_is_ready_when_its_parent_ends(void)
{
	char pidfile[300], log[300], port[8], *text, *output;
	int number = qlessd_free_port(), status;
	pid_t pid;

	/* This process waits for the end of the daemon: not every container has an init that
	 * does. */
	TEST_ASSERT_EQUAL_INT(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	snprintf(pidfile, sizeof pidfile, "%s", tempdir_file(&dir, "pid"));
	snprintf(log, sizeof log, "%s", tempdir_file(&dir, "log"));
	snprintf(port, sizeof port, "%d", number);
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "--daemonize", "yes", "--pidfile", pidfile,
					    "--logfile", log, "--port", port, "--dir", dir.path));
	free(output);
	p = peer_connect_to("127.0.0.1", number);
	ASK(p, "PING", "+PONG\r\n");
	text = textfile_read(pidfile);
	pid = (pid_t)strtol(text, NULL, 10);
	free(text);
	TEST_ASSERT_EQUAL_INT64(pid, peer_ask_number(p, "INFO server", "process_id:"));
	/* The port is in use now. */
	TEST_ASSERT_EQUAL_INT(
		1, QLESSD_RUN(&output, "--daemonize", "yes", "--port", port, "--dir", dir.path));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "Address already in use"), output);
	free(output);
	/* The pid file is in use, too. */
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--pidfile", pidfile, "--port", "0",
					    "--unixsocket", tempdir_file(&dir, "s")));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, pidfile), output);
	free(output);
	peer_send_text(p, "SHUTDOWN\r\n");
	peer_expect_end(p);
	WAIT_UNTIL(access(pidfile, F_OK) != 0);
	WAIT_UNTIL(waitpid(pid, &status, WNOHANG) == pid);
	assert_exit(0, status);
}

static void a_crash_logs_a_backtrace(void)
{
	int status;

	QLESSD_START(&q, "--enable-debug-command", "yes");
	p = peer_connect(&q);
	peer_send_text(p, "DEBUG SEGFAULT\r\n");
	status = qlessd_wait(&q);
	TEST_ASSERT_TRUE(WIFSIGNALED(status));
	TEST_ASSERT_EQUAL_INT(SIGSEGV, WTERMSIG(status));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "SIGSEGV"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "server_run+"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "End of the crash report"));
	/* The killed server left its socket, and the next one replaces it. */
	TEST_ASSERT_EQUAL_INT(0, access(q.socket_path, F_OK));
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, (const void *)&in6, sizeof in6) == 0;

	close(fd);
	return has;
}

static void ipv6_works(void)
{
	char address[32];

	QLESSD_START(&q, "--bind", "::1", "--enable-debug-command", "local");
	p = peer_connect_to("::1", q.port);
	snprintf(address, sizeof address, " laddr=[::1]:%d ", q.port);
	ASK_HAS(p, "CLIENT INFO", " addr=[::1]:");
	ASK_HAS(p, "CLIENT INFO", address);
	ASK(p, "DEBUG SLEEP 0", "+OK\r\n");
	qlessd_stop(&q);
	QLESSD_START(&q, "--bind", "::*");
	p = peer_connect_to("::1", q.port);
	ASK(p, "PING", "+PONG\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(version_help_and_check_config_print_and_exit);
	RUN(check_config_finds_what_would_stop_a_start);
	RUN(a_start_that_fails_says_so_last);
	RUN(an_invalid_configuration_is_reported_with_its_line);
	RUN(sigterm_stops_after_all_replies);
	RUN(sigint_stops_after_all_replies);
	RUN(a_second_sigterm_does_not_wait_for_slow_readers);
	RUN(shutdown_sends_no_reply);
	RUN(a_broken_pipe_does_not_stop_the_server);
	RUN(sighup_reopens_the_log_file);
	RUN(sigusr1_logs_the_state);
	RUN(a_port_in_use_is_an_error);
	RUN(a_unix_socket_has_its_permissions_and_a_stale_one_is_replaced);
	RUN(a_daemon_is_ready_when_its_parent_ends);
	RUN(a_crash_logs_a_backtrace);
	/* A container may have no IPv6. */
	if (has_ipv6())
		RUN(ipv6_works);
	return UNIT_RESULT();
}
