#include "qlessd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "textfile.h"
#include "wait.h"

#define MAX_ARGS	 64
#define START_ATTEMPTS	 5
#define REPORT_MAX	 4000
#define EXIT_NOT_STARTED 127
/* Ports below those that Linux gives to clients, so that no connection takes the port of a server
 * before it starts, or while it is restarted. */
#define PORT_MIN      15000
#define PORT_MAX      32000
#define PORT_ATTEMPTS 1000
/* Number of ports that a test keeps for itself: more than its servers use at once. */
#define PORTS_RESERVED 64

/* A test that is killed because it hangs leaves what it has printed. */
__attribute__((constructor)) static void print_lines_at_once(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static const char *external_host;
static int external_port;

void qlessd_take_args(int *argc, char **argv)
{
	for (int i = 1; i + 1 < *argc; i++) {
		char *colon = strrchr(argv[i + 1], ':');

		if (strcmp(argv[i], "--addr") != 0 || colon == NULL)
			continue;
		*colon = '\0';
		external_host = argv[i + 1];
		external_port = atoi(colon + 1);
		for (int k = i; k + 2 <= *argc; k++)
			argv[k] = argv[k + 2];
		*argc -= 2;
		return;
	}
}

/* Returns a socket that reserves a port among the tests of the machine, until it is closed. Returns
 * -1 if another test has it. */
static int reserve_port(int port)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The name begins with a NUL, so it is in no directory and ends with the process. */
	int len = snprintf(un.sun_path + 1, sizeof un.sun_path - 1, "qlessd-test-port-%d", port);

	if (bind(fd, (const void *)&un,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool can_listen(int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	bool can;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	can = bind(fd, (const void *)&in, sizeof in) == 0 && listen(fd, 1) == 0;
	close(fd);
	return can;
}

int qlessd_free_port(void)
{
	static int reserved[PORTS_RESERVED];
	static unsigned count;
	static unsigned long long rng;

	if (count == 0)
		rng = (unsigned long long)wait_now_ms() * 100000 + (unsigned)getpid();
	for (int i = 0; i < PORT_ATTEMPTS; i++) {
		int port = PORT_MIN + (int)(unit_random(&rng) % (PORT_MAX - PORT_MIN));
		int fd = reserve_port(port);

		if (fd < 0)
			continue;
		if (!can_listen(port)) {
			close(fd);
			continue;
		}
		if (count >= PORTS_RESERVED)
			close(reserved[count % PORTS_RESERVED]);
		reserved[count++ % PORTS_RESERVED] = fd;
		return port;
	}
	TEST_FAIL_MESSAGE("no port is free");
	return 0;
}

static const char *executable(void)
{
	const char *path = getenv("QLESSD");

	TEST_ASSERT_NOT_NULL_MESSAGE(path, "QLESSD must say where the executable is");
	return path;
}

/* In the child, which is killed when this process ends in any way. */
static _Noreturn void become_qlessd(char *const *argv, int output, unsigned long max_files)
{
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* With huge pages for every process, resident memory says little about used memory. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (max_files != 0) {
		struct rlimit limit = { .rlim_cur = max_files, .rlim_max = max_files };

		setrlimit(RLIMIT_NOFILE, &limit);
	}
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execv(argv[0], argv);
	_exit(EXIT_NOT_STARTED);
}

static pid_t spawn(const char *const *args, const char *output_path, unsigned long max_files)
{
	int output = open(output_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	const char *argv[MAX_ARGS] = { executable() };
	int argc = 1;
	pid_t pid;

	while (*args != NULL && argc < MAX_ARGS - 1)
		argv[argc++] = *args++;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_qlessd((char *const *)(uintptr_t)argv, output, max_files);
	close(output);
	TEST_ASSERT_GREATER_THAN_MESSAGE(0, pid, "cannot fork");
	return pid;
}

/* Whether it replies with anything but LOADING. When this returns, the server has closed the
 * connection. */
static bool is_ready(const char *path, bool may_load)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = WAIT_MAX_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[64];
	bool ready = false;

	snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (connect(fd, (const void *)&un, sizeof un) == 0) {
		(void)!send(fd, "PING\r\n", 6, MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		while (recv(fd, answer, sizeof answer, 0) > 0)
			ready |= may_load || strncmp(answer, "-LOADING", 8) != 0;
	}
	close(fd);
	return ready;
}

static void report(const struct qlessd *q, const char *what)
{
	char *log = textfile_read(q->log_path);
	size_t len = strlen(log);

	fprintf(stderr, "%s; its log:\n%s\n", what,
		len > REPORT_MAX ? log + len - REPORT_MAX : log);
	free(log);
}

/* Start it on q->port. Returns false if it ended, for example because another process took the
 * port. */
static bool try_start(struct qlessd *q, const char *const *more)
{
	const char *args[MAX_ARGS], *fork_max = getenv("QLESSD_FORK_MAX");
	char port[8];
	int argc = 0, status;

	snprintf(port, sizeof port, "%d", q->port);
	/* A file comes first; the directives of the test come last and win. */
	if (*more != NULL && (*more)[0] != '-')
		args[argc++] = *more++;
	for (const char *const *own = (const char *const[]){ "--dir", q->dir.path, "--port", port,
							     "--unixsocket", q->socket_path, NULL };
	     *own != NULL; own++)
		args[argc++] = *own;
	if (fork_max != NULL) {
		args[argc++] = "--fork-max-memory";
		args[argc++] = fork_max;
	}
	while (*more != NULL && argc < MAX_ARGS - 1)
		args[argc++] = *more++;
	args[argc] = NULL;
	q->pid = spawn(args, q->log_path, q->max_files);
	for (int64_t until = wait_now_ms() + WAIT_MAX_MS; wait_now_ms() < until; wait_ms(2)) {
		if (is_ready(q->socket_path, q->may_load))
			return true;
		if (waitpid(q->pid, &status, WNOHANG) == q->pid) {
			q->pid = 0;
			return false;
		}
	}
	kill(q->pid, SIGKILL);
	waitpid(q->pid, &status, 0);
	q->pid = 0;
	return false;
}

void qlessd_start_with(struct qlessd *q, const char *const *args)
{
	if (external_host != NULL && args[0] == NULL) {
		q->pid = -1;
		q->port = external_port;
		return;
	}
	if (external_host != NULL)
		TEST_IGNORE_MESSAGE("needs a server of its own");
	tempdir_init(&q->dir);
	if (q->socket_path[0] == '\0')
		snprintf(q->socket_path, sizeof q->socket_path, "%s/socket", q->dir.path);
	snprintf(q->log_path, sizeof q->log_path, "%s/output", q->dir.path);
	for (int i = 0; i < START_ATTEMPTS; i++) {
		q->port = qlessd_free_port();
		if (try_start(q, args))
			return;
	}
	report(q, "qlessd does not start");
	TEST_FAIL_MESSAGE("qlessd does not start");
}

void qlessd_start_again(struct qlessd *q, const char *const *args)
{
	/* If it was killed while it forked, the child holds its sockets for a moment. */
	for (int i = 0; i < START_ATTEMPTS; i++) {
		if (try_start(q, args))
			return;
		wait_ms(20);
	}
	report(q, "qlessd does not start again");
	TEST_FAIL_MESSAGE("qlessd does not start again");
}

void qlessd_start(struct qlessd *q)
{
	qlessd_start_with(q, (const char *const[]){ NULL });
}

int qlessd_wait(struct qlessd *q)
{
	int status = 0;
	pid_t pid = q->pid;

	for (int64_t until = wait_now_ms() + WAIT_MAX_MS; wait_now_ms() < until; wait_ms(2)) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			q->pid = 0;
			return status;
		}
	}
	report(q, "qlessd does not end");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	q->pid = 0;
	return status;
}

void qlessd_halt(const struct qlessd *q)
{
	int status;

	TEST_ASSERT_GREATER_THAN(0, q->pid);
	TEST_ASSERT_EQUAL_INT(0, kill(q->pid, SIGSTOP));
	TEST_ASSERT_EQUAL_INT(q->pid, waitpid(q->pid, &status, WUNTRACED));
	TEST_ASSERT_TRUE(WIFSTOPPED(status));
}

void qlessd_go_on(const struct qlessd *q)
{
	TEST_ASSERT_GREATER_THAN(0, q->pid);
	TEST_ASSERT_EQUAL_INT(0, kill(q->pid, SIGCONT));
}

static bool has_sanitizer_report(const struct qlessd *q)
{
	return qlessd_has_logged(q, "Sanitizer") || qlessd_has_logged(q, "runtime error:");
}

void qlessd_stop(struct qlessd *q)
{
	struct tempdir dir = q->dir;
	bool ok = true;

	if (q->pid > 0) {
		int status;

		kill(q->pid, SIGTERM);
		status = qlessd_wait(q);
		ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	if (q->dir.path[0] != '\0') {
		ok &= !has_sanitizer_report(q);
		if (!ok)
			report(q, "qlessd did not end well");
	}
	/* Reset first, because an assertion that fails here ends tearDown(). */
	*q = (struct qlessd){ 0 };
	if (dir.path[0] != '\0')
		tempdir_done(&dir);
	TEST_ASSERT_TRUE_MESSAGE(ok, "qlessd did not end well");
}

bool qlessd_has_logged(const struct qlessd *q, const char *text)
{
	char *log = textfile_read(q->log_path);
	bool has = strstr(log, text) != NULL;

	free(log);
	return has;
}

int qlessd_run(const char *const *args, char **ret_output)
{
	struct qlessd q = { 0 };
	int status;

	tempdir_init(&q.dir);
	snprintf(q.log_path, sizeof q.log_path, "%s/output", q.dir.path);
	q.pid = spawn(args, q.log_path, 0);
	status = qlessd_wait(&q);
	*ret_output = textfile_read(q.log_path);
	tempdir_done(&q.dir);
	TEST_ASSERT_TRUE_MESSAGE(WIFEXITED(status), *ret_output);
	return WEXITSTATUS(status);
}

bool qlessd_is_sanitized(void)
{
#if defined __SANITIZE_ADDRESS__
	return true;
#elif defined __has_feature
#if __has_feature(address_sanitizer)
	return true;
#else
	return false;
#endif
#else
	return false;
#endif
}

long qlessd_proc_status(const struct qlessd *q, const char *name)
{
	char path[QLESSD_PATH_MAX], *text, *at;
	long value = -1;

	snprintf(path, sizeof path, "/proc/%d/status", (int)q->pid);
	text = textfile_read(path);
	at = strstr(text, name);
	if (at != NULL)
		value = strtol(at + strlen(name) + 1, NULL, 10);
	free(text);
	TEST_ASSERT_TRUE_MESSAGE(value >= 0, name);
	return value;
}
