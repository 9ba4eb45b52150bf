/*
 * Tokens: words that the load makes up, each once, such as tk00000042z. Every command that changes
 * something has one of its own. So the record of a command can be found, and a reply tells which
 * changes its client has learned of.
 */
#ifndef POWERLOSS_TOKENS_H
#define POWERLOSS_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

#define TOKEN_DIGITS 8
/* Numbers of tokens are below this. */
#define TOKENS_MAX ((size_t)4 * 1000 * 1000)

typedef void token_fn(void *arg, size_t number);

/* Call `each` with the number of every token in the text. */
void tokens_find(struct qless_str text, token_fn *each, void *arg);

#endif
