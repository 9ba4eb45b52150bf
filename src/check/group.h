/*
 * Lines about the log of a group of servers.
 */
#ifndef CHECK_GROUP_H
#define CHECK_GROUP_H

#include "journal/recover.h"

/* Print the group of a log that was loaded to its end, the node, its vote, and which entries are
 * not known to be committed. */
void group_print(const char *dir, const struct recovery *r);

#endif
