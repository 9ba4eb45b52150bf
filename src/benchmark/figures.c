#include "benchmark/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/num.h"

#define COMM_MAX ((size_t)15) /* bytes of a name that the kernel keeps */

/* The value behind "name:" in the reply of INFO; empty if there is none. */
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
		at = line_end + 2;
	}
	return STR("");
}

static uint64_t find_number(struct qless_str info, const char *name)
{
	uint64_t value;

	return num_parse_u64(find_field(info, name), 0, UINT64_MAX, &value) ? value : 0;
}

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	return fopen(path, "re");
}

/* There is such a process, and it has the name of the executable: over a tunnel a server only seems
 * to be here. */
static bool is_running_here(pid_t pid, struct qless_str executable)
{
	const char *name = memrchr(executable.ptr, '/', executable.len);
	struct qless_str base = executable;
	char comm[COMM_MAX + 2] = "";
	FILE *file;

	if (pid <= 0 || executable.len == 0)
		return false;
	if (name != NULL)
		base = str_make(name + 1, executable.len - (size_t)(name + 1 - executable.ptr));
	if (base.len > COMM_MAX)
		base.len = COMM_MAX;
	file = open_proc(pid, "comm");
	if (file == NULL)
		return false;
	if (fgets(comm, sizeof comm, file) == NULL)
		comm[0] = '\0';
	fclose(file);
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

		if (is_running_here(pid, find_field(info.text, "executable")))
			ret_server->pid = pid;
	}
	return 0;
}

static double read_cpu_s(pid_t pid)
{
	FILE *file = open_proc(pid, "stat");
	uint64_t user = 0, system = 0;
	char line[1024];
	const char *at;

	if (file == NULL)
		return 0;
	/* The name in parentheses may have blanks; utime and stime are the 12th and 13th behind. */
	if (fgets(line, sizeof line, file) != NULL && (at = strrchr(line, ')')) != NULL &&
	    sscanf(at + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64,
		   &user, &system) != 2)
		user = system = 0;
	fclose(file);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t read_rss(pid_t pid)
{
	FILE *file = open_proc(pid, "statm");
	uint64_t pages = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*s %" SCNu64, &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
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
	f->rss = read_rss(server->pid);
}

double figures_own_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
