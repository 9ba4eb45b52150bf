#include "console/files.h"

const struct console_file *console_find(struct qless_str path)
{
	for (size_t i = 0; i < console_file_count; i++)
		if (str_equal(console_files[i].path, path))
			return &console_files[i];
	return NULL;
}
