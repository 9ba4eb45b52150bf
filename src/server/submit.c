#include "server/submit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/dispatch.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "util/container.h"
#include "util/mem.h"

enum submission_state {
	SUBMISSION_QUEUED,
	SUBMISSION_RUNNING,  /* its command goes on in later turns */
	SUBMISSION_ANSWERED, /* in this turn */
	SUBMISSION_WAITING,  /* at the gate */
	SUBMISSION_DUE,
};

struct submission {
	struct submitter *by;
	submit_fn *fn;
	void *arg;
	enum submission_state state;
	enum submit_outcome outcome;
	struct chain reply;
	struct gate_wait wait;
	TAILQ_ENTRY(submission) by_submitter;
	TAILQ_ENTRY(submission) by_state; /* not while it waits at the gate */
	int argc;
	struct qless_str argv[]; /* the bytes of the arguments follow */
};

void submissions_init(struct server *s)
{
	TAILQ_INIT(&s->submissions.submitters);
	TAILQ_INIT(&s->submissions.queued);
	TAILQ_INIT(&s->submissions.answered);
	TAILQ_INIT(&s->submissions.due);
}

void submissions_done(struct server *s)
{
	assert(TAILQ_EMPTY(&s->submissions.submitters) && s->submissions.count == 0);
}

/* Returns the list of a state, or NULL if it has none. */
static struct submission_list *list_of(struct submissions *all, enum submission_state state)
{
	switch (state) {
	case SUBMISSION_QUEUED:
		return &all->queued;
	case SUBMISSION_ANSWERED:
		return &all->answered;
	case SUBMISSION_DUE:
		return &all->due;
	case SUBMISSION_RUNNING:
	case SUBMISSION_WAITING:
		break;
	}
	return NULL;
}

static void leave_state(struct submissions *all, struct submission *sub)
{
	struct submission_list *list = list_of(all, sub->state);

	if (list != NULL)
		TAILQ_REMOVE(list, sub, by_state);
}

/* Submissions only go forward. */
static void enter_state(struct submissions *all, struct submission *sub,
			enum submission_state state)
{
	struct submission_list *list = list_of(all, state);

	assert(state > sub->state);
	leave_state(all, sub);
	sub->state = state;
	if (list != NULL)
		TAILQ_INSERT_TAIL(list, sub, by_state);
}

static void submission_free(struct server *s, struct submission *sub)
{
	assert(!gate_is_waiting(&sub->wait));
	leave_state(&s->submissions, sub);
	TAILQ_REMOVE(&sub->by->submissions, sub, by_submitter);
	s->submissions.count--;
	chain_done(&sub->reply);
	free(sub);
}

static struct submission *submission_new(struct submitter *by, const struct qless_str *argv,
					 int argc)
{
	size_t bytes = 0;
	struct submission *sub;
	char *to;

	for (int i = 0; i < argc; i++)
		bytes += argv[i].len;
	sub = mem_zalloc(sizeof *sub + (size_t)argc * sizeof *argv + bytes);
	sub->by = by;
	sub->argc = argc;
	chain_init(&sub->reply, &by->client.server->clients.chunks);
	to = (char *)(sub->argv + argc);
	for (int i = 0; i < argc; i++) {
		sub->argv[i] = str_make(to, argv[i].len);
		if (argv[i].len != 0)
			memcpy(to, argv[i].ptr, argv[i].len);
		to += argv[i].len;
	}
	return sub;
}

/*
 * Submitters
 */

/* The reply is taken after the command has run. Messages do not come, because submitters cannot
 * subscribe. */
static void ignore_output(struct client *client)
{
	(void)client;
}

static void ignore_limit(struct client *client, const char *limit)
{
	(void)client;
	(void)limit;
}

/* The caller frees the reply soon, so only max-reply-size limits it. */
static size_t unlimited_room(struct client *client)
{
	(void)client;
	return REPLY_NO_MAX;
}

/* The command of a submission that goes on has ended. */
static void end_running(struct submitter *by, enum submit_outcome outcome)
{
	struct submissions *all = &by->client.server->submissions;
	struct submission *sub;

	TAILQ_FOREACH(sub, &by->submissions, by_submitter) {
		if (sub->state == SUBMISSION_RUNNING)
			break;
	}
	assert(sub != NULL && by->client.hold == HOLD_COMMAND);
	sub->outcome = outcome;
	by->client.hold = HOLD_NONE;
	chain_move(&sub->reply, &by->client.out);
	enter_state(all, sub, SUBMISSION_ANSWERED);
	all->can_run = !TAILQ_EMPTY(&all->queued);
}

static void abandon_running(struct submitter *by)
{
	waiting_abandon(&by->client);
	end_running(by, SUBMIT_CLOSED);
}

static void on_command_ended(struct client *client)
{
	end_running(container_of(client, struct submitter, client), SUBMIT_ANSWERED);
}

static void close_client(struct client *client)
{
	container_of(client, struct submitter, client)->is_closed = true;
}

static void drop_client(struct client *client, const char *reason)
{
	(void)reason;
	close_client(client);
}

void submitter_init(struct submitter *by, struct server *s, const char *name,
		    const struct user *user)
{
	static const struct client_ops ops = {
		.output_grew = ignore_output,
		.output_room = unlimited_room,
		.output_exceeded = ignore_limit,
		.command_ended = on_command_ended,
		.finish = close_client,
		.drop = drop_client,
	};

	*by = (struct submitter){ .is_closed = s->stop.is_begun };
	client_init(&by->client, s, CLIENT_INTERNAL, &ops, mem_dup(name, strlen(name)));
	by->client.session.user = user;
	TAILQ_INIT(&by->submissions);
	TAILQ_INSERT_TAIL(&s->submissions.submitters, by, all);
}

void submitter_done(struct submitter *by)
{
	struct server *s = by->client.server;
	struct submission *first;

	assert(s->clients.running != &by->client);
	waiting_abandon(&by->client);
	while ((first = TAILQ_FIRST(&by->submissions)) != NULL) {
		gate_cancel(&s->gate, &first->wait);
		submission_free(s, first);
	}
	TAILQ_REMOVE(&s->submissions.submitters, by, all);
	client_done(&by->client);
}

void submissions_forget_user(struct server *s, const struct user *user)
{
	struct submitter *by;

	TAILQ_FOREACH(by, &s->submissions.submitters, all) {
		if (by->client.session.user != user)
			continue;
		by->client.session.user = NULL;
		if (by->client.waiting != NULL)
			abandon_running(by);
	}
}

/*
 * Running
 */

void server_submit(struct server *s, struct submitter *by, const struct qless_str *argv, int argc,
		   submit_fn *fn, void *arg)
{
	struct submission *sub = submission_new(by, argv, argc);

	assert(argc > 0 && by->client.server == s);
	sub->fn = fn;
	sub->arg = arg;
	TAILQ_INSERT_TAIL(&by->submissions, sub, by_submitter);
	TAILQ_INSERT_TAIL(&s->submissions.queued, sub, by_state);
	s->submissions.count++;
	s->submissions.can_run = true;
}

/* Returns false if the command is held back. */
static bool run(struct server *s, struct submission *sub)
{
	struct client *c = &sub->by->client;
	enum dispatch_result result = DISPATCH_DONE;

	if (sub->by->is_closed)
		sub->outcome = SUBMIT_CLOSED;
	else
		result = dispatch_request(c, sub->argv, sub->argc);
	if (result == DISPATCH_HOLD)
		return false;
	if (result == DISPATCH_WAIT) {
		enter_state(&s->submissions, sub, SUBMISSION_RUNNING);
		return true;
	}
	chain_move(&sub->reply, &c->out);
	enter_state(&s->submissions, sub, SUBMISSION_ANSWERED);
	return true;
}

void submissions_run(struct server *s)
{
	struct submissions *all = &s->submissions;
	struct submission *last = TAILQ_LAST(&all->queued, submission_list);
	struct submission *sub, *next;

	/* A command may submit another one. That comes after `last`, and runs in the next turn:
	 * server_submit() sets can_run again. */
	all->can_run = false;
	s->clocks.lap_ns = clock_mono_ns();
	for (sub = TAILQ_FIRST(&all->queued); sub != NULL; sub = next) {
		next = sub != last ? TAILQ_NEXT(sub, by_state) : NULL;
		if (sub->by->client.hold == HOLD_NONE && run(s, sub) &&
		    recording_wants_end_of_turn(s)) {
			all->can_run = true;
			return;
		}
	}
}

void submissions_release(struct server *s)
{
	struct submitter *by;

	TAILQ_FOREACH(by, &s->submissions.submitters, all) {
		if (by->client.hold != HOLD_COMMAND)
			by->client.hold = HOLD_NONE;
	}
	s->submissions.can_run = !TAILQ_EMPTY(&s->submissions.queued);
}

void submissions_stop(struct server *s)
{
	struct submitter *by;

	TAILQ_FOREACH(by, &s->submissions.submitters, all) {
		by->is_closed = true;
		if (by->client.waiting != NULL)
			abandon_running(by);
	}
	submissions_release(s);
}

/*
 * Answers
 */

static void on_durable(void *arg, enum gate_outcome outcome)
{
	struct submission *sub = arg;

	if (outcome == GATE_LOST && sub->outcome == SUBMIT_ANSWERED)
		sub->outcome = SUBMIT_LOST;
	enter_state(&sub->by->client.server->submissions, sub, SUBMISSION_DUE);
}

void submissions_lose_turn(struct server *s)
{
	struct submission *sub;

	TAILQ_FOREACH(sub, &s->submissions.answered, by_state) {
		if (sub->outcome == SUBMIT_ANSWERED)
			sub->outcome = SUBMIT_LOST;
	}
}

static void hand_over(struct server *s, struct submission *sub)
{
	submit_fn *fn = sub->fn;
	void *arg = sub->arg;
	enum submit_outcome outcome = sub->outcome;
	struct chain reply;

	chain_init(&reply, &s->clients.chunks);
	if (outcome == SUBMIT_ANSWERED)
		chain_move(&reply, &sub->reply);
	/* The callback may end the submitter, which frees its submissions. */
	submission_free(s, sub);
	if (fn != NULL)
		fn(arg, outcome, &reply);
	chain_done(&reply);
}

void submissions_end_turn(struct server *s)
{
	struct submissions *all = &s->submissions;
	uint64_t sequence = gate_pending(&s->gate);
	struct submission *sub;
	size_t count = 0;

	while ((sub = TAILQ_FIRST(&all->answered)) != NULL) {
		if (sequence != 0) {
			enter_state(all, sub, SUBMISSION_WAITING);
			gate_when(&s->gate, &sub->wait, sequence, on_durable, sub);
		} else {
			enter_state(all, sub, SUBMISSION_DUE);
		}
	}
	TAILQ_FOREACH(sub, &all->due, by_state)
		count++;
	for (; count != 0 && (sub = TAILQ_FIRST(&all->due)) != NULL; count--)
		hand_over(s, sub);
}
