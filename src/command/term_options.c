#include "command/term_options.h"

#include <math.h>

#include "command/checking.h"
#include "command/classic_int.h"
#include "command/permit.h"
#include "engine/runtime.h"
#include "engine/unique.h"
#include "util/base64.h"
#include "util/hex.h"
#include "util/mem.h"

/* Decode the values of an option, of which the first is at `value`. */
typedef int term_decode_fn(struct request *req, const struct qless_str *value,
			   struct qless_terms *terms);

/* Where a put happens when the command comes in. */
#define AT_ONCE (TERM_OF_PUT | TERM_OF_REQUEUE | TERM_OF_NEXT)
/* Where the client sends the data of a job together with the option. RECUR.UPDATE has a word for
 * either. */
#define WITH_DATA (TERM_OF_PUT | TERM_OF_REQUEUE | TERM_OF_RECUR | TERM_OF_NEXT)
#define EVERYWHERE \
	(TERM_OF_PUT | TERM_OF_REQUEUE | TERM_OF_RECUR | TERM_OF_NEXT | TERM_OF_RECUR_UPDATE)

/* ---- values ---- */

static int decode_seconds(struct request *req, const char *argument, struct qless_str text,
			  double *ret_seconds)
{
	if (request_reads_number(req, text, ret_seconds) && *ret_seconds >= 0 &&
	    *ret_seconds <= STRICT_NUMBER_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG, "%s must be a number from 0 to %g; found \"%S\"",
			    argument, STRICT_NUMBER_MAX, text);
}

static int decode_at(struct request *req, const struct qless_str *value, struct qless_terms *terms)
{
	terms->has_at = true;
	return decode_seconds(req, "at", *value, &terms->at);
}

static int decode_nx(struct request *req, const struct qless_str *value, struct qless_terms *terms)
{
	(void)req;
	(void)value;
	terms->is_new = true;
	return 0;
}

static int decode_backoff(struct request *req, const struct qless_str *value,
			  struct qless_terms *terms)
{
	struct qless_backoff *backoff = &terms->backoff;
	unsigned kind = QLESS_BACKOFF_FIXED;
	int rc;

	while (kind <= QLESS_BACKOFF_EXPONENTIAL &&
	       !str_equal_nocase(value[0], qless_backoff_text(kind)))
		kind++;
	if (kind > QLESS_BACKOFF_EXPONENTIAL)
		return request_fail(req, QLESS_EBADARG,
				    "backoff must be fixed, linear or exponential; found \"%S\"",
				    value[0]);
	rc = decode_seconds(req, "The base of backoff", value[1], &backoff->base);
	if (rc == 0)
		rc = decode_seconds(req, "The maximum of backoff", value[2], &backoff->max);
	/* Without a delay there is none. */
	backoff->kind = backoff->base > 0 && backoff->max > 0 ? kind : QLESS_BACKOFF_NONE;
	terms->has_backoff = true;
	return rc;
}

static int decode_runtime(struct request *req, const struct qless_str *value,
			  struct qless_terms *terms)
{
	double *seconds = &terms->runtime;

	terms->has_runtime = true;
	if (request_reads_number(req, *value, seconds) &&
	    (*seconds == 0 || (*seconds >= RUNTIME_MIN && *seconds <= STRICT_NUMBER_MAX)))
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "runtime must be 0 or a number from %g to %g; found \"%S\"",
			    RUNTIME_MIN, STRICT_NUMBER_MAX, *value);
}

static int decode_retain(struct request *req, const struct qless_str *value,
			 struct qless_terms *terms)
{
	double *seconds = &terms->retain;

	terms->has_retain = true;
	if (str_equal_nocase(*value, STR("ack"))) {
		*seconds = INFINITY;
		return 0;
	}
	if (request_reads_number(req, *value, seconds) && *seconds >= 0 &&
	    *seconds <= STRICT_NUMBER_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "retain must be ack or a number from 0 to %g; found \"%S\"",
			    STRICT_NUMBER_MAX, *value);
}

static int decode_raw(struct request *req, const struct qless_str *value, struct qless_terms *terms)
{
	(void)req;
	(void)value;
	terms->is_raw = true;
	return 0;
}

/* ---- unique ---- */

/* Whether the key is for HTTP alone. The engine takes it, because the log has such keys. */
static inline bool is_reserved(const struct request *req, struct qless_str key)
{
	const struct qless_str prefix = STR(TERM_IDEMPOTENCY_PREFIX);

	return key.len >= prefix.len && memcmp(key.ptr, prefix.ptr, prefix.len) == 0 &&
	       (req->session == NULL || !req->session->is_idempotent);
}

/* The key of the word `args` is not known yet: it is empty until term_unique_decode(). */
static int decode_unique(struct request *req, const struct qless_str *value,
			 struct qless_terms *terms)
{
	if (value->len == 0)
		return request_fail(req, QLESS_EBADARG, "unique must not be empty");
	/* The engine takes only such bytes that are not UTF-8. */
	if (unique_is_args_key(*value))
		return request_fail(req, QLESS_EBADARG, "The unique key is not UTF-8: \"%S\"",
				    *value);
	if (is_reserved(req, *value))
		return request_fail(
			req, QLESS_EBADARG,
			"unique must not begin with " TERM_IDEMPOTENCY_PREFIX
			", which is for the header Idempotency-Key of HTTP; found \"%S\"",
			command_quote(*value));
	terms->has_unique = true;
	terms->unique.key = str_equal_nocase(*value, STR("args")) ? STR("") : *value;
	return 0;
}

static int decode_until(struct request *req, const struct qless_str *value,
			struct qless_terms *terms)
{
	struct qless_unique *unique = &terms->unique;

	if (str_equal_nocase(*value, qless_until_text(QLESS_UNTIL_POPPED))) {
		unique->until = QLESS_UNTIL_POPPED;
		return 0;
	}
	if (str_equal_nocase(*value, qless_until_text(QLESS_UNTIL_FINISHED)))
		return 0;
	unique->until = QLESS_UNTIL_SECONDS;
	if (request_reads_number(req, *value, &unique->seconds) && unique->seconds > 0 &&
	    unique->seconds <= STRICT_NUMBER_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "until must be popped, finished, or a number of seconds above 0 and up "
			    "to %g; found \"%S\"",
			    STRICT_NUMBER_MAX, *value);
}

static int decode_replace(struct request *req, const struct qless_str *value,
			  struct qless_terms *terms)
{
	(void)req;
	(void)value;
	terms->unique.replace = true;
	return 0;
}

/* Returns the name of an option that needs `unique`, if it was sent without. */
static const char *find_lonely(const struct term_options *options)
{
	if (options->unique != NULL)
		return NULL;
	return options->until != NULL ? "until" : options->replace != NULL ? "replace" : NULL;
}

/* Raw data counts as the JSON that replies have. */
static __attribute__((noinline)) void make_raw_key(struct qless_args_room *room,
						   struct qless_str klass, struct qless_str data,
						   char to[QLESS_ARGS_KEY_BYTES])
{
	struct buf json = BUF_INIT(BUF_NO_MAX);

	base64_append_json(&json, data);
	qless_args_key(room, klass, buf_str(&json), to);
	buf_done(&json);
}

static struct qless_str make_key(struct request *req, struct qless_str klass, struct qless_str data,
				 bool is_raw, char to[QLESS_ARGS_KEY_BYTES])
{
	struct scratch *scratch = req->scratch;

	if (scratch->args_room == NULL)
		scratch->args_room = qless_args_room_new();
	if (is_raw)
		make_raw_key(scratch->args_room, klass, data, to);
	else
		qless_args_key(scratch->args_room, klass, data, to);
	return str_make(to, QLESS_ARGS_KEY_BYTES);
}

struct qless_str term_unique_make(struct request *req, struct qless_str klass,
				  struct qless_str data, bool is_raw)
{
	return make_key(req, klass, data, is_raw, req->scratch->decoded.args_key);
}

struct qless_str term_unique_text(struct qless_str key, char room[TERM_ARGS_TEXT_BYTES])
{
	static const char args[] = { 'a', 'r', 'g', 's', ':' };

	if (!qless_is_args_key(key))
		return key;
	memcpy(room, args, sizeof args);
	hex_write(room + sizeof args, key.ptr + 1, key.len - 1);
	return str_make(room, TERM_ARGS_TEXT_BYTES);
}

/* The key of data that the request has checked. Most is a flat object, and has been taken apart. */
static inline struct qless_str make_checked_key(struct request *req, const struct qless_str *klass,
						const struct qless_str *data, bool is_raw)
{
	const struct scratch *scratch = req->scratch;
	bool is_flat = scratch->flat_text.ptr == data->ptr && scratch->flat_text.len == data->len;
	char *to = req->scratch->decoded.args_key;

	if (is_flat && !is_raw && unique_make_flat_key(*klass, data->ptr, &scratch->flat, to))
		return str_make(to, QLESS_ARGS_KEY_BYTES);
	return term_unique_make(req, *klass, *data, is_raw);
}

/* check_holder() of a user that may not use all queues. */
static __attribute__((noinline)) int check_viewer(struct request *req, const struct user *viewer,
						  struct qless_str key, bool replaces)
{
	struct qless_str holder;

	if (!qless_unique_holder(req->engine, key, req->now, &holder) ||
	    permit_jid(viewer, req->engine, holder, replaces ? ACL_WRITE : ACL_READ))
		return 0;
	return request_fail(req, QLESS_EWRONGQUEUE,
			    "The unique key is held by a job in a queue that the user may not %s",
			    replaces ? "change" : "read");
}

/* Check that a user that may not use all queues may use that of the holder of the key. */
static inline int check_holder(struct request *req, const struct qless_unique *unique)
{
	const struct user *viewer = permit_viewer(req);

	return viewer == NULL ? 0 : check_viewer(req, viewer, unique->key, unique->replace);
}

int term_unique_decode(struct request *req, const struct qless_terms *terms,
		       const struct qless_str *klass, const struct qless_str *data, bool is_raw)
{
	struct qless_unique *unique = &req->scratch->decoded.terms.unique;

	if (terms == NULL || !terms->has_unique)
		return 0;
	if (unique->key.len == 0)
		unique->key = make_checked_key(req, klass, data, is_raw);
	unique->hint = unique_prefetch(req->engine, unique->key);
	return check_holder(req, unique);
}

int term_unique_decode_many(struct request *req, const struct qless_terms *terms,
			    const struct operation_names *jobs, struct operation_names *ret_keys)
{
	size_t count = jobs->count / CLASSIC_MULTIPUT_JOB_ARGS;
	const struct user *viewer;
	struct decoded *lists;
	int rc = 0;

	*ret_keys = (struct operation_names){ NULL, 0 };
	if (terms == NULL || !terms->has_unique)
		return 0;
	if (terms->unique.key.len > 0)
		return check_holder(req, &terms->unique);
	viewer = permit_viewer(req);
	lists = request_lists(req);
	lists->args_keys = mem_realloc_array(NULL, count, sizeof *lists->args_keys);
	lists->keys = mem_realloc_array(NULL, count, sizeof *lists->keys);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct qless_str *job = jobs->items + i * CLASSIC_MULTIPUT_JOB_ARGS;

		lists->keys[i] =
			req->checking != NULL
				? checking_key(req, i)
				: make_key(req, job[1], job[2], terms->is_raw, lists->args_keys[i]);
		if (viewer != NULL)
			rc = check_viewer(req, viewer, lists->keys[i], terms->unique.replace);
	}
	*ret_keys = (struct operation_names){ lists->keys, count };
	return rc;
}

/* ---- the table ---- */

/* The place of an option in struct term_options, which is that of its row. */
#define PLACE(option) (offsetof(struct term_options, option) / sizeof(const struct qless_str *))

static const struct row {
	struct qless_str name;
	unsigned char values;
	unsigned char users; /* enum term_user */
	term_decode_fn *decode;
} rows[] = {
	[PLACE(at)] = { STR_INIT("at"), 1, AT_ONCE, decode_at },
	[PLACE(nx)] = { STR_INIT("nx"), 0, TERM_OF_PUT, decode_nx },
	[PLACE(backoff)] = { STR_INIT("backoff"), 3, EVERYWHERE, decode_backoff },
	[PLACE(runtime)] = { STR_INIT("runtime"), 1, EVERYWHERE, decode_runtime },
	[PLACE(retain)] = { STR_INIT("retain"), 1, EVERYWHERE, decode_retain },
	[PLACE(raw)] = { STR_INIT("raw"), 0, WITH_DATA, decode_raw },
	[PLACE(unique)] = { STR_INIT("unique"), 1, EVERYWHERE, decode_unique },
	[PLACE(until)] = { STR_INIT("until"), 1, EVERYWHERE, decode_until },
	[PLACE(replace)] = { STR_INIT("replace"), 0, AT_ONCE, decode_replace },
};

#define ROWS (sizeof rows / sizeof *rows)

static_assert(ROWS == TERM_SLOTS_MAX, "each row needs a slot");

/* The values, by the numbers of the rows. */
static inline const struct qless_str *const *values_of(const struct term_options *options)
{
	return (const struct qless_str *const *)(const void *)options;
}

size_t term_options_slots(enum term_user user, struct term_options *options,
			  struct option_slot slots[TERM_SLOTS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ROWS; i++) {
		void *at = (char *)options + i * sizeof(const struct qless_str *);

		if (rows[i].users & user)
			slots[count++] = (struct option_slot){ rows[i].name, at, rows[i].values };
	}
	return count;
}

const char *term_options_first(const struct term_options *options)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (values_of(options)[i] != NULL)
			return rows[i].name.ptr;
	}
	return NULL;
}

bool term_option_is(struct qless_str word)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (str_equal_nocase(rows[i].name, word))
			return true;
	}
	return false;
}

int term_options_decode(struct request *req, const struct term_options *options,
			const struct qless_terms **ret_terms)
{
	/* Terms own no memory, so the lists of the request need not be freed for them. */
	struct qless_terms *terms = &req->scratch->decoded.terms;
	const struct qless_str *const *values = values_of(options);
	int rc = 0;

	*terms = (struct qless_terms){ 0 };
	*ret_terms = terms;
	for (size_t i = 0; i < ROWS; i++) {
		if (values[i] == NULL)
			continue;
		rc = rows[i].decode(req, values[i], terms);
		if (rc < 0)
			return rc;
	}
	if (find_lonely(options) != NULL)
		rc = request_fail(req, QLESS_EBADARG, "Option \"%s\" needs the option \"unique\"",
				  find_lonely(options));
	return rc;
}

int term_options_decode_unique(struct request *req, const struct qless_str *value,
			       const struct qless_terms **ret_terms)
{
	struct qless_terms *terms = &req->scratch->decoded.terms;

	*terms = (struct qless_terms){ 0 };
	*ret_terms = terms;
	if (!str_equal(*value, STR("args")))
		return decode_unique(req, value, terms);
	/* The key stays empty until term_unique_decode(). */
	terms->has_unique = true;
	return 0;
}

static struct qless_terms *need_terms(struct request *req, const struct qless_terms **terms)
{
	struct qless_terms *needed = &req->scratch->decoded.terms;

	if (*terms == NULL)
		*needed = (struct qless_terms){ 0 };
	*terms = needed;
	return needed;
}

void term_add_number(struct request *req, const struct qless_terms **terms)
{
	struct qless_terms *numbered = need_terms(req, terms);

	numbered->has_number = true;
	numbered->number = req->last_number;
}

void term_add_raw(struct request *req, const struct qless_terms **terms)
{
	need_terms(req, terms)->is_raw = true;
}

/* ---- walks ---- */

bool term_options_have_raw(const struct request *req, size_t first)
{
	for (size_t i = first; i < req->nargs; i += option_width(req->args[i])) {
		if (str_equal_nocase(req->args[i], STR("raw")))
			return true;
	}
	return false;
}

size_t option_width(struct qless_str word)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (str_equal_nocase(rows[i].name, word))
			return 1 + (size_t)rows[i].values;
	}
	return 2;
}
