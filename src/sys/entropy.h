/*
 * Random bytes from the kernel, for seeds and identifiers.
 */
#ifndef SYS_ENTROPY_H
#define SYS_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

/* Ends the process if the kernel has no random bytes, which never happens. */
void entropy_bytes(void *to, size_t len);
uint64_t entropy_u64(void);

/* Writes `len` random bytes as 2 * len lowercase hexadecimal digits and a NUL. */
void entropy_hex(char *to, size_t len);

#endif
