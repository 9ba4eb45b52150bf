/*
 * Programs for the tests of qless-run. The first argument says which one this is:
 *
 *	echo DIR         copies standard input to DIR/out
 *	show DIR NAME    writes a variable of the environment to DIR/out, in brackets, or nothing
 *	exit CODE TEXT   writes the text to standard error
 *	until ATTEMPT    exits with 75 before this attempt
 *	flood BYTES      writes this number of bytes to both outputs
 *	die              is killed by a signal
 *	litter DIR       fills the scratch directory with what is hard to remove, with links to DIR,
 *	                 and writes its path to DIR/out
 *	hold DIR         notes the run in DIR, starts a detached process, and waits for DIR/go or
 *	                 DIR/<jid>
 *	deaf DIR         the same, and ignores TERM
 *	run DIR          notes the run in DIR, starts a detached process, and ends after a moment
 *	orphan DIR       notes the run, leaves a detached process, and ends
 *	lines            answers jobs by lines; the data says how
 *
 * A run holds a lock on DIR/<jid>.lock, as its detached process does. A run that finds it locked
 * notes this in DIR/twice, because two runs of the job overlap.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static const char *get(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? value : "";
}

static void note(const char *dir, const char *file, const char *text)
{
	char path[4096], line[512];
	int fd, len;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	len = snprintf(line, sizeof line, "%s\n", text);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		abort();
	close(fd);
}

/* A process that has detached itself in every way. It inherits the lock. */
static void start_detached(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		abort();
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		close(ends[0]);
		(void)!write(ends[1], "", 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	(void)!read(ends[0], &byte, 1);
	close(ends[0]);
}

static void begin_run(const char *dir)
{
	const char *jid = get("QLESS_JID");
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%s.lock", dir, jid);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		abort();
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		note(dir, "twice", jid);
	start_detached();
	note(dir, "runs", jid);
}

static void wait_for_go(const char *dir)
{
	char all[4096], one[4096];

	snprintf(all, sizeof all, "%s/go", dir);
	snprintf(one, sizeof one, "%s/%s", dir, get("QLESS_JID"));
	while (access(all, F_OK) < 0 && access(one, F_OK) < 0)
		pause_ms(2);
}

/* The part of a line after a text, up to a quote, with backslashes removed. */
static void find_part(const char *line, const char *before, char *to, size_t size)
{
	const char *at = strstr(line, before);
	size_t len = 0;

	for (at = at != NULL ? at + strlen(before) : ""; *at != '\0' && *at != '"'; at++) {
		if (*at != '\\' && len + 1 < size)
			to[len++] = *at;
	}
	to[len] = '\0';
}

/* The data of a job is a JSON string, such as "ok". */
static int serve_lines(void)
{
	static char line[1024 * 1024];
	int count = 0;

	while (fgets(line, sizeof line, stdin) != NULL) {
		char jid[200], task[200], scratch[1000];

		count++;
		find_part(line, "\"jid\":\"", jid, sizeof jid);
		find_part(line, "\"data\":\"\\\"", task, sizeof task);
		find_part(line, "\"scratch\":\"", scratch, sizeof scratch);
		fprintf(stderr, "got %s\n", task);
		if (strcmp(task, "ok") == 0)
			printf("{\"status\":\"complete\",\"jid\":\"%s\",\"result\":\"%d by %d in "
			       "%s\"}\n",
			       jid, count, (int)getpid(), access(scratch, W_OK) == 0 ? "dir" : "?");
		else if (strcmp(task, "object") == 0)
			puts("{\"status\": \"complete\", \"result\": {\"a\": [1]}}");
		else if (strcmp(task, "fail") == 0)
			puts("{\"status\":\"fail\",\"group\":\"bad\",\"message\":\"no \\u00fc\"}");
		else if (strcmp(task, "retry") == 0)
			puts("{\"status\":\"retry\",\"delay\":3600}");
		else if (strcmp(task, "progress") == 0)
			puts("{\"status\":\"progress\",\"percent\":50,\"note\":\"half\"}\n"
			     "{\"status\":\"complete\"}");
		else if (strcmp(task, "nonsense") == 0)
			puts("hello");
		else if (strcmp(task, "leave") == 0)
			return 0;
		else if (strcmp(task, "crash") == 0)
			return 3;
		else
			pause();
		fflush(stdout);
	}
	return 0;
}

/* Files appear as a whole: a test waits for their names. */
static FILE *begin_out(const char *dir)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%s/out.part", dir);
	file = fopen(path, "w");
	if (file == NULL)
		abort();
	return file;
}

static int end_out(const char *dir, FILE *file)
{
	char from[4096], to[4096];

	snprintf(from, sizeof from, "%s/out.part", dir);
	snprintf(to, sizeof to, "%s/out", dir);
	return fclose(file) == 0 && rename(from, to) == 0 ? 0 : 1;
}

static int copy_input(const char *dir)
{
	FILE *file = begin_out(dir);
	char bytes[65536];
	size_t got;

	while ((got = fread(bytes, 1, sizeof bytes, stdin)) > 0)
		fwrite(bytes, 1, got, file);
	return end_out(dir, file);
}

static int show(const char *dir, const char *name)
{
	FILE *file = begin_out(dir);

	if (getenv(name) != NULL)
		fprintf(file, "[%s]", getenv(name));
	return end_out(dir, file);
}

static int litter(const char *outside)
{
	const char *scratch = get("QLESS_SCRATCH");
	FILE *file;

	if (chdir(scratch) < 0 || strcmp(scratch, get("TMPDIR")) != 0)
		return 1;
	if (symlink(outside, "link") < 0 || symlink("/nowhere", "dangling") < 0)
		return 2;
	/* Deeper than any path can name. */
	for (int i = 0; i < 3000; i++) {
		if (mkdir("deep-directory", 0700) < 0 || chdir("deep-directory") < 0)
			return 3;
	}
	if (symlink(outside, "link") < 0)
		return 4;
	if (chdir(scratch) < 0 || mkdir("closed", 0700) < 0 || mkdir("closed/inner", 0700) < 0 ||
	    mkdir("closed/inner/most", 0700) < 0 || mkdir("~0", 0700) < 0)
		return 5;
	close(open("closed/inner/file", O_WRONLY | O_CREAT, 0000));
	close(open("~1", O_WRONLY | O_CREAT, 0600));
	if (chmod("closed/inner", 0) < 0 || chmod("closed", 0) < 0)
		return 6;
	file = begin_out(outside);
	fputs(scratch, file);
	return end_out(outside, file);
}

static int flood(long bytes)
{
	for (long i = 0; i < bytes; i++) {
		putchar('a' + (int)(i % 26));
		putc(i % 80 == 79 ? '\n' : '0' + (int)(i % 10), stderr);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";

	if (strcmp(mode, "echo") == 0)
		return copy_input(arg);
	if (strcmp(mode, "show") == 0)
		return show(arg, argv[3]);
	if (strcmp(mode, "exit") == 0)
		return fprintf(stderr, "%s\n", argc > 3 ? argv[3] : "") < 0 ? 1 : atoi(arg);
	if (strcmp(mode, "until") == 0)
		return atoi(get("QLESS_ATTEMPT")) < atoi(arg) ? 75 : 0;
	if (strcmp(mode, "flood") == 0)
		return flood(atol(arg));
	if (strcmp(mode, "die") == 0) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer would report it instead */
		return raise(SIGSEGV);
	}
	if (strcmp(mode, "litter") == 0)
		return litter(arg);
	if (strcmp(mode, "lines") == 0)
		return serve_lines();
	if (strcmp(mode, "deaf") == 0)
		signal(SIGTERM, SIG_IGN);
	begin_run(arg);
	if (strcmp(mode, "hold") == 0 || strcmp(mode, "deaf") == 0)
		wait_for_go(arg);
	else if (strcmp(mode, "run") == 0)
		pause_ms(atoi(get("QLESS_DATA")));
	else if (strcmp(mode, "orphan") != 0)
		return 70;
	note(arg, "ends", get("QLESS_JID"));
	return 0;
}
