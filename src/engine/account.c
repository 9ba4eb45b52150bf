#include "engine/account.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/state_load.h"
#include "engine/state_save.h"
#include "util/mem.h"

/* The members of an account that a snapshot has: bits of a varint. They follow in this order. */
enum account_flag {
	ACCOUNT_RESULT = 1 << 0,  /* text */
	ACCOUNT_ERROR = 1 << 1,	  /* text */
	ACCOUNT_START = 1 << 2,	  /* time */
	ACCOUNT_PID = 1 << 3,	  /* varint */
	ACCOUNT_NODE = 1 << 4,	  /* text */
	ACCOUNT_PERCENT = 1 << 5, /* number */
	ACCOUNT_NOTE = 1 << 6,	  /* text */
	ACCOUNT_META = 1 << 7,	  /* varint count, then name and value texts of each */
	ACCOUNT_FLAGS = (1 << 8) - 1,
};

/* ---- texts ---- */

static void set_text(struct account_text *text, const struct qless_str *value)
{
	char *old = text->ptr;

	*text = (struct account_text){ NULL, 0 };
	if (value != NULL)
		*text = (struct account_text){ engine_dup(*value), value->len };
	free(old);
}

/* An empty text is none. */
static void set_name(struct account_text *text, struct qless_str value)
{
	set_text(text, value.len != 0 ? &value : NULL);
}

/* ---- birth and death ---- */

struct job_account *account_new(void)
{
	return mem_zalloc(sizeof(struct job_account));
}

bool account_is_empty(const struct job_account *account)
{
	return !account->is_started && !account->has_progress && account->result.ptr == NULL &&
	       account->error.ptr == NULL && account->meta_count == 0;
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
	for (size_t i = 0; i < account->meta_count; i++) {
		free(account->meta[i].name.ptr);
		free(account->meta[i].value.ptr);
	}
	free(account->meta);
	free(account->node.ptr);
	free(account->note.ptr);
	free(account->result.ptr);
	free(account->error.ptr);
	free(account);
}

size_t account_bytes(const struct job_account *account)
{
	return sizeof *account + account->node.len + account->note.len + account->result.len +
	       account->error.len + account->meta_count * sizeof account->meta[0] +
	       account->meta_bytes;
}

/* ---- runs ---- */

void account_begin_run(struct qless *q, struct qless_job *job)
{
	struct job_account *account = job_account(job);

	if (account == NULL)
		return;
	account->is_started = false;
	account->started = 0;
	account->pid = 0;
	set_text(&account->node, NULL);
	account->has_progress = false;
	account->percent = 0;
	set_text(&account->note, NULL);
	set_text(&account->result, NULL);
	job_release_account(q, job);
}

void account_start(struct qless *q, struct qless_job *job, double now, int64_t pid,
		   struct qless_str node)
{
	struct job_account *account = job_need_account(job);

	(void)q;
	assert(job->state == QLESS_RUNNING);
	if (!account->is_started)
		account->started = now;
	account->is_started = true;
	account->pid = pid;
	set_name(&account->node, node);
}

void account_set_progress(struct qless_job *job, double percent, const struct qless_str *note)
{
	struct job_account *account = job_need_account(job);

	assert(job->state == QLESS_RUNNING);
	account->has_progress = true;
	account->percent = percent;
	set_text(&account->note, note);
}

void account_set_result(struct qless *q, struct qless_job *job, const struct qless_str *result)
{
	if (result != NULL)
		job_need_account(job);
	if (job_account(job) == NULL)
		return;
	set_text(&job_account(job)->result, result);
	job_release_account(q, job);
}

void account_set_error(struct qless *q, struct qless_job *job, const struct qless_str *error)
{
	if (error != NULL)
		job_need_account(job);
	if (job_account(job) == NULL)
		return;
	set_text(&job_account(job)->error, error);
	job_release_account(q, job);
}

/* ---- fields of the application ---- */

/* Returns the place of the first field whose name is not before this one. */
static size_t meta_place(const struct job_account *account, struct qless_str name)
{
	size_t low = 0, high = account->meta_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_compare(account_str(&account->meta[middle].name), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct meta_field *account_find_meta(const struct job_account *account, struct qless_str name)
{
	size_t at;

	if (account == NULL)
		return NULL;
	at = meta_place(account, name);
	if (at == account->meta_count || !str_equal(account_str(&account->meta[at].name), name))
		return NULL;
	return &account->meta[at];
}

static void insert_meta(struct job_account *account, struct qless_str name)
{
	size_t at = meta_place(account, name);

	account->meta =
		mem_realloc_array(account->meta, account->meta_count + 1, sizeof account->meta[0]);
	memmove(account->meta + at + 1, account->meta + at,
		(account->meta_count - at) * sizeof account->meta[0]);
	account->meta[at] = (struct meta_field){ { engine_dup(name), name.len }, { NULL, 0 } };
	account->meta_count++;
	account->meta_bytes += name.len;
}

bool account_set_meta(struct qless_job *job, struct qless_str name, struct qless_str value)
{
	struct job_account *account = job_need_account(job);
	bool is_new = account_find_meta(account, name) == NULL;
	struct meta_field *field;

	if (is_new)
		insert_meta(account, name);
	field = &account->meta[meta_place(account, name)];
	account->meta_bytes += value.len - field->value.len;
	set_text(&field->value, &value);
	return is_new;
}

bool account_remove_meta(struct qless_job *job, struct qless_str name)
{
	struct job_account *account = job_account(job);
	const struct meta_field *found = account_find_meta(account, name);
	struct meta_field *field;

	if (found == NULL)
		return false;
	field = &account->meta[found - account->meta];
	account->meta_bytes -= field->name.len + field->value.len;
	free(field->name.ptr);
	free(field->value.ptr);
	account->meta_count--;
	memmove(field, field + 1,
		(size_t)(account->meta + account->meta_count - field) * sizeof *field);
	return true;
}

/* ---- reading ---- */

bool qless_job_account(const struct qless_job *job, struct qless_account *ret_account)
{
	const struct job_account *account = job_account(job);

	if (account == NULL)
		return false;
	*ret_account = (struct qless_account){
		.is_started = account->is_started,
		.started = account->started,
		.pid = account->pid,
		.node = account_str(&account->node),
		.has_progress = account->has_progress,
		.percent = account->percent,
		.note = account_str(&account->note),
		.result = account_str(&account->result),
		.error = account_str(&account->error),
		.meta_count = account->meta_count,
	};
	return true;
}

bool qless_job_next_meta(const struct qless_job *job, size_t *cursor, struct qless_str *ret_field,
			 struct qless_str *ret_value)
{
	const struct job_account *account = job_account(job);

	if (account == NULL || *cursor >= account->meta_count)
		return false;
	*ret_field = account_str(&account->meta[*cursor].name);
	*ret_value = account_str(&account->meta[*cursor].value);
	++*cursor;
	return true;
}

bool qless_job_find_meta(const struct qless_job *job, struct qless_str field,
			 struct qless_str *ret_value)
{
	const struct meta_field *found = account_find_meta(job_account(job), field);

	if (found == NULL)
		return false;
	*ret_value = account_str(&found->value);
	return true;
}

/* ---- snapshots ---- */

static unsigned flags_of(const struct job_account *account)
{
	unsigned flags = 0;

	if (account->result.ptr != NULL)
		flags |= ACCOUNT_RESULT;
	if (account->error.ptr != NULL)
		flags |= ACCOUNT_ERROR;
	if (account->is_started)
		flags |= ACCOUNT_START;
	if (account->pid != 0)
		flags |= ACCOUNT_PID;
	if (account->node.ptr != NULL)
		flags |= ACCOUNT_NODE;
	if (account->has_progress)
		flags |= ACCOUNT_PERCENT;
	if (account->note.ptr != NULL)
		flags |= ACCOUNT_NOTE;
	if (account->meta_count != 0)
		flags |= ACCOUNT_META;
	return flags;
}

static void save_text(struct saver *s, const struct account_text *text)
{
	if (text->ptr != NULL)
		state_save_text(s, account_str(text));
}

static void save_meta(struct saver *s, const struct job_account *account)
{
	state_save_varint(s, account->meta_count);
	for (size_t i = 0; i < account->meta_count; i++) {
		save_text(s, &account->meta[i].name);
		save_text(s, &account->meta[i].value);
	}
}

void account_save(struct saver *s, const struct job_account *account)
{
	state_save_varint(s, flags_of(account));
	save_text(s, &account->result);
	save_text(s, &account->error);
	if (account->is_started)
		state_save_time(s, account->started);
	if (account->pid != 0)
		state_save_varint(s, (uint64_t)account->pid);
	save_text(s, &account->node);
	if (account->has_progress)
		state_save_number(s, account->percent);
	save_text(s, &account->note);
	if (account->meta_count != 0)
		save_meta(s, account);
}

static void load_text(struct state_loader *l, struct account_text *text)
{
	struct qless_str value = state_read_text(l, QLESS_MAX_TEXT_BYTES);

	if (!l->failed)
		set_text(text, &value);
}

static void load_meta(struct state_loader *l, struct qless_job *job)
{
	uint64_t count = state_read_varint(l);

	if (count == 0)
		state_read_fail(l, "the account of a job has a list of fields without any");
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct account_text name = { NULL, 0 };
		struct qless_str value;

		load_text(l, &name);
		value = state_read_text(l, QLESS_MAX_TEXT_BYTES);
		if (!l->failed && !account_set_meta(job, account_str(&name), value))
			state_read_fail(l, "a field of a job comes twice");
		free(name.ptr);
	}
}

static void load_run(struct state_loader *l, struct job_account *account, uint64_t flags)
{
	uint64_t pid;

	if (flags & ACCOUNT_START) {
		account->is_started = true;
		account->started = state_read_time(l);
	}
	if (flags & ACCOUNT_PID) {
		pid = state_read_varint(l);
		if (pid == 0 || pid > INT64_MAX)
			state_read_fail(l, "the process of a job has no valid number");
		else
			account->pid = (int64_t)pid;
	}
	if (flags & ACCOUNT_NODE)
		load_text(l, &account->node);
	if (flags & ACCOUNT_PERCENT) {
		account->has_progress = true;
		account->percent = state_read_number(l);
	}
	if (flags & ACCOUNT_NOTE)
		load_text(l, &account->note);
}

/* Whether each flag that needs another one has it. */
static bool are_flags_valid(uint64_t flags)
{
	if (flags == 0 || flags > ACCOUNT_FLAGS)
		return false;
	return ((flags & (ACCOUNT_PID | ACCOUNT_NODE)) == 0 || (flags & ACCOUNT_START) != 0) &&
	       ((flags & ACCOUNT_NOTE) == 0 || (flags & ACCOUNT_PERCENT) != 0);
}

void account_load(struct state_loader *l, struct qless_job *job)
{
	uint64_t flags = state_read_varint(l);
	struct job_account *account;

	if (l->failed || !are_flags_valid(flags)) {
		state_read_fail(l, "the account of a job has flags that are not valid");
		return;
	}
	account = job_need_account(job);
	if (flags & ACCOUNT_RESULT)
		load_text(l, &account->result);
	if (flags & ACCOUNT_ERROR)
		load_text(l, &account->error);
	load_run(l, account, flags);
	if (flags & ACCOUNT_META)
		load_meta(l, job);
}
