#include "sys/process.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

void process_info_read(struct process_info *ret_info)
{
	struct utsname uts;
	ssize_t len;

	*ret_info = (struct process_info){ .pid = getpid(), .bits = (int)sizeof(void *) * 8 };
	if (uname(&uts) == 0)
		snprintf(ret_info->os, sizeof ret_info->os, "%.64s %.64s %.64s", uts.sysname,
			 uts.release, uts.machine);
	len = readlink("/proc/self/exe", ret_info->executable, sizeof ret_info->executable - 1);
	ret_info->executable[len > 0 ? len : 0] = '\0';
}

static int64_t to_us(struct timeval tv)
{
	return (int64_t)tv.tv_sec * 1000000 + tv.tv_usec;
}

void process_usage_read(struct process_usage *ret_usage)
{
	struct rusage self = { .ru_maxrss = 0 }, children = { .ru_maxrss = 0 };

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	*ret_usage = (struct process_usage){
		.user_us = to_us(self.ru_utime),
		.system_us = to_us(self.ru_stime),
		.children_user_us = to_us(children.ru_utime),
		.children_system_us = to_us(children.ru_stime),
		.peak_rss_bytes = (size_t)self.ru_maxrss * 1024,
		.minor_faults = self.ru_minflt,
		.major_faults = self.ru_majflt,
		.voluntary_switches = self.ru_nvcsw,
		.involuntary_switches = self.ru_nivcsw,
	};
}
