#include "textfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "unit.h"

char *textfile_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t len = 0, cap = 0;

	do {
		cap = cap != 0 ? 2 * cap : 4096;
		text = realloc(text, cap + 1);
		TEST_ASSERT_NOT_NULL(text);
		if (f != NULL)
			len += fread(text + len, 1, cap - len, f);
	} while (len == cap);
	text[len] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

void textfile_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
	fchmod(fileno(f), 0600); /* independent of the umask */
	fputs(text, f);
	TEST_ASSERT_EQUAL_INT(0, fclose(f));
}
