/*
 * Whether lists hold together.
 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include <stdbool.h>

struct skiplist;
struct skipnode;

/* In order, and each node where the list finds it. */
bool check_is_in(const struct skiplist *list, const struct skipnode *node);
bool check_is_ordered(const struct skiplist *list);

#endif
