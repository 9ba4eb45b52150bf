/*
 * Waiting: a client whose command has begun and not ended.
 *
 * The client runs no other command until then, and its later requests stay in its input. All others
 * go on. A command waits because it has more work than one turn may do (command/work.h), until a
 * child process has done a part of it (child_work.h), until a queue has a job for it (lines.h),
 * until jobs have ended (awaited.h), or until an endpoint has answered (push.h).
 *
 *	(command runs) --> WAITING_FOR_TURN --> (the reply joins the output)
 *	   |   |               |  ^     |               ^
 *	   |   v               v  |     +-------------- | --> (abandoned: the client ends)
 *	   |  WAITING_FOR_CHILD --+     |               |
 *	   +------------------> WAITING_FOR_JOBS -------+
 *	   +------------------> WAITING_FOR_ENDS -------+
 *	   +------------------> WAITING_FOR_ANSWER -----+
 *
 * All commands that wait for a turn share WAITINGS_US of each turn equally. None goes on while its
 * client has much output that has not left.
 */
#ifndef SERVER_WAITING_H
#define SERVER_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct buf;
struct client;
struct command;
struct end_wait;
struct line_wait;
struct reply;
struct request;
struct server;
struct user;
struct waiting;
struct work;

enum waiting_reason {
	WAITING_FOR_TURN,
	WAITING_FOR_CHILD,
	WAITING_FOR_JOBS,
	WAITING_FOR_ENDS,
	WAITING_FOR_ANSWER,
};

TAILQ_HEAD(waiting_list, waiting);

struct waitings {
	struct waiting_list going_on; /* those that wait for a turn */
	size_t count;		      /* of all */
	size_t going_on_count;
	int64_t first_ns;	 /* spent in this turn on commands that began in it */
	struct waiting *running; /* the command a part of which runs */
};

void waitings_init(struct server *s);

/* For struct command_env: does work for the client of the request. The client waits if the work
 * takes longer than one turn may. */
void waiting_spread(void *arg, struct request *req, struct work *work);

/* The handler of a command has returned, and its client waits: notes what the client sent, and how
 * long the handler took. */
void waiting_note_begin(struct waiting *w, const struct command *row, int64_t elapsed_ns);

/* The command of which a part runs goes on only after waiting_wake(). Returns it. */
struct waiting *waiting_sleep(struct server *s);
/* The same for the answer of an endpoint. */
struct waiting *waiting_sleep_for_answer(struct server *s);
/* Lets the command go on. Takes the bytes of `output`, and leaves it empty. */
void waiting_wake(struct waiting *w, struct buf *output);

/* The command of which a part runs goes on only when lines.h calls waiting_try(). Returns it. */
struct waiting *waiting_sleep_for_jobs(struct server *s, struct line_wait *lines);
/* The command of which a part runs goes on only when awaited.h calls waiting_try(). Returns it. */
struct waiting *waiting_sleep_for_ends(struct server *s, struct end_wait *ends);
/* Whether the command waits for jobs or their ends. `w` may be NULL. */
bool waiting_is_asleep(const struct waiting *w);
/* Does the next part of a command that is asleep. Returns true if it has ended. */
bool waiting_try(struct waiting *w);
/* Ends a command that is asleep, because its time is over. */
void waiting_end_with_null(struct waiting *w);
/* Ends the command of a client as if its time were over, or with an error. Returns false if it is
 * not asleep. */
bool waiting_unblock(struct client *c, bool with_error);
/* The rights of a user have changed: ends the commands that are asleep, and that the user could no
 * longer send. */
void waitings_check_user(struct server *s, const struct user *user);
struct client *waiting_client(const struct waiting *w);
/* Returns the request that the client sent, as the next part would get it. */
const struct request *waiting_request(struct waiting *w);
/* The place in the lines, or NULL if the client does not wait for jobs. `w` may be NULL. */
struct line_wait *waiting_lines(const struct waiting *w);

/* The client ends: frees its command. Does nothing if the client does not wait. */
void waiting_abandon(struct client *c);

/* Bytes of the reply so far. */
size_t waiting_bytes(const struct waiting *w);
/* Memory of the command and its reply. `w` may be NULL. */
size_t waiting_memory(const struct waiting *w);

/* Returns whether no command goes on, and none began in this turn. */
static inline bool waitings_are_idle(const struct waitings *all)
{
	return all->going_on_count == 0 && all->first_ns == 0;
}
/* Returns whether a command can go on. */
bool waitings_can_run(const struct server *s);
/* Do some of the work. Once in each turn, unless waitings_are_idle(). */
void waitings_run(struct server *s);

#endif
