/*
 * A library to preload: a search for the addresses of the host `stuck.test` never ends, as if no
 * name server answered.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int getaddrinfo_fn(const char *node, const char *service, const struct addrinfo *hints,
			   struct addrinfo **ret);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	getaddrinfo_fn *real;

	while (node != NULL && strcmp(node, "stuck.test") == 0)
		pause();
	/* POSIX lets a function be found this way, and ISO C has no cast for it. */
	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(node, service, hints, ret);
}
