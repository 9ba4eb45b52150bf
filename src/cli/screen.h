/*
 * A terminal that a program draws on, and the keys that are pressed there.
 *
 * The process has at most one. The terminal is as before after screen_close(), also when a signal
 * ends the program.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

/* Returns false if standard input or output is not a terminal. */
bool screen_open(void);
void screen_close(void);

/* Becomes readable when a key is pressed. */
int screen_input(void);

void screen_size(size_t *ret_rows, size_t *ret_columns);

/* Shows a text from the top of the screen. Its lines must fit. */
void screen_show(struct qless_str text);

enum screen_event {
	SCREEN_TIMEOUT,
	SCREEN_KEY,
	SCREEN_RESIZED,
	SCREEN_ENDED, /* by a signal, or because the terminal is gone */
};

/* Keys that are not characters. */
enum screen_key {
	SCREEN_INTERRUPT = 3,
	SCREEN_ESCAPE = 27,
	SCREEN_UP = 256,
	SCREEN_DOWN,
};

/* Waits for at most `timeout_ms`. *ret_key is the key of SCREEN_KEY. */
enum screen_event screen_wait(int timeout_ms, int *ret_key);

#endif
