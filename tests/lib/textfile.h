/*
 * Files of any length as text.
 */
#ifndef TESTS_TEXTFILE_H
#define TESTS_TEXTFILE_H

/* The whole file with a NUL after it, which the caller frees. Empty if there is no such file. */
char *textfile_read(const char *path);
void textfile_write(const char *path, const char *text);

#endif
