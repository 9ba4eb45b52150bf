/*
 * From a node that is a member of an object to the object.
 */
#ifndef UTIL_CONTAINER_H
#define UTIL_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

/* The object of `type` whose `member` is at `ptr`, which is not NULL. Give `type` with const if
 * `ptr` has it. The conditional is there for the compiler to complain about a wrong `ptr`. */
#define container_of(ptr, type, member) \
	((type *)((uintptr_t)(1 ? (ptr) : &((type *)NULL)->member) - offsetof(type, member)))

#endif
