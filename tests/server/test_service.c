/*
 * The process as a service: its user, its permissions, and its messages to the service manager.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

#define NOBODY	  65534
#define FIRST_LOW 600
#define LAST_LOW  1023

static struct qlessd q;
static struct tempdir dir;
static int manager = -1; /* the socket of a service manager */

void setUp(void)
{
	tempdir_init(&dir);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	if (manager >= 0)
		close(manager);
	manager = -1;
	tempdir_done(&dir);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, stat(path, &st), path);
	return st.st_mode & 07777;
}

/*
 * The user
 */

/* A free port that only root may listen on. */
static int free_low_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int port = FIRST_LOW; port <= LAST_LOW; port++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool is_free;

		in.sin_port = htons((uint16_t)port);
		is_free = bind(fd, (const void *)&in, sizeof in) == 0;
		close(fd);
		if (is_free)
			return port;
	}
	TEST_FAIL_MESSAGE("no port below 1024 is free");
	return -1;
}

/* Check every thread, because each has rights of its own. */
static void assert_status_of_threads(const char *line)
{
	char pattern[100];
	glob_t found;

	snprintf(pattern, sizeof pattern, "/proc/%d/task/*/status", (int)q.pid);
	TEST_ASSERT_EQUAL_INT(0, glob(pattern, 0, NULL, &found));
	/* There is one that syncs the log. */
	TEST_ASSERT_GREATER_THAN(1, found.gl_pathc);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *text = textfile_read(found.gl_pathv[i]);

		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, line), text);
		free(text);
	}
	globfree(&found);
}

static void root_binds_a_low_port_and_becomes_the_user_of_run_as(void)
{
	char port[8], *output;
	struct stat st;
	struct peer *p;
	int number;

	if (geteuid() != 0) {
		TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--run-as", "0:0"));
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "only root can become"), output);
		free(output);
		return;
	}
	number = free_low_port();
	snprintf(port, sizeof port, "%d", number);
	TEST_ASSERT_EQUAL_INT(0, chown(dir.path, NOBODY, NOBODY));
	snprintf(q.socket_path, sizeof q.socket_path, "%.90s", tempdir_file(&dir, "socket"));
	QLESSD_START(&q, "--run-as", "65534:65534", "--port", port, "--dir", dir.path, "--logfile",
		     "log", "--pidfile", "pid");
	p = peer_connect_to("127.0.0.1", number);
	ASK(p, "PING", "+PONG\r\n");
	assert_status_of_threads("\nUid:\t65534\t65534\t65534\t65534\n");
	assert_status_of_threads("\nGid:\t65534\t65534\t65534\t65534\n");
	assert_status_of_threads("\nCapPrm:\t0000000000000000\n");
	assert_status_of_threads("\nCapEff:\t0000000000000000\n");
	assert_status_of_threads("\nCapAmb:\t0000000000000000\n");
	assert_status_of_threads("\nNoNewPrivs:\t1\n");
	/* The user owns all files of the server, so that it can open and remove them again. */
	for (const char *const *name =
		     (const char *const[]){ "socket", "log", "pid", "log-00000001", NULL };
	     *name != NULL; name++) {
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, stat(tempdir_file(&dir, *name), &st), *name);
		TEST_ASSERT_EQUAL_UINT_MESSAGE(NOBODY, st.st_uid, *name);
	}
	ASK(p, "PUT w q j k {} 0", "$1\r\nj\r\n");
}

static void running_as_root_is_logged(void)
{
	static const char warning[] = "running as root";

	qlessd_start(&q);
	TEST_ASSERT_EQUAL_INT(geteuid() == 0, qlessd_has_logged(&q, warning));
	qlessd_stop(&q);
	if (geteuid() == 0) {
		QLESSD_START(&q, "--run-as", "root");
		TEST_ASSERT_FALSE(qlessd_has_logged(&q, warning));
	}
}

static void an_unknown_user_is_an_error(void)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--run-as", "no-such-user"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "run-as: there is no user no-such-user"),
				     output);
	free(output);
}

/*
 * Permissions of others
 */

static void a_directory_that_all_users_can_write_is_refused(void)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 0777));
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", dir.path));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "every user can write to the directory"),
				     output);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, dir.path), output);
	free(output);
	/* The sticky bit of /tmp does not help: anybody can create files that do not exist yet. */
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 01777));
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--dir", dir.path));
	free(output);
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 0770));
	QLESSD_START(&q, "--dir", dir.path);
}

static void a_configuration_that_all_users_can_write_is_refused(void)
{
	char path[300], included[300], *output;

	snprintf(included, sizeof included, "%s", tempdir_file(&dir, "more.conf"));
	textfile_write(included, "timeout 5\n");
	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "qlessd.conf"));
	textfile_write(path, "# one\ninclude more.conf\n");
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, path, "--check-config"));
	free(output);
	TEST_ASSERT_EQUAL_INT(0, chmod(included, 0666));
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, path, "--check-config"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "more.conf: everybody may write"), output);
	free(output);
	TEST_ASSERT_EQUAL_INT(0, chmod(included, 0664));
	TEST_ASSERT_EQUAL_INT(0, chmod(path, 0602));
	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, path, "--check-config"));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, "qlessd.conf: everybody may write"), output);
	free(output);
	/* A device is not a file that somebody may have changed. */
	TEST_ASSERT_EQUAL_INT(0, QLESSD_RUN(&output, "/dev/null", "--check-config"));
	free(output);
}

static void files_respect_umask(void)
{
	QLESSD_START(&q, "--dir", dir.path, "--logfile", "log", "--pidfile", "pid");
	TEST_ASSERT_EQUAL_HEX(0600, mode_of(tempdir_file(&dir, "log")));
	TEST_ASSERT_EQUAL_HEX(0600, mode_of(tempdir_file(&dir, "pid")));
	TEST_ASSERT_EQUAL_HEX(0600, mode_of(tempdir_file(&dir, "log-00000001")));
	TEST_ASSERT_EQUAL_HEX(0700, mode_of(q.socket_path));
	qlessd_stop(&q);
	tempdir_done(&dir);
	tempdir_init(&dir);
	QLESSD_START(&q, "--dir", dir.path, "--logfile", "log", "--pidfile", "pid", "--umask",
		     "0027", "--unixsocketperm", "0777");
	TEST_ASSERT_EQUAL_HEX(0640, mode_of(tempdir_file(&dir, "log")));
	TEST_ASSERT_EQUAL_HEX(0640, mode_of(tempdir_file(&dir, "pid")));
	TEST_ASSERT_EQUAL_HEX(0640, mode_of(tempdir_file(&dir, "log-00000001")));
	/* The permissions of the socket are separate. */
	TEST_ASSERT_EQUAL_HEX(0777, mode_of(q.socket_path));
}

static void core_dumps_are_configurable(void)
{
	struct rlimit ours, its;
	rlim_t least;

	TEST_ASSERT_EQUAL_INT(0, getrlimit(RLIMIT_CORE, &ours));
	/* The limit on core dumps may be 0 already. */
	least = ours.rlim_max < 1 ? ours.rlim_max : 1;
	qlessd_start(&q);
	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_CORE, NULL, &its));
	TEST_ASSERT_EQUAL_UINT64(least, its.rlim_cur);
	TEST_ASSERT_EQUAL_UINT64(least, its.rlim_max);
	qlessd_stop(&q);
	QLESSD_START(&q, "--core-dumps", "yes", "--enable-debug-command", "yes");
	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_CORE, NULL, &its));
	TEST_ASSERT_EQUAL_UINT64(ours.rlim_max, its.rlim_cur);
	TEST_ASSERT_EQUAL_UINT64(ours.rlim_max, its.rlim_max);
}

/*
 * The service manager
 */

static void start_with_manager(const char *watchdog_us)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = WAIT_MAX_MS / 1000 };

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(un.sun_path, sizeof un.sun_path, "%.90s", tempdir_file(&dir, "notify"));
	TEST_ASSERT_EQUAL_INT(0, bind(manager, (const void *)&un, sizeof un));
	setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setenv("NOTIFY_SOCKET", un.sun_path, 1);
	if (watchdog_us != NULL)
		setenv("WATCHDOG_USEC", watchdog_us, 1);
	QLESSD_START(&q, "--supervised", "systemd");
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
}

/* Returns the next message. */
static const char *next_message(void)
{
	static char text[1024];
	ssize_t len;

	do {
		len = recv(manager, text, sizeof text - 1, 0);
	} while (len < 0 && errno == EINTR);
	TEST_ASSERT_TRUE_MESSAGE(len > 0, "no message to the service manager");
	text[len] = '\0';
	return text;
}

/* Check that the next messages begin with these lines. */
static void expect_message(const char *begin)
{
	const char *message = next_message();

	TEST_ASSERT_EQUAL_STRING_LEN_MESSAGE(begin, message, strlen(begin), message);
}

static void the_service_manager_gets_more_time_for_loading(void)
{
	start_with_manager(NULL);
	expect_message("EXTEND_TIMEOUT_USEC=30000000\n");
	expect_message("READY=1\nSTATUS=Ready to accept connections\n");
	/* Without a watchdog there is nothing more. */
	kill(q.pid, SIGTERM);
	expect_message("STOPPING=1\n");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

static void the_service_manager_gets_signs_of_life(void)
{
	int64_t begin = wait_now_ms();

	/* Measured before the start: messages may have waited before this process looks. */
	start_with_manager("1000000");
	while (strstr(next_message(), "READY=1") == NULL)
		;
	for (int i = 0; i < 3; i++)
		expect_message("WATCHDOG=1\n");
	/* Twice as often as necessary. How late it may be depends on the machine. */
	TEST_ASSERT_GREATER_OR_EQUAL(1000, wait_now_ms() - begin);
}

static void the_service_manager_shows_a_log_that_failed(void)
{
	struct rlimit limit = { 64, RLIM_INFINITY };
	struct peer *p;

	start_with_manager(NULL);
	while (strstr(next_message(), "READY=1") == NULL)
		;
	p = peer_connect(&q);
	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_FSIZE, &limit, NULL));
	peer_send_text(p, "PUT w q j k {} 0\r\n");
	expect_message("STATUS=The log cannot be written, changes are refused\n");
	limit.rlim_cur = RLIM_INFINITY;
	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_FSIZE, &limit, NULL));
	expect_message("STATUS=Ready to accept connections\n");
}

static void the_service_manager_is_told_of_a_reload(void)
{
	start_with_manager(NULL);
	while (strstr(next_message(), "READY=1") == NULL)
		;
	kill(q.pid, SIGHUP);
	expect_message("RELOADING=1\nMONOTONIC_USEC=");
	expect_message("READY=1\n");
}

static void the_service_manager_gets_more_time_for_the_last_snapshot(void)
{
	struct peer *p;

	start_with_manager(NULL);
	while (strstr(next_message(), "READY=1") == NULL)
		;
	p = peer_connect(&q);
	ASK(p, "PUT w q j k {} 0", "$1\r\nj\r\n");
	peer_send_text(p, "SHUTDOWN SAVE\r\n");
	expect_message("STOPPING=1\n");
	expect_message("EXTEND_TIMEOUT_USEC=30000000\n");
	peer_expect_end(p);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "writing a new snapshot before the end"));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(root_binds_a_low_port_and_becomes_the_user_of_run_as);
	RUN(running_as_root_is_logged);
	RUN(an_unknown_user_is_an_error);
	RUN(a_directory_that_all_users_can_write_is_refused);
	RUN(a_configuration_that_all_users_can_write_is_refused);
	RUN(files_respect_umask);
	RUN(core_dumps_are_configurable);
	RUN(the_service_manager_gets_more_time_for_loading);
	RUN(the_service_manager_gets_signs_of_life);
	RUN(the_service_manager_shows_a_log_that_failed);
	RUN(the_service_manager_is_told_of_a_reload);
	RUN(the_service_manager_gets_more_time_for_the_last_snapshot);
	return UNIT_RESULT();
}
