#include "sys/rlimit.h"

#include <sys/resource.h>

uint64_t rlimit_raise_files(uint64_t wanted)
{
	struct rlimit limit, raised;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	if (limit.rlim_cur >= wanted)
		return limit.rlim_cur;
	/* Only a privileged process may raise the hard limit. */
	raised.rlim_cur = wanted;
	raised.rlim_max = limit.rlim_max > wanted ? limit.rlim_max : wanted;
	if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
		return wanted;
	raised.rlim_cur = limit.rlim_max;
	raised.rlim_max = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}
