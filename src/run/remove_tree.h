/*
 * Removing a directory with everything below it, whatever a program has put there.
 */
#ifndef RUN_REMOVE_TREE_H
#define RUN_REMOVE_TREE_H

/* Remove `name` of the directory `parent`, a file or a directory. Never follows a symbolic link.
 * Needs few descriptors and little stack, however deep the directories are. Returns 0, also if
 * there is no such name, or a negative errno; then something is left. */
int remove_tree(int parent, const char *name);

#endif
