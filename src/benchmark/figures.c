#include "benchmark/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "util/num.h"

#define COMM_MAX	       ((size_t)15) /* bytes of a name that the kernel keeps */
#define PROC_LINE_MAX	       1024
#define WORDS_BEFORE_RUN_DELAY 1 /* in /proc/PID/schedstat */

/* The value of "name:" in the reply of INFO, or an empty one. */
static struct qless_str find_field(struct qless_str info, const char *name)
{
	const char *at = info.ptr, *end = info.ptr + info.len;
	size_t len = strlen(name);

	while (at < end) {
		const char *line_end = memchr(at, '\r', (size_t)(end - at));

		if (line_end == NULL)
			line_end = end;
		if ((size_t)(line_end - at) > len && memcmp(at, name, len) == 0 && at[len] == ':')
			return str_make(at + len + 1, (size_t)(line_end - at) - len - 1);
		at = end - line_end > 2 ? line_end + 2 : end;
	}
	return STR("");
}

static uint64_t find_number(struct qless_str info, const char *name)
{
	uint64_t value;

	return num_parse_u64(find_field(info, name), 0, UINT64_MAX, &value) ? value : 0;
}

/* The first line of a file in /proc, or an empty one. */
static void read_proc_line(pid_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (file == NULL || fgets(to, (int)size, file) == NULL)
		to[0] = '\0';
	if (file != NULL)
		fclose(file);
}

bool figures_is_running_here(pid_t pid, struct qless_str executable)
{
	const char *name = memrchr(executable.ptr, '/', executable.len);
	struct qless_str base = executable;
	char comm[COMM_MAX + 2];

	if (pid <= 0 || executable.len == 0)
		return false;
	if (name != NULL)
		base = str_make(name + 1, executable.len - (size_t)(name + 1 - executable.ptr));
	if (base.len > COMM_MAX)
		base.len = COMM_MAX;
	read_proc_line(pid, "comm", comm, sizeof comm);
	return str_equal(base, str_make(comm, strcspn(comm, "\n")));
}

int figures_identify(struct control *control, struct figures_server *ret_server, struct buf *error)
{
	struct qless_str version;
	struct reply info;

	*ret_server = (struct figures_server){ 0 };
	if (CONTROL_CALL(control, &info, error, "INFO", "server") < 0)
		return -1;
	version = find_field(info.text, "qlessd_version");
	ret_server->is_qlessd = version.len != 0;
	if (version.len == 0)
		version = find_field(info.text, "redis_version");
	snprintf(ret_server->name, sizeof ret_server->name, "%s %.*s",
		 ret_server->is_qlessd ? "qlessd" : "redis", (int)version.len, version.ptr);
	if (control->is_local) {
		pid_t pid = (pid_t)find_number(info.text, "process_id");

		if (figures_is_running_here(pid, find_field(info.text, "executable")))
			ret_server->pid = pid;
	}
	return 0;
}

/* The number after `words` words of a line, or 0 if there is none. */
static uint64_t number_behind(const char *line, int words)
{
	for (; words > 0; words--) {
		line += strspn(line, " ");
		line += strcspn(line, " ");
	}
	return strtoull(line, NULL, 10);
}

/* The ticks in /proc/PID/stat are too coarse for a measurement of milliseconds. */
static double read_cpu_s(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double read_run_delay_s(pid_t pid)
{
	char line[PROC_LINE_MAX];

	read_proc_line(pid, "schedstat", line, sizeof line);
	return (double)number_behind(line, WORDS_BEFORE_RUN_DELAY) / 1e9;
}

static uint64_t read_rss(pid_t pid)
{
	char line[PROC_LINE_MAX];

	read_proc_line(pid, "statm", line, sizeof line);
	return number_behind(line, 1) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int figures_read_log(struct control *control, struct figures *f, struct buf *error)
{
	struct reply info;

	if (CONTROL_CALL(control, &info, error, "INFO", "persistence") < 0)
		return -1;
	f->has_log = find_number(info.text, "aof_enabled") != 0;
	f->log_base = find_number(info.text, "aof_base_size");
	f->log = find_number(info.text, "aof_current_size") +
		 find_number(info.text, "aof_buffer_length");
	return 0;
}

void figures_read_process(const struct figures_server *server, struct figures *f)
{
	if (server->pid == 0)
		return;
	f->cpu_s = read_cpu_s(server->pid);
	f->run_delay_s = read_run_delay_s(server->pid);
	f->rss = read_rss(server->pid);
}

double figures_own_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double figures_own_run_delay_s(void)
{
	return read_run_delay_s(getpid());
}
