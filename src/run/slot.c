#include "run/slot.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/answer.h"
#include "run/capture.h"
#include "run/environment.h"
#include "run/family.h"
#include "run/job.h"
#include "run/message.h"
#include "run/program.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/process.h"
#include "util/json.h"

/* Bytes that are read from a stream at once: what a pipe holds. */
#define READ_BYTES ((size_t)64 * 1024)
/* Milliseconds between two attempts to kill what is left of a job. */
#define KILL_AGAIN_MS 100
#define NEVER	      INT64_MAX

enum phase {
	PHASE_IDLE,    /* no job; a program that answers by lines may wait for the next one */
	PHASE_RUNNING, /* a job runs */
	PHASE_ENDING,  /* TERM was sent, KILL follows */
	PHASE_DYING,   /* nothing may go on: all processes get KILL until none is left */
};

struct slot {
	const struct slot_settings *set;
	unsigned number;
	int control, signals;
	struct buf in, out;
	struct environment environment;
	enum phase phase;
	bool has_job;
	bool is_leaving; /* the slot ends when nothing is left of the program */
	bool has_children;
	struct job job;
	struct program program;
	struct capture result, errors;
	struct buf line; /* of a program that answers by lines, up to its newline */
	bool has_cause;
	enum message_cause cause;
	int value;
	int64_t timeout_at_us, kill_at_us; /* NEVER if nothing is to be done */
	int64_t processor_us;		   /* of children before the job */
};

static int64_t children_processor_us(void)
{
	struct process_usage usage;

	process_usage_read(&usage);
	return usage.children_user_us + usage.children_system_us;
}

/* The socket may block: qless-run always reads. If it is dead, its end of the socket says so. */
static void send_message(struct slot *s, enum message_kind kind, struct qless_str first,
			 struct qless_str second)
{
	message_append(&s->out, kind, first, second);
	files_write_all(s->control, buf_str(&s->out));
	buf_clear(&s->out);
}

static void set_cause(struct slot *s, enum message_cause cause, int value)
{
	if (s->has_cause)
		return;
	s->has_cause = true;
	s->cause = cause;
	s->value = value;
}

/* Nothing of the job is left, or its program has answered. */
static void finish_job(struct slot *s, struct qless_str result)
{
	struct message_ended ended = {
		.cause = (uint32_t)s->cause,
		.value = s->value,
		.is_result_cut = s->result.is_cut,
		.are_errors_cut = s->errors.is_cut,
		.scratch_error = -scratch_remove(s->set->scratch, s->number),
		.processor_us = children_processor_us() - s->processor_us,
	};
	struct qless_str errors = capture_bytes(&s->errors);
	struct buf texts = BUF_INIT(BUF_NO_MAX);

	assert(s->has_job && s->has_cause);
	ended.result_len = (uint32_t)result.len;
	ended.errors_len = (uint32_t)errors.len;
	buf_append_str(&texts, result);
	buf_append_str(&texts, errors);
	job_done(&s->job);
	s->has_job = false;
	s->timeout_at_us = NEVER;
	if (s->phase == PHASE_RUNNING)
		s->phase = PHASE_IDLE;
	send_message(s, MESSAGE_ENDED, str_make((const char *)&ended, sizeof ended),
		     buf_str(&texts));
	buf_done(&texts);
}

static void begin_dying(struct slot *s)
{
	s->phase = PHASE_DYING;
	s->kill_at_us = NEVER;
	program_end_input(&s->program);
	program_signal(&s->program, SIGKILL);
	family_kill(NULL, NULL);
}

/* A stopped process acts on TERM only when it continues. */
static void begin_ending(struct slot *s)
{
	if (s->phase != PHASE_RUNNING)
		return;
	if (s->set->kill_after_us == 0 || !s->program.is_alive) {
		begin_dying(s);
		return;
	}
	s->phase = PHASE_ENDING;
	s->kill_at_us = clock_mono_us() + s->set->kill_after_us;
	program_signal(&s->program, SIGTERM);
	program_signal(&s->program, SIGCONT);
}

/* ---- starting ---- */

static void fail_start(struct slot *s, const char *what, const char *path, int error)
{
	char text[300];
	int len = snprintf(text, sizeof text, "cannot %s %s: %s", what, path, strerror(error));

	capture_add(&s->errors,
		    str_make(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1));
	set_cause(s, CAUSE_NOT_STARTED, error);
	finish_job(s, STR(""));
}

static int start_program(struct slot *s, const char *scratch, struct qless_str input)
{
	bool is_by_lines = s->set->is_by_lines;
	const struct job *job = is_by_lines ? NULL : &s->job;
	int rc = -E2BIG;

	/* If the system refuses long values, they are left to standard input. */
	for (size_t max = ENVIRONMENT_VALUE_MAX; rc == -E2BIG && max > ENVIRONMENT_VALUE_SMALL / 2;
	     max = max > ENVIRONMENT_VALUE_SMALL ? ENVIRONMENT_VALUE_SMALL : 0) {
		environment_set_job(&s->environment, job, is_by_lines ? NULL : scratch,
				    s->set->worker, max);
		rc = program_start(&s->program, s->set->path, s->set->argv,
				   s->environment.variables, input, !is_by_lines);
	}
	return rc;
}

/* The object of the job is one line, as the server writes it. A program that answers by lines finds
 * the scratch directory there, as a further member. */
static void append_input(const struct slot *s, const char *scratch, struct buf *out)
{
	struct qless_str json = s->job.json;

	if (s->set->is_by_lines) {
		buf_append(out, json.ptr, json.len - 1);
		buf_append_str(out, STR(",\"scratch\":"));
		json_append_string(out, str_from(scratch));
		buf_append_char(out, '}');
	} else {
		buf_append_str(out, json);
	}
	buf_append_char(out, '\n');
}

static void begin_job(struct slot *s, struct qless_str json)
{
	struct buf scratch = BUF_INIT(BUF_NO_MAX), input = BUF_INIT(BUF_NO_MAX);
	double timeout_s;
	int64_t pid;
	int rc;

	if (s->has_job || !job_init(&s->job, json))
		return; /* qless-run sends neither */
	s->has_job = true;
	s->has_cause = false;
	s->phase = PHASE_RUNNING;
	s->processor_us = children_processor_us();
	capture_clear(&s->result);
	capture_clear(&s->errors);
	buf_clear(&s->line);
	rc = scratch_make(s->set->scratch, s->number, &scratch);
	if (rc < 0) {
		fail_start(s, "make a directory in", s->set->scratch->base_path, -rc);
		goto done;
	}
	append_input(s, buf_cstr(&scratch), &input);
	if (s->program.is_alive)
		program_give(&s->program, buf_str(&input));
	else
		rc = start_program(s, buf_cstr(&scratch), buf_str(&input));
	if (rc < 0) {
		fail_start(s, "execute", s->set->path, -rc);
		goto done;
	}
	s->has_children = true;
	timeout_s = s->job.runtime_s;
	if (timeout_s > 0 && timeout_s < 1e9)
		s->timeout_at_us = clock_mono_us() + clock_from_seconds(timeout_s);
	if (s->set->timeout_us != 0 && clock_mono_us() + s->set->timeout_us < s->timeout_at_us)
		s->timeout_at_us = clock_mono_us() + s->set->timeout_us;
	pid = s->program.pid;
	send_message(s, MESSAGE_STARTED, str_make((const char *)&pid, sizeof pid), STR(""));
done:
	buf_done(&scratch);
	buf_done(&input);
}

/* ---- output ---- */

/* A line of a program that answers by lines. Lines without a job are left from an earlier one, and
 * mean nothing. */
static void read_line(struct slot *s, struct qless_str line)
{
	struct answer answer;
	const char *fault;

	if (s->phase != PHASE_RUNNING)
		return;
	fault = answer_init(&answer, line, buf_str(&s->job.jid));
	if (fault != NULL) {
		capture_add(&s->errors, STR("qless-run: "));
		capture_add(&s->errors, str_from(fault));
		capture_add(&s->result, line);
		set_cause(s, CAUSE_NONSENSE, 0);
		begin_ending(s);
		return;
	}
	if (answer.status == ANSWER_PROGRESS) {
		send_message(s, MESSAGE_PROGRESS, line, STR(""));
	} else {
		set_cause(s, CAUSE_ANSWERED, 0);
		finish_job(s, line);
	}
	answer_done(&answer);
}

static void read_lines(struct slot *s, struct qless_str bytes)
{
	while (bytes.len != 0) {
		const char *newline = memchr(bytes.ptr, '\n', bytes.len);
		size_t len = newline != NULL ? (size_t)(newline - bytes.ptr) : bytes.len;

		buf_append(&s->line, bytes.ptr, len);
		if (newline != NULL || s->line.len > SLOT_LINE_MAX + s->set->result_max) {
			read_line(s, buf_str(&s->line));
			buf_clear(&s->line);
		}
		len += newline != NULL;
		bytes = str_make(bytes.ptr + len, bytes.len - len);
	}
}

/* Returns whether there was anything. */
static bool read_output(struct slot *s)
{
	char bytes[READ_BYTES];
	size_t got = program_read(&s->program.output, bytes, sizeof bytes);

	if (s->set->is_by_lines)
		read_lines(s, str_make(bytes, got));
	else
		capture_add(&s->result, str_make(bytes, got));
	return got != 0;
}

static bool read_errors(struct slot *s)
{
	char bytes[READ_BYTES];
	size_t got = program_read(&s->program.errors, bytes, sizeof bytes);

	capture_add(&s->errors, str_make(bytes, got));
	if (s->set->copies_errors)
		files_write_all(STDERR_FILENO, str_make(bytes, got));
	return got != 0;
}

/* ---- the end ---- */

/* All processes are gone, so the pipes have what was written to them, and then their end. */
static void finish_program(struct slot *s)
{
	while (read_output(s))
		;
	while (read_errors(s))
		;
	program_done(&s->program);
	program_init(&s->program);
	if (s->has_job)
		finish_job(s, capture_bytes(&s->result));
	s->phase = PHASE_IDLE;
	s->kill_at_us = NEVER;
}

static void note_end(struct slot *s, int status)
{
	s->program.is_alive = false;
	if (!s->has_job)
		return;
	/* An answer that the program wrote before its end counts. */
	while (s->set->is_by_lines && s->has_job && read_output(s))
		;
	if (s->has_job && WIFSIGNALED(status))
		set_cause(s, CAUSE_SIGNALLED, WTERMSIG(status));
	else if (s->has_job)
		set_cause(s, CAUSE_EXITED, WEXITSTATUS(status));
}

/* The job ends with its program. What the program leaves is killed. */
static void bury(struct slot *s)
{
	struct signalfd_siginfo ignored;
	struct family_death death;

	while (read(s->signals, &ignored, sizeof ignored) > 0)
		;
	do {
		death = family_bury();
		if (death.pid != 0 && death.pid == s->program.pid && s->program.is_alive)
			note_end(s, death.status);
	} while (death.pid != 0);
	s->has_children = death.has_children;
	if (s->program.is_alive)
		return;
	if (s->has_children)
		begin_dying(s);
	else if (s->program.pid != 0)
		finish_program(s);
}

static void leave(struct slot *s, bool is_orphan)
{
	s->is_leaving = true;
	if (is_orphan || s->set->kill_after_us == 0) {
		if (s->phase != PHASE_DYING)
			begin_dying(s);
		set_cause(s, CAUSE_ORDERED, 0);
		return;
	}
	/* The end of its input tells a program that answers by lines to end. */
	program_end_input(&s->program);
	s->kill_at_us = clock_mono_us() + s->set->kill_after_us;
}

static void obey(struct slot *s, const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_RUN:
		bury(s); /* the program may have ended since the last job */
		begin_job(s, message->body);
		break;
	case MESSAGE_END:
		if (s->has_job) {
			set_cause(s, CAUSE_ORDERED, 0);
			begin_ending(s);
		}
		break;
	case MESSAGE_KILL:
		if (s->has_job) {
			set_cause(s, CAUSE_ORDERED, 0);
			begin_dying(s);
		}
		break;
	case MESSAGE_QUIT:
		leave(s, false);
		break;
	case MESSAGE_STARTED:
	case MESSAGE_PROGRESS:
	case MESSAGE_ENDED:
		break;
	}
}

static void read_control(struct slot *s)
{
	struct message message;
	size_t len;
	ssize_t got = recv(s->control, buf_reserve(&s->in, READ_BYTES), READ_BYTES, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		if (!s->is_leaving || s->phase != PHASE_DYING)
			leave(s, true);
		close(s->control);
		s->control = -1;
		return;
	}
	buf_commit(&s->in, (size_t)got);
	while ((len = message_read(&s->in, &message)) != 0) {
		obey(s, &message);
		buf_consume(&s->in, len);
	}
}

static void check_times(struct slot *s)
{
	int64_t now = clock_mono_us();

	if (now >= s->timeout_at_us && s->phase == PHASE_RUNNING) {
		set_cause(s, CAUSE_TIMED_OUT, 0);
		begin_ending(s);
	}
	if (now >= s->kill_at_us || s->phase == PHASE_DYING)
		begin_dying(s);
}

static int find_wait_ms(const struct slot *s)
{
	int64_t at = s->kill_at_us, wait_ms;

	if (s->phase == PHASE_DYING)
		return KILL_AGAIN_MS;
	if (s->phase == PHASE_RUNNING && s->timeout_at_us < at)
		at = s->timeout_at_us;
	if (at == NEVER)
		return -1;
	wait_ms = (at - clock_mono_us()) / 1000 + 1;
	return wait_ms < 0 ? 0 : wait_ms > INT32_MAX ? INT32_MAX : (int)wait_ms;
}

static void wait_for_events(struct slot *s)
{
	enum { CONTROL, SIGNALS, OUTPUT, ERRORS, INPUT, COUNT };
	struct pollfd fds[COUNT] = {
		[CONTROL] = { .fd = s->control, .events = POLLIN },
		[SIGNALS] = { .fd = s->signals, .events = POLLIN },
		[OUTPUT] = { .fd = s->program.output, .events = POLLIN },
		[ERRORS] = { .fd = s->program.errors, .events = POLLIN },
		[INPUT] = { .fd = s->program.unsent.len != 0 ? s->program.input : -1,
			    .events = POLLOUT },
	};

	if (poll(fds, COUNT, find_wait_ms(s)) < 0)
		return;
	if (fds[OUTPUT].revents != 0)
		read_output(s);
	if (fds[ERRORS].revents != 0)
		read_errors(s);
	if (fds[INPUT].revents != 0)
		program_feed(&s->program);
	if (fds[SIGNALS].revents != 0)
		bury(s);
	if (fds[CONTROL].revents != 0)
		read_control(s);
	check_times(s);
}

static bool is_over(const struct slot *s)
{
	return s->is_leaving && !s->has_job && !s->program.is_alive && !s->has_children;
}

static int watch_children(void)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

void slot_serve(const struct slot_settings *settings, unsigned number, int control)
{
	struct slot s = {
		.set = settings,
		.number = number,
		.control = control,
		.signals = watch_children(),
		.timeout_at_us = NEVER,
		.kill_at_us = NEVER,
	};

	family_adopt();
	buf_init(&s.in, BUF_NO_MAX);
	buf_init(&s.out, BUF_NO_MAX);
	buf_init(&s.line, BUF_NO_MAX);
	program_init(&s.program);
	capture_init(&s.result, CAPTURE_FIRST, settings->result_max);
	capture_init(&s.errors, CAPTURE_LAST, settings->errors_max);
	environment_init(&s.environment, settings->environment);
	/* An earlier process of this slot may have left something when it was killed. */
	scratch_remove(settings->scratch, number);
	while (!is_over(&s))
		wait_for_events(&s);
	scratch_remove(settings->scratch, number);
	environment_done(&s.environment);
	capture_done(&s.errors);
	capture_done(&s.result);
	program_done(&s.program);
	buf_done(&s.line);
	buf_done(&s.out);
	buf_done(&s.in);
	close(s.signals);
}
