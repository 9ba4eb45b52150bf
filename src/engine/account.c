#include "engine/account.h"

#include <stdlib.h>

#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/state_load.h"
#include "engine/state_save.h"
#include "util/mem.h"

/* The members of an account that a snapshot has. */
enum account_flag {
	ACCOUNT_RESULT = 1 << 0,
	ACCOUNT_FLAGS = (1 << 1) - 1,
};

struct job_account *account_new(void)
{
	return mem_zalloc(sizeof(struct job_account));
}

bool account_is_empty(const struct job_account *account)
{
	return account->result == NULL;
}

void account_free(struct qless *q, struct job_account *account)
{
	(void)q;
	account_discard(account);
}

void account_discard(struct job_account *account)
{
	if (account == NULL)
		return;
	free(account->result);
	free(account);
}

size_t account_bytes(const struct job_account *account)
{
	return sizeof *account + account->result_len;
}

void account_set_result(struct job_account *account, const struct qless_str *result)
{
	char *old = account->result;

	account->result = result != NULL ? engine_dup(*result) : NULL;
	account->result_len = result != NULL ? result->len : 0;
	free(old);
}

/* ---- snapshots ---- */

void account_save(struct saver *s, const struct job_account *account)
{
	state_save_varint(s, account->result != NULL ? ACCOUNT_RESULT : 0);
	if (account->result != NULL)
		state_save_text(s, str_make(account->result, account->result_len));
}

void account_load(struct state_loader *l, struct qless_job *job)
{
	uint64_t flags = state_read_varint(l);
	struct qless_str result;

	if (flags == 0 || flags > ACCOUNT_FLAGS) {
		state_read_fail(l, "the account of a job has flags that are not known");
		return;
	}
	if (flags & ACCOUNT_RESULT) {
		result = state_read_text(l, QLESS_MAX_TEXT_BYTES);
		if (!l->failed)
			account_set_result(job_need_account(job), &result);
	}
}
