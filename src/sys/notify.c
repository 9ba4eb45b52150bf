#include "sys/notify.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/clock.h"

#define NOTIFY_MAX_BYTES 1024

int notify_init(struct notify *n, const char *address)
{
	size_t len = address != NULL ? strlen(address) : 0;

	*n = (struct notify){ .fd = -1, .address = { .sun_family = AF_UNIX } };
	if (len == 0)
		return 0;
	if (address[0] != '/' && address[0] != '@')
		return -EAFNOSUPPORT;
	if (len >= sizeof n->address.sun_path)
		return -ENAMETOOLONG;
	memcpy(n->address.sun_path, address, len);
	/* An abstract name begins with NUL and ends where the length says; a path ends with NUL. */
	n->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (address[0] == '@')
		n->address.sun_path[0] = '\0';
	else
		n->address_len++;
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return n->fd >= 0 ? 0 : -errno;
}

void notify_done(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

static int send_message(struct notify *n, int flags, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A message that is sent once waits for a busy manager. One that is sent repeatedly does not wait.
 * */
#define ONCE	 0
#define REPEATED MSG_DONTWAIT

static int send_message(struct notify *n, int flags, const char *format, ...)
{
	char text[NOTIFY_MAX_BYTES];
	va_list args;
	int len;

	if (n->fd < 0)
		return 0;
	va_start(args, format);
	len = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (len < 0)
		return -EINVAL;
	if ((size_t)len >= sizeof text)
		len = sizeof text - 1;
	if (sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL | flags,
		   (const struct sockaddr *)&n->address, n->address_len) < 0)
		return -errno;
	return 0;
}

/* A newline separates assignments, so one in a status becomes a blank. */
static int send_with_status(struct notify *n, int flags, const char *head, const char *status)
{
	char line[NOTIFY_MAX_BYTES / 2];

	if (status == NULL)
		return send_message(n, flags, "%s", head);
	snprintf(line, sizeof line, "%s", status);
	for (char *c = line; *c != '\0'; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	return send_message(n, flags, "%sSTATUS=%s\n", head, line);
}

int notify_ready(struct notify *n, const char *status)
{
	return send_with_status(n, ONCE, "READY=1\n", status);
}

int notify_status(struct notify *n, const char *status)
{
	return send_with_status(n, REPEATED, "", status);
}

int notify_reloading(struct notify *n)
{
	return send_message(n, ONCE, "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\n", clock_mono_us());
}

int notify_stopping(struct notify *n, const char *status)
{
	return send_with_status(n, ONCE, "STOPPING=1\n", status);
}

int notify_watchdog(struct notify *n)
{
	return send_message(n, REPEATED, "WATCHDOG=1\n");
}

int notify_extend_timeout(struct notify *n, int64_t more_us)
{
	return send_message(n, REPEATED, "EXTEND_TIMEOUT_USEC=%" PRId64 "\n", more_us);
}

/* A positive integer, or 0. */
static int64_t parse_positive(const char *text)
{
	char *end;
	long long number;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	number = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' ? number : 0;
}

int64_t notify_watchdog_interval_us(const char *usec, const char *pid, pid_t self)
{
	if (pid != NULL && parse_positive(pid) != self)
		return 0;
	return parse_positive(usec);
}
