/*
 * Checks of lists.
 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include <stdbool.h>

struct skiplist;
struct skipnode;

/* Whether the list finds the node; whether a list is in order and linked in both directions. */
bool check_is_in(const struct skiplist *list, const struct skipnode *node);
bool check_is_ordered(const struct skiplist *list);

#endif
