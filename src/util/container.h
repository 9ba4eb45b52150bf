/*
 * From a member that is a node to the object that contains it.
 */
#ifndef UTIL_CONTAINER_H
#define UTIL_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

/* The object of `type` whose `member` is at `ptr`, which is not NULL. Give `type` with const if
 * `ptr` has it. The conditional makes the compiler reject a wrong `ptr`. */
#define container_of(ptr, type, member) \
	((type *)((uintptr_t)(1 ? (ptr) : &((type *)NULL)->member) - offsetof(type, member)))

#endif
