#include "run/program.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "run/spawn.h"

void program_init(struct program *p)
{
	*p = (struct program){ .input = -1, .output = -1, .errors = -1 };
	buf_init(&p->unsent, BUF_NO_MAX);
}

static void close_stream(int *stream)
{
	if (*stream >= 0)
		close(*stream);
	*stream = -1;
}

void program_done(struct program *p)
{
	close_stream(&p->input);
	close_stream(&p->output);
	close_stream(&p->errors);
	buf_done(&p->unsent);
}

/* The pipes of a program: ours[i] are the ends that stay here. */
struct pipes {
	int ours[3], theirs[3];
};

static int open_pipes(struct pipes *pipes)
{
	*pipes = (struct pipes){ .ours = { -1, -1, -1 }, .theirs = { -1, -1, -1 } };
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return -errno;
		pipes->theirs[i] = i == 0 ? ends[0] : ends[1];
		pipes->ours[i] = i == 0 ? ends[1] : ends[0];
		if (fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK) < 0)
			return -errno;
	}
	return 0;
}

int program_start(struct program *p, const char *path, char *const *argv, char *const *environment,
		  struct qless_str input, bool is_whole)
{
	struct spawn spawn = { .path = path, .argv = argv, .environment = environment };
	struct pipes pipes;
	int rc;

	assert(!p->is_alive);
	program_done(p);
	program_init(p);
	rc = open_pipes(&pipes);
	if (rc == 0) {
		p->input = pipes.ours[0];
		p->output = pipes.ours[1];
		p->errors = pipes.ours[2];
		for (int i = 0; i < 3; i++)
			spawn.streams[i] = pipes.theirs[i];
		p->is_input_whole = is_whole;
		program_give(p, input);
		rc = spawn_program(&spawn, &p->pid);
	} else {
		for (int i = 0; i < 3; i++)
			close_stream(&pipes.ours[i]);
	}
	for (int i = 0; i < 3; i++)
		close_stream(&pipes.theirs[i]);
	if (rc < 0) {
		program_done(p);
		program_init(p);
		return rc;
	}
	p->is_alive = true;
	return 0;
}

void program_give(struct program *p, struct qless_str input)
{
	buf_append_str(&p->unsent, input);
	program_feed(p);
}

void program_feed(struct program *p)
{
	while (p->input >= 0 && p->unsent.len != 0) {
		ssize_t sent = write(p->input, buf_data(&p->unsent), p->unsent.len);

		if (sent >= 0) {
			buf_consume(&p->unsent, (size_t)sent);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			/* The program reads no more, which is its own affair. */
			program_end_input(p);
		}
	}
	if (p->is_input_whole || p->input < 0)
		program_end_input(p);
}

void program_end_input(struct program *p)
{
	close_stream(&p->input);
	buf_done(&p->unsent);
	buf_init(&p->unsent, BUF_NO_MAX);
}

size_t program_read(int *stream, char *to, size_t max)
{
	ssize_t got;

	if (*stream < 0)
		return 0;
	do {
		got = read(*stream, to, max);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		return (size_t)got;
	if (got == 0 || errno != EAGAIN)
		close_stream(stream);
	return 0;
}

void program_signal(const struct program *p, int number)
{
	if (p->is_alive && kill(-p->pid, number) < 0)
		kill(p->pid, number);
}
