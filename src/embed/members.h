/*
 * Structs of options from programs, which may know fewer or more members than this library.
 */
#ifndef EMBED_MEMBERS_H
#define EMBED_MEMBERS_H

#include <stddef.h>

#include "qless_store.h"

/* Copies the members that both know, and sets the others to 0. NULL stands for zeros. Returns
 * QLESS_STORE_EARGUMENT if the program has set a member that this library does not know. */
int members_read(void *to, size_t to_size, const void *from, struct qless_store_error *error);

/* `to` points to a struct, and `from` to one of the same name in the program. */
#define MEMBERS_READ(to, from, error) members_read((to), sizeof *(to), (from), (error))

#endif
