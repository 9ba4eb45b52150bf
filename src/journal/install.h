/*
 * A snapshot that arrives from another node. For this folder only.
 */
#ifndef JOURNAL_INSTALL_H
#define JOURNAL_INSTALL_H

#include <stdint.h>

#include "journal/base_check.h"

struct journal;

/* The name of the file until the snapshot is whole. */
#define INSTALL_NAME "incoming"

struct install {
	int fd; /* -1: no snapshot is arriving */
	uint64_t size, salt;
	uint64_t written;
	uint64_t unsynced; /* bytes since the last sync */
	struct base_check check;
};

void install_init(struct install *in);
/* Remove what an earlier process has left. */
void install_clean_up(const struct journal *j);

#endif
