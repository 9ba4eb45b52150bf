/*
 * Randomness of the kernel: seeds and identities.
 */
#ifndef SYS_ENTROPY_H
#define SYS_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

/* Ends the process if the kernel has none, which it always has. */
void entropy_bytes(void *to, size_t len);
uint64_t entropy_u64(void);

/* `len` random bytes as 2 * len lowercase hex digits and a NUL. */
void entropy_hex(char *to, size_t len);

#endif
