#include "command/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "util/json.h"
#include "util/mem.h"

/* ---- reading ---- */

bool json_is_deeper(struct qless_str text, size_t max)
{
	bool in_string = false;
	size_t depth = 0;
	size_t i;

	/* Most are shorter than they would have to be. */
	if (text.len <= max)
		return false;
	for (i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '[' || c == '{') {
			if (++depth > max)
				return true;
		} else if ((c == ']' || c == '}') && depth > 0) {
			depth--;
		}
	}
	return false;
}

static yyjson_doc *read_doc(struct qless_str text, yyjson_read_err *ret_err)
{
	/* yyjson does not write to the text unless told to. */
	return yyjson_read_opts((char *)(uintptr_t)text.ptr, text.len, YYJSON_READ_NUMBER_AS_RAW,
				NULL, ret_err);
}

static enum json_kind kind_of(yyjson_val *value)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_NULL:
		return JSON_NULL;
	case YYJSON_TYPE_BOOL:
		return yyjson_is_true(value) ? JSON_TRUE : JSON_FALSE;
	case YYJSON_TYPE_STR:
		return JSON_STRING;
	case YYJSON_TYPE_ARR:
		return JSON_ARRAY;
	case YYJSON_TYPE_OBJ:
		return JSON_OBJECT;
	default:
		return JSON_NUMBER;
	}
}

bool json_check(struct qless_str text, enum json_kind *ret_kind, struct buf *error)
{
	yyjson_read_err err;
	yyjson_doc *doc;

	buf_clear(error);
	if (text.len == 0) {
		buf_append_str(error, STR("Expected value but found T_END at character 1"));
		return false;
	}
	doc = read_doc(text, &err);
	if (doc == NULL) {
		buf_printf(error, "Invalid JSON: %s at character %zu", err.msg, err.pos + 1);
		return false;
	}
	*ret_kind = kind_of(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	return true;
}

bool json_read_strings(struct qless_str text, bool objects, struct json_strings *ret_strings)
{
	yyjson_read_err err;
	yyjson_doc *doc = read_doc(text, &err);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct json_strings strings = { .doc = doc };
	yyjson_arr_iter it;
	yyjson_val *value;

	if (yyjson_is_obj(root) && (objects || yyjson_obj_size(root) == 0)) {
		*ret_strings = strings;
		return true;
	}
	if (!yyjson_is_arr(root))
		goto fail;
	strings.items = mem_realloc_array(NULL, yyjson_arr_size(root) + 1, sizeof(*strings.items));
	yyjson_arr_iter_init(root, &it);
	while ((value = yyjson_arr_iter_next(&it)) != NULL) {
		if (!yyjson_is_str(value) && !yyjson_is_raw(value))
			goto fail;
		strings.items[strings.count++] =
			yyjson_is_str(value)
				? str_make(yyjson_get_str(value), yyjson_get_len(value))
				: str_make(yyjson_get_raw(value), yyjson_get_len(value));
	}
	*ret_strings = strings;
	return true;

fail:
	json_strings_done(&strings);
	return false;
}

void json_strings_done(struct json_strings *strings)
{
	if (strings->doc == NULL && strings->items == NULL)
		return;
	yyjson_doc_free(strings->doc);
	free(strings->items);
	memset(strings, 0, sizeof(*strings));
}

/* ---- writing ---- */

size_t json_begin_list(struct buf *b)
{
	buf_append_char(b, '[');
	return b->len;
}

void json_next_item(struct buf *b, size_t begin)
{
	if (b->len > begin)
		buf_append_char(b, ',');
}

void json_end_list(struct buf *b, size_t begin, enum json_empty empty)
{
	if (b->len == begin && empty == JSON_EMPTY_OBJECT) {
		buf_truncate(b, begin - 1);
		buf_append_str(b, STR("{}"));
		return;
	}
	buf_append_char(b, ']');
}

void json_append_list(struct buf *b, const struct qless_list *list, enum json_empty empty)
{
	size_t begin = json_begin_list(b);
	size_t i;

	for (i = 0; i < list->count; i++) {
		json_next_item(b, begin);
		json_append_string(b, list->items[i]);
	}
	json_end_list(b, begin, empty);
}

/* Text that is known when this is compiled: inline, as copying it is an instruction or two then. */
static inline __attribute__((always_inline)) void put(struct buf *b, struct qless_str text)
{
	memcpy(buf_reserve(b, text.len), text.ptr, text.len);
	buf_commit(b, text.len);
}

/* `before` is what goes before the value: brace or comma, name, colon. */
static inline __attribute__((always_inline)) void add_string(struct buf *b, struct qless_str before,
							     struct qless_str value)
{
	put(b, before);
	json_append_string(b, value);
}

static inline __attribute__((always_inline)) void add_number(struct buf *b, struct qless_str before,
							     double value)
{
	put(b, before);
	json_append_number(b, value);
}

/*
 * The same, if it may well be what was written the last time. Texts are compared by where they are:
 * the engine has each name only once, and does not change while a reply is written.
 */
static inline __attribute__((always_inline)) void add_name(struct buf *b, struct qless_str before,
							   struct qless_str name,
							   struct json_text_memo *memo)
{
	char *to = buf_reserve(b, before.len + sizeof memo->written);
	size_t begin;

	memcpy(to, before.ptr, before.len);
	if (name.ptr == memo->text.ptr && name.len == memo->text.len) {
		memcpy(to + before.len, memo->written, sizeof memo->written);
		buf_commit(b, before.len + memo->len);
		return;
	}
	buf_commit(b, before.len);
	begin = b->len;
	json_append_string(b, name);
	if (b->len - begin > sizeof memo->written)
		return;
	memo->text = name;
	memo->len = b->len - begin;
	memcpy(memo->written, buf_data(b) + begin, memo->len);
}

static inline __attribute__((always_inline)) void add_same_number(struct buf *b,
								  struct qless_str before,
								  double value,
								  struct json_number_memo *memo)
{
	char *to = buf_reserve(b, before.len + sizeof memo->written);
	size_t begin;

	memcpy(to, before.ptr, before.len);
	/* Zeros are equal, but can have different signs. */
	if (value == memo->value && value != 0) {
		memcpy(to + before.len, memo->written, sizeof memo->written);
		buf_commit(b, before.len + memo->len);
		return;
	}
	buf_commit(b, before.len);
	begin = b->len;
	json_append_number(b, value);
	memo->value = value;
	memo->len = b->len - begin;
	memcpy(memo->written, buf_data(b) + begin, memo->len);
}

/* Most lists of a job are empty. */
static inline __attribute__((always_inline)) void put_empty(struct buf *b, enum json_empty empty)
{
	put(b, empty == JSON_EMPTY_OBJECT ? STR("{}") : STR("[]"));
}

static void init_memo(struct json_job_memo *memo)
{
	memo->queue.text = memo->worker.text = str_make(NULL, SIZE_MAX);
	memo->klass.text = memo->state.text = str_make(NULL, SIZE_MAX);
	memo->put.value = memo->popped.value = memo->expires.value = NAN;
}

static void append_text_value(struct buf *b, yyjson_val *value)
{
	json_append_string(b, str_make(yyjson_get_str(value), yyjson_get_len(value)));
}

/* Anything without members. */
static void append_leaf(struct buf *b, yyjson_val *value)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_NULL:
		put(b, STR("null"));
		break;
	case YYJSON_TYPE_BOOL:
		json_append_bool(b, yyjson_is_true(value));
		break;
	case YYJSON_TYPE_STR:
		append_text_value(b, value);
		break;
	case YYJSON_TYPE_ARR:
		put(b, STR("[]"));
		break;
	case YYJSON_TYPE_OBJ:
		put(b, STR("{}"));
		break;
	default:
		buf_append(b, yyjson_get_raw(value), yyjson_get_len(value));
		break;
	}
}

/* An array or object that has been begun. */
struct open_value {
	size_t left; /* values to come; a member of an object is two */
	bool is_object;
};

/* Documents may be nested deeper than the stack of the process allows for, so this has one of its
 * own. */
static void append_value(struct buf *b, yyjson_val *value)
{
	struct open_value *open = NULL;
	size_t depth = 0;
	size_t cap = 0;

	do {
		if (yyjson_is_ctn(value) && yyjson_get_len(value) > 0) {
			bool is_object = yyjson_is_obj(value);

			if (depth == cap) {
				cap = cap == 0 ? 8 : 2 * cap;
				open = mem_realloc_array(open, cap, sizeof(*open));
			}
			open[depth++] = (struct open_value){
				.left = yyjson_get_len(value) * (is_object ? 2 : 1),
				.is_object = is_object,
			};
			buf_append_char(b, is_object ? '{' : '[');
			value = unsafe_yyjson_get_first(value);
			continue;
		}
		append_leaf(b, value);
		value = unsafe_yyjson_get_next(value);
		while (depth > 0 && --open[depth - 1].left == 0)
			buf_append_char(b, open[--depth].is_object ? '}' : ']');
		if (depth > 0)
			buf_append_char(b, open[depth - 1].is_object && open[depth - 1].left % 2
						   ? ':'
						   : ',');
	} while (depth > 0);
	free(open);
}

/* The members of a log item, but those that every entry has of its own. */
static void append_item_members(struct buf *b, struct qless_str item)
{
	yyjson_read_err err;
	yyjson_doc *doc = read_doc(item, &err);
	yyjson_obj_iter it;
	yyjson_val *key;

	yyjson_obj_iter_init(yyjson_doc_get_root(doc), &it);
	while ((key = yyjson_obj_iter_next(&it)) != NULL) {
		if (yyjson_equals_str(key, "when") || yyjson_equals_str(key, "what"))
			continue;
		append_text_value(b, key);
		buf_append_char(b, ':');
		append_value(b, yyjson_obj_iter_get_val(key));
		buf_append_char(b, ',');
	}
	yyjson_doc_free(doc);
}

/* The members stand in the order in which the reference writes them. */
static void append_event(struct buf *b, const struct qless_event *event, struct json_job_memo *memo)
{
	switch (event->kind) {
	case QLESS_EVENT_PUT:
		add_same_number(b, STR("{\"when\":"), event->when, &memo->put);
		add_name(b, STR(",\"q\":"), event->queue, &memo->queue);
		put(b, STR(",\"what\":\"put\""));
		break;
	case QLESS_EVENT_POPPED:
		add_same_number(b, STR("{\"when\":"), event->when, &memo->popped);
		add_name(b, STR(",\"what\":\"popped\",\"worker\":"), event->worker, &memo->worker);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		add_number(b, STR("{\"when\":"), event->when);
		add_string(b, STR(",\"what\":"), event->what);
		break;
	case QLESS_EVENT_FAILED:
		add_string(b, STR("{\"group\":"), event->group);
		add_number(b, STR(",\"what\":\"failed\",\"when\":"), event->when);
		add_string(b, STR(",\"worker\":"), event->worker);
		break;
	case QLESS_EVENT_EXHAUSTED:
		add_number(b, STR("{\"when\":"), event->when);
		add_string(b, STR(",\"group\":"), event->group);
		put(b, STR(",\"what\":\"failed\""));
		break;
	case QLESS_EVENT_LOG:
		buf_append_char(b, '{');
		if (event->item.ptr != NULL)
			append_item_members(b, event->item);
		add_number(b, STR("\"when\":"), event->when);
		add_string(b, STR(",\"what\":"), event->what);
		break;
	}
	buf_append_char(b, '}');
}

static void append_history(struct buf *b, const struct qless_job *job, enum json_empty empty,
			   struct json_job_memo *memo)
{
	struct qless_event event;
	size_t cursor = 0;

	if (!qless_job_next_event(job, &cursor, &event)) {
		put_empty(b, empty);
		return;
	}
	put(b, STR("["));
	append_event(b, &event, memo);
	while (qless_job_next_event(job, &cursor, &event)) {
		put(b, STR(","));
		append_event(b, &event, memo);
	}
	put(b, STR("]"));
}

void json_append_job_tags(struct buf *b, const struct qless_job *job, enum json_empty empty)
{
	struct qless_str tag;
	size_t cursor = 0;

	if (!qless_job_next_tag(job, &cursor, &tag)) {
		put_empty(b, empty);
		return;
	}
	add_string(b, STR("["), tag);
	while (qless_job_next_tag(job, &cursor, &tag))
		add_string(b, STR(","), tag);
	put(b, STR("]"));
}

static void append_related(struct buf *b, const struct qless_job *job, enum json_empty empty,
			   bool (*next)(const struct qless_job *, const void **,
					struct qless_str *))
{
	const void *cursor = NULL;
	struct qless_str jid;

	if (!next(job, &cursor, &jid)) {
		put_empty(b, empty);
		return;
	}
	add_string(b, STR("["), jid);
	while (next(job, &cursor, &jid))
		add_string(b, STR(","), jid);
	put(b, STR("]"));
}

static void append_failure(struct buf *b, const struct qless_job_info *info)
{
	if (!info->has_failure) {
		put(b, STR("{}"));
		return;
	}
	add_string(b, STR("{\"message\":"), info->failure.message);
	add_string(b, STR(",\"group\":"), info->failure.group);
	add_number(b, STR(",\"when\":"), info->failure.when);
	add_string(b, STR(",\"worker\":"), info->failure.worker);
	buf_append_char(b, '}');
}

static void append_spawned_from(struct buf *b, const struct qless_job_info *info)
{
	if (info->spawned_from.ptr != NULL)
		json_append_string(b, info->spawned_from);
	else
		put(b, STR("false"));
}

static void append_job(struct buf *b, const struct qless_job *job, enum json_empty empty,
		       struct json_job_memo *memo)
{
	struct qless_job_info info;

	qless_job_read(job, &info);
	add_string(b, STR("{\"jid\":"), info.jid);
	add_number(b, STR(",\"retries\":"), info.retries);
	add_string(b, STR(",\"data\":"), info.data);
	put(b, STR(",\"failure\":"));
	append_failure(b, &info);
	add_same_number(b, STR(",\"expires\":"), info.expires, &memo->expires);
	add_number(b, STR(",\"remaining\":"), floor(info.remaining));
	put(b, STR(",\"spawned_from_jid\":"));
	append_spawned_from(b, &info);
	put(b, STR(",\"dependencies\":"));
	append_related(b, job, empty, qless_job_next_dependency);
	add_name(b, STR(",\"klass\":"), info.klass, &memo->klass);
	put(b, info.tracked ? STR(",\"tracked\":true") : STR(",\"tracked\":false"));
	put(b, STR(",\"tags\":"));
	json_append_job_tags(b, job, empty);
	add_name(b, STR(",\"queue\":"), info.queue, &memo->queue);
	add_name(b, STR(",\"state\":"), qless_state_text(info.state), &memo->state);
	put(b, STR(",\"history\":"));
	append_history(b, job, empty, memo);
	put(b, STR(",\"dependents\":"));
	append_related(b, job, empty, qless_job_next_dependent);
	add_number(b, STR(",\"priority\":"), info.priority);
	add_name(b, STR(",\"worker\":"), info.worker, &memo->worker);
	buf_append_char(b, '}');
}

void json_append_job(struct buf *b, const struct qless_job *job, enum json_empty empty)
{
	struct json_job_memo memo;

	init_memo(&memo);
	append_job(b, job, empty, &memo);
}

void json_job_list_begin(struct json_job_list *list, struct buf *b, enum json_empty empty)
{
	list->buf = b;
	list->count = 0;
	list->empty = empty;
	init_memo(&list->memo);
	buf_append_char(b, '[');
}

void json_job_list_add(struct json_job_list *list, const struct qless_job *job)
{
	if (list->count++ != 0)
		buf_append_char(list->buf, ',');
	append_job(list->buf, job, list->empty, &list->memo);
}

void json_job_list_end(struct json_job_list *list)
{
	if (list->count != 0)
		buf_append_char(list->buf, ']');
	else
		json_end_list(list->buf, list->buf->len, list->empty);
}

void json_append_recur_tags(struct buf *b, const struct qless_recur *recur, enum json_empty empty)
{
	size_t begin = json_begin_list(b);
	struct qless_str tag;
	size_t cursor = 0;

	while (qless_recur_next_tag(recur, &cursor, &tag)) {
		json_next_item(b, begin);
		json_append_string(b, tag);
	}
	json_end_list(b, begin, empty);
}

void json_append_recur(struct buf *b, const struct qless_recur *recur, enum json_empty empty)
{
	struct qless_recur_info info;

	qless_recur_read(recur, &info);
	put(b, STR("{\"tags\":"));
	json_append_recur_tags(b, recur, empty);
	add_string(b, STR(",\"jid\":"), info.jid);
	add_number(b, STR(",\"retries\":"), info.retries);
	add_string(b, STR(",\"data\":"), info.data);
	add_string(b, STR(",\"queue\":"), info.queue);
	put(b, STR(",\"state\":\"recur\""));
	add_number(b, STR(",\"count\":"), (double)info.count);
	add_number(b, STR(",\"interval\":"), info.interval);
	add_string(b, STR(",\"klass\":"), info.klass);
	add_number(b, STR(",\"backlog\":"), info.backlog);
	add_number(b, STR(",\"priority\":"), info.priority);
	buf_append_char(b, '}');
}
