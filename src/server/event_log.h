/*
 * Messages of libevent, as lines of our log.
 *
 * libevent repeats a warning as often as its cause repeats, which can be a hundred thousand times a
 * second. One line a second is logged, and the others are counted.
 */
#ifndef SERVER_EVENT_LOG_H
#define SERVER_EVENT_LOG_H

/* Log what libevent has to say from now on. It is a setting of the process. */
void event_log_install(void);

#endif
