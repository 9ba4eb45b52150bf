/*
 * The account of a job: what its workers reported about it.
 */
#ifndef ENGINE_ACCOUNT_H
#define ENGINE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"

struct saver;
struct state_loader;

struct job_account {
	char *result; /* NULL: none */
	size_t result_len;
};

struct job_account *account_new(void);
/* Whether nothing is in it, so that the job need not have it. */
bool account_is_empty(const struct job_account *account);
void account_free(struct qless *q, struct job_account *account);
/* Free it for qless_free_some(), without telling the engine. NULL is a no-op. */
void account_discard(struct job_account *account);
size_t account_bytes(const struct job_account *account);

/* Copies the text; NULL removes it. */
void account_set_result(struct job_account *account, const struct qless_str *result);

/* The section of a job in a snapshot, see state.c. */
void account_save(struct saver *s, const struct job_account *account);
void account_load(struct state_loader *l, struct qless_job *job);

#endif
