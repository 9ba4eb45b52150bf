/*
 * Messages to the service manager: the protocol of sd_notify(3) without its library.
 */
#ifndef SYS_NOTIFY_H
#define SYS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct notify {
	int fd; /* -1 if there is no service manager; then all calls do nothing */
	struct sockaddr_un address;
	socklen_t address_len;
};

/* `address` is the value of NOTIFY_SOCKET: a path, or `@` and a name in the abstract namespace.
 * NULL or empty means none. Returns 0 or a negative errno; the struct is usable in both cases. */
int notify_init(struct notify *n, const char *address);
void notify_done(struct notify *n);

static inline bool notify_is_active(const struct notify *n)
{
	return n->fd >= 0;
}

/* These return 0 or a negative errno. A status is one line for `systemctl status`. */
int notify_ready(struct notify *n, const char *status);
int notify_reloading(struct notify *n);
int notify_stopping(struct notify *n, const char *status);

/* Another such message follows soon, so it is dropped (-EAGAIN) instead of waiting for a busy
 * manager. */
int notify_status(struct notify *n, const char *status);
int notify_watchdog(struct notify *n);
/* Ask for `more_us` more time to start or stop, for example to replay a long log. */
int notify_extend_timeout(struct notify *n, int64_t more_us);

/* The interval in microseconds within which the manager expects each notify_watchdog(), or 0 if it
 * expects none. The arguments are the values of WATCHDOG_USEC and WATCHDOG_PID, or NULL. Call
 * notify_watchdog() twice as often. */
int64_t notify_watchdog_interval_us(const char *usec, const char *pid, pid_t self);

#endif
