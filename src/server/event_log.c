#include "server/event_log.h"

#include <event2/event.h>
#include <stdint.h>

#include "sys/clock.h"
#include "sys/log.h"

/* Microseconds between two lines. */
#define DISTANCE_US 1000000

static void on_message(int severity, const char *text)
{
	static int64_t last_us;
	static uint64_t left_out;
	int64_t now_us = clock_mono_us();
	enum log_level level = severity == EVENT_LOG_DEBUG ? LOG_LEVEL_DEBUG
			       : severity == EVENT_LOG_MSG ? LOG_LEVEL_NOTICE
							   : LOG_LEVEL_WARNING;

	if (!log_is_enabled(level))
		return;
	/* The process ends after an error, so it is always logged. */
	if (severity != EVENT_LOG_ERR && last_us != 0 && now_us - last_us < DISTANCE_US) {
		left_out++;
		return;
	}
	log_write(level, LOG_FIELDS(LOG_INT("others_not_logged", left_out)), "libevent: %s", text);
	last_us = now_us;
	left_out = 0;
}

void event_log_install(void)
{
	event_set_log_callback(on_message);
}
