/*
 * Telling the service manager: the protocol of sd_notify(3), spoken without its library.
 */
#ifndef SYS_NOTIFY_H
#define SYS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct notify {
	int fd; /* -1: nobody wants to know, and all calls do nothing */
	struct sockaddr_un address;
	socklen_t address_len;
};

/* `address` is what NOTIFY_SOCKET holds: a path, or `@` and a name in the abstract namespace; NULL
 * or empty for none. 0 or a negative errno; the struct is usable in both cases. */
int notify_init(struct notify *n, const char *address);
void notify_done(struct notify *n);

static inline bool notify_is_active(const struct notify *n)
{
	return n->fd >= 0;
}

/* Messages; 0 or a negative errno. A status is one line for `systemctl status`. */
int notify_ready(struct notify *n, const char *status);
int notify_reloading(struct notify *n);
int notify_stopping(struct notify *n, const char *status);

/* Of these another one follows: they are dropped (-EAGAIN) rather than wait for a manager that is
 * behind. */
int notify_status(struct notify *n, const char *status);
int notify_watchdog(struct notify *n);
/* Ask for `more_us` more of start or stop time, as for replaying a long log. */
int notify_extend_timeout(struct notify *n, int64_t more_us);

/* Within how many microseconds the manager wants to hear notify_watchdog() again and again, 0 if it
 * does not: from what WATCHDOG_USEC and WATCHDOG_PID hold (NULL if unset). Call twice as often. */
int64_t notify_watchdog_interval_us(const char *usec, const char *pid, pid_t self);

#endif
