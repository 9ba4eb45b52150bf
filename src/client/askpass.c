#include "client/askpass.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "sys/files.h"
#include "util/mem.h"

/* Keys, as control characters. */
#define KEY_INTERRUPT 3
#define KEY_END	      4
#define KEY_BACKSPACE 8
#define KEY_CLEAR     21
#define KEY_DELETE    127

/* Returns the length, or -1 if the person gave up. */
static int read_line(int fd, char line[ASKPASS_MAX])
{
	size_t len = 0;
	char key;

	for (;;) {
		ssize_t n = read(fd, &key, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || key == KEY_INTERRUPT || (key == KEY_END && len == 0))
			return -1;
		if (key == '\r' || key == '\n')
			return (int)len;
		if (key == KEY_CLEAR)
			len = 0;
		else if (key == KEY_BACKSPACE || key == KEY_DELETE)
			len -= len > 0;
		else if (len < ASKPASS_MAX && key != '\0')
			line[len++] = key;
	}
}

char *askpass_read(const char *prompt, struct buf *error)
{
	char line[ASKPASS_MAX], *password = NULL;
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC), len;
	struct termios before, quiet;

	if (fd < 0 || tcgetattr(fd, &before) < 0) {
		buf_printf(error, "there is no terminal to ask for the password");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	/* Ctrl-C arrives as a character, so the terminal is always left as it was. */
	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	tcsetattr(fd, TCSAFLUSH, &quiet);
	files_write_all(fd, str_from(prompt));
	len = read_line(fd, line);
	files_write_all(fd, STR("\n"));
	tcsetattr(fd, TCSAFLUSH, &before);
	close(fd);
	if (len < 0)
		buf_printf(error, "no password was given");
	else
		password = mem_dup(line, (size_t)len);
	explicit_bzero(line, sizeof line);
	return password;
}
