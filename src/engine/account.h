/*
 * The account of a job: what its workers reported about it, and fields of the application.
 */
#ifndef ENGINE_ACCOUNT_H
#define ENGINE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"

struct qless_job;
struct saver;
struct state_loader;

struct account_text {
	char *ptr; /* NULL: none */
	size_t len;
};

/* A field of the application. */
struct meta_field {
	struct account_text name;
	struct account_text value;
};

struct job_account {
	bool is_started;
	double started;
	int64_t pid;
	struct account_text node;
	bool has_progress;
	double percent;
	struct account_text note;
	struct account_text result;
	struct account_text error;
	struct meta_field *meta; /* in the order of the names */
	size_t meta_count;
	size_t meta_bytes; /* of all names and values */
};

struct job_account *account_new(void);
/* Whether nothing is in it, so that the job need not have it. */
bool account_is_empty(const struct job_account *account);
void account_free(struct qless *q, struct job_account *account);
/* Free it for qless_free_some(), without telling the engine. NULL is a no-op. */
void account_discard(struct job_account *account);
size_t account_bytes(const struct job_account *account);

/* ---- changes; a job that has nothing in its account any more has none ---- */

/* Forget what the account says about the last run. */
void account_begin_run(struct qless *q, struct qless_job *job);
/* Copy the text; NULL removes it. */
void account_set_result(struct qless *q, struct qless_job *job, const struct qless_str *result);
void account_set_error(struct qless *q, struct qless_job *job, const struct qless_str *error);
void account_start(struct qless *q, struct qless_job *job, double now, int64_t pid,
		   struct qless_str node);
void account_set_progress(struct qless_job *job, double percent, const struct qless_str *note);
/* Set or remove a field. Each returns whether the number of fields has changed. */
bool account_set_meta(struct qless_job *job, struct qless_str name, struct qless_str value);
bool account_remove_meta(struct qless_job *job, struct qless_str name);
/* The field of that name; NULL if there is none. `account` may be NULL. */
const struct meta_field *account_find_meta(const struct job_account *account,
					   struct qless_str name);

/* The section of a job in a snapshot, see state.c. */
void account_save(struct saver *s, const struct job_account *account);
void account_load(struct state_loader *l, struct qless_job *job);

static inline struct qless_str account_str(const struct account_text *text)
{
	return (struct qless_str){ text->ptr, text->len };
}

#endif
