#include "sys/zonefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/files.h"

#define ZONES "/usr/share/zoneinfo"

/* Bytes of the largest file that is read. Files of zones have up to 4 KB. */
#define FILE_BYTES_MAX ((size_t)64 * 1024)

/* Reading a device or a pipe might block. */
static int read_regular(const char *path, struct buf *ret_file)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	return files_read(path, FILE_BYTES_MAX, ret_file);
}

bool zonefile_read(struct qless_str name, struct buf *ret_file, struct buf *ret_error)
{
	struct buf path = BUF_INIT(BUF_NO_MAX);
	const char *dir = getenv("TZDIR");
	int rc;

	buf_printf(&path, "%s/%.*s", dir != NULL && dir[0] == '/' ? dir : ZONES, (int)name.len,
		   name.ptr);
	rc = read_regular(buf_cstr(&path), ret_file);
	if (rc == -ENOENT || rc == -ENOTDIR)
		buf_printf(ret_error, "there is no file %s; the package tzdata has the time zones",
			   buf_cstr(&path));
	else if (rc < 0)
		buf_printf(ret_error, "%s: %s", buf_cstr(&path), strerror(-rc));
	buf_done(&path);
	return rc == 0;
}
