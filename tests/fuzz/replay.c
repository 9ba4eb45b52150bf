/*
 * Runs a fuzz target on every file of a directory. So every build tests the inputs that a fuzzer
 * once found.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/buf.h"

/* Bytes of an input at most; larger ones do not belong into a corpus. */
#define INPUT_MAX ((size_t)1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the whole file could be read. */
static bool read_file(const char *path, struct buf *content)
{
	FILE *file = fopen(path, "rb");
	size_t got = 0;
	char *room;

	if (file == NULL)
		return false;
	do {
		room = buf_reserve(content, 4096);
		if (room == NULL)
			break;
		got = fread(room, 1, 4096, file);
		buf_commit(content, got);
	} while (got != 0);
	if (room == NULL || ferror(file)) {
		fclose(file);
		return false;
	}
	fclose(file);
	return true;
}

static bool replay_file(const char *path)
{
	struct buf content = BUF_INIT(INPUT_MAX);
	char *exact;

	if (!read_file(path, &content)) {
		fprintf(stderr, "%s: cannot be read, or is too large\n", path);
		buf_done(&content);
		return false;
	}
	/* A block of just this size lets a sanitizer see a read of the byte after it. */
	exact = malloc(content.len != 0 ? content.len : 1);
	if (exact == NULL)
		abort();
	if (content.len != 0)
		memcpy(exact, buf_data(&content), content.len);
	LLVMFuzzerTestOneInput((const uint8_t *)exact, content.len);
	free(exact);
	buf_done(&content);
	return true;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	size_t count = 0;
	bool ok = true;
	DIR *dir;

	if (argc != 2) {
		fprintf(stderr, "usage: %s corpus-directory\n", argv[0]);
		return 1;
	}
	dir = opendir(argv[1]);
	if (dir == NULL) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	while (ok && (entry = readdir(dir)) != NULL) {
		char path[4096];
		struct stat st;

		snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
		if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
			continue;
		ok = replay_file(path);
		count++;
	}
	closedir(dir);
	if (ok && count == 0) {
		fprintf(stderr, "%s: nothing to replay\n", argv[1]);
		ok = false;
	}
	printf("%zu inputs\n", count);
	return ok ? 0 : 1;
}
