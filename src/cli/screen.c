#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "sys/files.h"

/* Size of a terminal that does not tell. */
#define ROWS	24
#define COLUMNS 80

static struct termios before;
static bool is_open;
/* Signals arrive only while screen_wait() waits, so none is missed before it begins to. */
static sigset_t signals_before;
static volatile sig_atomic_t was_resized;
static volatile sig_atomic_t must_end;

static void on_resize(int signal)
{
	(void)signal;
	was_resized = 1;
}

static void on_end(int signal)
{
	(void)signal;
	must_end = 1;
}

static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t blocked;

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, signal);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
}

bool screen_open(void)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0)
		return false;
	sigprocmask(SIG_SETMASK, NULL, &signals_before);
	handle(SIGWINCH, on_resize);
	handle(SIGTERM, on_end);
	handle(SIGHUP, on_end);
	handle(SIGINT, on_end);
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) < 0)
		return false;
	is_open = true;
	/* The alternate screen, without a cursor. */
	files_write_all(STDOUT_FILENO, STR("\033[?1049h\033[?25l"));
	return true;
}

void screen_close(void)
{
	if (!is_open)
		return;
	is_open = false;
	files_write_all(STDOUT_FILENO, STR("\033[?25h\033[?1049l"));
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

int screen_input(void)
{
	return STDIN_FILENO;
}

void screen_size(size_t *ret_rows, size_t *ret_columns)
{
	struct winsize size;

	*ret_rows = ROWS;
	*ret_columns = COLUMNS;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
		*ret_rows = size.ws_row;
		*ret_columns = size.ws_col;
	}
}

void screen_show(struct qless_str text)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	const char *at = text.ptr, *end = text.ptr + text.len;

	/* Each line clears what was there before, so the screen does not flicker. */
	buf_append_str(&out, STR("\033[H"));
	while (at < end) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		const char *stop = lf != NULL ? lf : end;

		buf_append(&out, at, (size_t)(stop - at));
		buf_append_str(&out, STR("\033[K"));
		at = stop + (lf != NULL);
		if (at < end)
			buf_append_str(&out, STR("\r\n"));
	}
	buf_append_str(&out, STR("\033[J"));
	if (files_write_all(STDOUT_FILENO, buf_str(&out)) < 0)
		must_end = 1;
	buf_done(&out);
}

/* An arrow key sends ESC [ A or ESC [ B. */
static int decode(const char *keys, ssize_t count)
{
	if (count >= 3 && keys[0] == SCREEN_ESCAPE && (keys[1] == '[' || keys[1] == 'O')) {
		if (keys[2] == 'A')
			return SCREEN_UP;
		if (keys[2] == 'B')
			return SCREEN_DOWN;
	}
	return (unsigned char)keys[0];
}

enum screen_event screen_wait(int timeout_ms, int *ret_key)
{
	struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec timeout = { .tv_sec = timeout_ms / 1000,
				    .tv_nsec = timeout_ms % 1000 * 1000000L };
	char keys[16];
	ssize_t count;
	int rc;

	if (must_end)
		return SCREEN_ENDED;
	rc = ppoll(&ready, 1, &timeout, &signals_before);
	if (must_end)
		return SCREEN_ENDED;
	if (was_resized) {
		was_resized = 0;
		return SCREEN_RESIZED;
	}
	if (rc == 0 || (rc < 0 && errno == EINTR))
		return SCREEN_TIMEOUT;
	count = rc > 0 ? read(STDIN_FILENO, keys, sizeof keys) : -1;
	if (count <= 0)
		return SCREEN_ENDED;
	*ret_key = decode(keys, count);
	return SCREEN_KEY;
}
