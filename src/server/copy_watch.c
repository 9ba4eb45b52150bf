#include "server/copy_watch.h"

#include <sys/stat.h>

#include "journal/copy.h"
#include "journal/manifest.h"

/* Microseconds between two looks at the marker. The call may wait for a disk. */
#define LOOK_US (60 * INT64_C(1000000))

void copy_watch_tick(struct copy_watch *w, const char *dir, int64_t mono_us)
{
	char path[JOURNAL_PATH_MAX];
	struct stat st;

	if (w->is_read && mono_us - w->read_us < LOOK_US)
		return;
	w->is_read = true;
	w->read_us = mono_us;
	journal_path(path, dir, COPY_MARKER_NAME);
	w->copied_s = lstat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec : 0;
}
