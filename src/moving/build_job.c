/*
 * Building jobs: finds the hashes that are jobs, the list that each is in, and reads its fields.
 */
#include "moving/build_int.h"

#include <stdlib.h>
#include <yyjson.h>

#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/num.h"

#define STATES		(QLESS_COMPLETE + 1)
#define FAILURE_MEMBERS 4
/* The largest number that the 14 digits of JSON keep exactly. */
#define EXACT_MAX UINT64_C(99999999999999)

/* ---- finding them ---- */

static struct qless_str found_key(const struct hash_node *node)
{
	return container_of(node, const struct found_job, hash)->jid;
}

static struct found_job *find_job(const struct build *b, struct qless_str jid)
{
	struct hash_node *node = hash_find(&b->jobs, jid);

	return node != NULL ? container_of(node, struct found_job, hash) : NULL;
}

static bool is_job(struct build *b, const struct key *key, struct qless_str *ret_jid)
{
	if (key->type != KEY_HASH || !build_between(key->name, STR(NAMES_JOB), STR(""), ret_jid))
		return false;
	if (!str_equal(key_field(key, NAMES_FIELD(JID)), *ret_jid)) {
		findings_add(b->findings, FINDING_PARTIAL_JOB, key->name, STR(""));
		return false;
	}
	return build_is_name(b, key->name, *ret_jid);
}

static void find_jobs(struct build *b)
{
	struct qless_str jid;

	hash_init(&b->jobs, found_key, b->keys->table.seed);
	b->found = mem_realloc_array(NULL, b->count + 1, sizeof *b->found);
	for (size_t i = 0; i < b->count; i++) {
		struct found_job *job = &b->found[b->found_count];

		if (!is_job(b, b->sorted[i], &jid))
			continue;
		*job = (struct found_job){ .jid = jid, .key = b->sorted[i] };
		hash_insert(&b->jobs, &job->hash);
		b->found_count++;
	}
}

/* ---- their places ---- */

static bool state_from(struct qless_str text, enum qless_state *ret_state)
{
	for (int state = 0; state < STATES; state++) {
		if (str_equal(text, qless_state_text((enum qless_state)state))) {
			*ret_state = (enum qless_state)state;
			return true;
		}
	}
	return false;
}

/* Whether the job's own fields agree with the place. Changes the place to that of a stalled job if
 * the job is one. */
static bool goes_with(const struct found_job *job, struct place *place)
{
	enum qless_state state;

	if (!state_from(key_field(job->key, NAMES_FIELD(STATE)), &state))
		return false;
	if (state == QLESS_STALLED && place->state == QLESS_WAITING)
		place->state = QLESS_STALLED;
	if (state != place->state)
		return false;
	return state == QLESS_FAILED || state == QLESS_COMPLETE ||
	       str_equal(key_field(job->key, NAMES_FIELD(QUEUE)), place->owner);
}

static void add_place(struct build *b, struct qless_str jid, struct place place)
{
	struct found_job *job = find_job(b, jid);

	if (job == NULL) {
		findings_add(b->findings, FINDING_LOST_JOB, place.list, jid);
		return;
	}
	place.known = true;
	place.is_right = goes_with(job, &place);
	if (!job->place.known) {
		job->place = place;
		return;
	}
	if (place.is_right && !job->place.is_right) {
		findings_add(b->findings, FINDING_SECOND_PLACE, job->place.list, jid);
		job->place = place;
	} else {
		findings_add(b->findings, FINDING_SECOND_PLACE, place.list, jid);
	}
}

static void read_zset(struct build *b, const struct key *key, enum qless_state state,
		      struct qless_str owner)
{
	struct place place = { .state = state, .owner = owner, .list = key->name };
	struct qless_str jid, score;
	size_t at = 0;

	while (key_next_pair(key, &at, &jid, &score)) {
		place.score = build_score(score);
		add_place(b, jid, place);
	}
}

/* The newest job comes first. */
static void read_group(struct build *b, const struct key *key, struct qless_str group)
{
	struct place place = { .state = QLESS_FAILED, .owner = group, .list = key->name };
	struct qless_str jid;
	size_t at = 0;

	place.score = (double)key->count;
	for (; key_next(key, &at, &jid); place.score--)
		add_place(b, jid, place);
}

static void read_lists(struct build *b)
{
	struct qless_str owner;

	for (size_t i = 0; i < b->count; i++) {
		const struct key *key = b->sorted[i];

		if (key->type == KEY_ZSET && str_equal(key->name, STR(NAMES_COMPLETED)))
			read_zset(b, key, QLESS_COMPLETE, STR(""));
		if (key->type == KEY_LIST &&
		    build_between(key->name, STR(NAMES_GROUP), STR(""), &owner) &&
		    build_is_name(b, key->name, owner))
			read_group(b, key, owner);
		for (int list = 0; list < QUEUE_LISTS; list++) {
			if (key->type == KEY_ZSET && queue_list_has_jobs((enum queue_list)list) &&
			    build_between(key->name, STR(NAMES_QUEUE), names_queue_suffixes[list],
					  &owner) &&
			    build_is_name(b, key->name, owner))
				read_zset(b, key, (enum qless_state)queue_lists[list].state, owner);
		}
	}
}

/* ---- history ---- */

/* Returns the text from the second comma of [number,"text",...] to the bracket. The text is valid
 * JSON, so there is a second comma. */
static struct qless_str third_element(struct qless_str text)
{
	const char *at = memchr(text.ptr, ',', text.len);
	const char *end = text.ptr + text.len;
	bool quoted = false;

	for (at++; quoted || *at != ','; at++) {
		if (quoted && *at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	while (*--end != ']')
		continue;
	at++;
	return str_make(at, (size_t)(end - at));
}

static struct qless_str member_text(yyjson_val *item, const char *name)
{
	yyjson_val *value = yyjson_obj_get(item, name);

	return yyjson_is_str(value) ? str_make(yyjson_get_str(value), yyjson_get_len(value))
				    : str_make(NULL, 0);
}

static bool is_name(struct qless_str text)
{
	return text.ptr != NULL && text.len <= QLESS_MAX_NAME_BYTES;
}

/* Events that qless writes keep their kind; all others become entries of a log. */
static enum qless_event_kind kind_of(struct qless_event *event, yyjson_val *item)
{
	size_t members = yyjson_obj_size(item);

	event->queue = member_text(item, "q");
	event->worker = member_text(item, "worker");
	event->group = member_text(item, "group");
	if (item == NULL && str_equal(event->what, STR("done")))
		return QLESS_EVENT_DONE;
	if (item == NULL && str_equal(event->what, STR("timed-out")))
		return QLESS_EVENT_TIMED_OUT;
	if (members == 1 && str_equal(event->what, STR("put")) && is_name(event->queue))
		return QLESS_EVENT_PUT;
	if (members == 1 && str_equal(event->what, STR("popped")) && is_name(event->worker))
		return QLESS_EVENT_POPPED;
	if (!str_equal(event->what, STR("failed")) || !is_name(event->group))
		return QLESS_EVENT_LOG;
	if (members == 1)
		return QLESS_EVENT_EXHAUSTED;
	return members == 2 && is_name(event->worker) ? QLESS_EVENT_FAILED : QLESS_EVENT_LOG;
}

static bool read_event(struct qless_str text, yyjson_val *root, struct qless_event *ret_event)
{
	yyjson_val *when = yyjson_arr_get(root, 0);
	yyjson_val *what = yyjson_arr_get(root, 1);
	yyjson_val *item = yyjson_arr_get(root, 2);

	*ret_event = (struct qless_event){ .when = floor(yyjson_get_num(when)) };
	if (!yyjson_is_num(when) || !yyjson_is_str(what) || yyjson_arr_size(root) > 3 ||
	    (item != NULL && !yyjson_is_obj(item)))
		return false;
	ret_event->what = str_make(yyjson_get_str(what), yyjson_get_len(what));
	if (item != NULL)
		ret_event->item = third_element(text);
	ret_event->kind = kind_of(ret_event, item);
	return true;
}

/* Whether the number is shown unchanged after it was stored as `value`. */
static bool is_kept_as(yyjson_val *number, double value)
{
	char text[NUM_MAX];
	yyjson_doc *doc;
	bool same;

	if (yyjson_is_uint(number) && yyjson_get_uint(number) <= EXACT_MAX)
		return true;
	doc = yyjson_read(text, num_format_g14(text, value), 0);
	same = yyjson_equals(yyjson_doc_get_root(doc), number);
	yyjson_doc_free(doc);
	return same;
}

static void read_entry(struct build *b, struct qless_job *job, const struct key *key,
		       struct qless_str text)
{
	yyjson_doc *doc = yyjson_read(text.ptr, text.len, YYJSON_READ_ALLOW_INVALID_UNICODE);
	struct qless_event event;

	if (doc != NULL && read_event(text, yyjson_doc_get_root(doc), &event)) {
		import_event(&b->import, job, &event);
		/* Fractions of a second are not stored. */
		if (!is_kept_as(yyjson_arr_get(yyjson_doc_get_root(doc), 0), event.when))
			findings_touch(b->findings, key->name);
	} else {
		findings_add(b->findings, FINDING_HISTORY, key->name, text);
	}
	yyjson_doc_free(doc);
}

static void add_old_event(struct build *b, struct qless_job *job, yyjson_val *when,
			  struct qless_event event)
{
	if (!yyjson_is_num(when))
		return;
	event.when = floor(yyjson_get_num(when));
	import_event(&b->import, job, &event);
}

/* Read a history as the first versions stored it: a list of objects in a field of the job. */
static void read_old_history(struct build *b, struct qless_job *job, const struct key *key,
			     struct qless_str text)
{
	yyjson_doc *doc = yyjson_read(text.ptr, text.len, YYJSON_READ_ALLOW_INVALID_UNICODE);
	yyjson_val *entry;
	size_t i, max;

	findings_add(b->findings, FINDING_OLD_HISTORY, key->name, STR(""));
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, entry)
	{
		struct qless_str queue = member_text(entry, "q");
		struct qless_str worker = member_text(entry, "worker");

		if (is_name(queue))
			add_old_event(
				b, job, yyjson_obj_get(entry, "put"),
				(struct qless_event){ .kind = QLESS_EVENT_PUT, .queue = queue });
		if (is_name(worker))
			add_old_event(b, job, yyjson_obj_get(entry, "popped"),
				      (struct qless_event){ .kind = QLESS_EVENT_POPPED,
							    .worker = worker });
		add_old_event(
			b, job, yyjson_obj_get(entry, "failed"),
			(struct qless_event){ .kind = QLESS_EVENT_LOG, .what = STR("failed") });
		add_old_event(b, job, yyjson_obj_get(entry, "done"),
			      (struct qless_event){ .kind = QLESS_EVENT_DONE });
	}
	yyjson_doc_free(doc);
}

static void build_history(struct build *b, struct qless_job *job, const struct found_job *from)
{
	struct qless_str name = build_name(b, STR(NAMES_JOB), from->jid, STR(NAMES_JOB_HISTORY));
	const struct key *key = keys_find(b->keys, name);
	struct qless_str text = key_field(from->key, NAMES_FIELD(HISTORY));
	struct qless_event event = { .kind = QLESS_EVENT_PUT };
	struct qless_job_info info;
	size_t cursor = 0, at = 0;

	if (text.ptr != NULL)
		findings_touch(b->findings, name);
	if (key != NULL && key->type == KEY_LIST) {
		struct qless_str entry;

		while (key_next(key, &at, &entry))
			read_entry(b, job, key, entry);
	}
	if (text.ptr != NULL)
		read_old_history(b, job, from->key, text);
	if (qless_job_next_event(job, &cursor, &event))
		return;
	findings_add(b->findings, FINDING_NO_HISTORY,
		     build_name(b, STR(NAMES_JOB), from->jid, STR(NAMES_JOB_HISTORY)), STR(""));
	qless_job_read(job, &info);
	event = (struct qless_event){ .kind = QLESS_EVENT_PUT,
				      .when = floor(info.time),
				      .queue = info.queue };
	import_event(&b->import, job, &event);
}

/* ---- what a job says of itself ---- */

static void check_fields(struct build *b, const struct key *key)
{
	struct qless_str field, value;
	size_t at = 0;

	while (key_next_pair(key, &at, &field, &value)) {
		const struct names_field_row *row = names_find_field(field);

		if (row == NULL || !row->is_of_job)
			findings_add(b->findings, FINDING_FOREIGN_FIELD, key->name, field);
	}
}

/* A name within the maximum length, otherwise an empty one. */
static struct qless_str name_field(struct build *b, const struct key *key, struct qless_str field)
{
	struct qless_str name = key_field(key, field);

	if (name.ptr != NULL && name.len <= QLESS_MAX_NAME_BYTES)
		return name;
	findings_add(b->findings, FINDING_FIELD, key->name, field);
	return STR("");
}

static struct qless_str data_field(struct build *b, const struct key *key, struct buf *quoted)
{
	struct qless_str data = key_field(key, NAMES_FIELD(DATA));
	yyjson_doc *doc;

	if (data.ptr == NULL) {
		findings_add(b->findings, FINDING_FIELD, key->name, NAMES_FIELD(DATA));
		return STR("{}");
	}
	doc = yyjson_read(data.ptr, data.len, YYJSON_READ_ALLOW_INVALID_UNICODE);
	yyjson_doc_free(doc);
	if (doc != NULL)
		return data;
	findings_add(b->findings, FINDING_DATA, key->name, STR(""));
	json_append_string(quoted, data);
	return buf_str(quoted);
}

/* Returns the document that owns the texts of the failure; the caller frees it. */
static yyjson_doc *read_failure(struct build *b, const struct key *key, struct import_job *job)
{
	struct qless_str text = key_field(key, NAMES_FIELD(FAILURE));
	struct qless_failure *failure = &job->info.failure;
	yyjson_doc *doc;
	yyjson_val *root, *when;

	job->failure_cleared = str_equal(text, STR("{}"));
	if (text.ptr == NULL || job->failure_cleared)
		return NULL;
	doc = yyjson_read(text.ptr, text.len, YYJSON_READ_ALLOW_INVALID_UNICODE);
	root = yyjson_doc_get_root(doc);
	failure->group = member_text(root, "group");
	failure->message = member_text(root, "message");
	failure->worker = member_text(root, "worker");
	when = yyjson_obj_get(root, "when");
	failure->when = yyjson_get_num(when);
	if (is_name(failure->group) && failure->message.ptr != NULL && is_name(failure->worker)) {
		job->info.has_failure = true;
		if (yyjson_obj_size(root) != FAILURE_MEMBERS || !yyjson_is_num(when))
			findings_add(b->findings, FINDING_FIELD, key->name, NAMES_FIELD(FAILURE));
		else if (!is_kept_as(when, failure->when))
			findings_touch(b->findings, key->name);
		return doc;
	}
	findings_add(b->findings, FINDING_FIELD, key->name, NAMES_FIELD(FAILURE));
	yyjson_doc_free(doc);
	*failure = (struct qless_failure){ .group = STR("") };
	return NULL;
}

/* The place for a job that is in no list. */
static struct place stray_place(struct build *b, const struct found_job *job,
				const struct import_job *to)
{
	struct place place = { .state = QLESS_WAITING, .owner = to->info.queue };

	findings_add(b->findings, FINDING_STRAY_JOB, job->key->name, STR(""));
	if (!state_from(key_field(job->key, NAMES_FIELD(STATE)), &place.state) ||
	    (place.state == QLESS_FAILED && !to->info.has_failure))
		place.state = QLESS_WAITING;
	place.score = to->info.time;
	if (place.state == QLESS_STALLED)
		place.state = QLESS_WAITING;
	if (place.state == QLESS_WAITING)
		place.score = to->info.priority - to->info.time / 10000000000.0;
	if (place.state == QLESS_RUNNING)
		place.score = to->info.expires;
	if (place.state == QLESS_SCHEDULED && !isnan(to->due))
		place.score = to->due;
	if (place.state == QLESS_FAILED) {
		place.owner = to->info.failure.group;
		place.score = 0;
	}
	return place;
}

static void touch_list(struct build *b, const struct place *place)
{
	enum qless_state state = place->state == QLESS_STALLED ? QLESS_WAITING : place->state;

	if (state == QLESS_COMPLETE)
		findings_touch(b->findings, STR(NAMES_COMPLETED));
	if (state == QLESS_FAILED)
		findings_touch(b->findings, build_name(b, STR(NAMES_GROUP), place->owner, STR("")));
	for (int list = 0; list < QUEUE_LISTS; list++) {
		if (queue_lists[list].state == (int)state)
			findings_touch(b->findings, build_name(b, STR(NAMES_QUEUE), place->owner,
							       names_queue_suffixes[list]));
	}
}

/* The list decides: the fields of the job are changed to agree with it. */
static void fit_place(struct build *b, struct found_job *from, struct import_job *to)
{
	struct place *place = &from->place;
	struct qless_failure *failure = &to->info.failure;

	if (!place->known) {
		*place = stray_place(b, from, to);
		touch_list(b, place);
	} else if (!place->is_right) {
		findings_add(b->findings, FINDING_WRONG_STATE, from->key->name, place->list);
	}
	to->info.state = place->state;
	to->score = place->score;
	if (place->state == QLESS_FAILED) {
		if (!to->info.has_failure || !str_equal(failure->group, place->owner))
			findings_add(b->findings, FINDING_FIELD, from->key->name,
				     NAMES_FIELD(FAILURE));
		if (!to->info.has_failure)
			*failure = (struct qless_failure){ .message = STR(""),
							   .worker = STR(""),
							   .when = to->info.time };
		failure->group = place->owner;
		to->info.has_failure = true;
	} else if (place->state != QLESS_COMPLETE) {
		to->info.queue = place->owner;
	}
	if (!isfinite(to->score) &&
	    (place->state == QLESS_RUNNING || place->state == QLESS_COMPLETE)) {
		findings_add(b->findings, FINDING_FIELD, from->key->name, NAMES_FIELD(EXPIRES));
		findings_touch(b->findings, place->list);
		to->score = to->info.time;
	}
	/* Jobs whose lock timed out come before all others. */
	if (place->state == QLESS_STALLED && to->score == -INFINITY) {
		findings_add(b->findings, FINDING_WRONG_STATE, from->key->name, place->list);
		to->info.state = place->state = QLESS_WAITING;
	}
	if (place->state == QLESS_RUNNING && !to->is_warned && to->info.expires != to->score)
		findings_add(b->findings, FINDING_LOCK, from->key->name, STR(""));
	if (place->state == QLESS_COMPLETE && to->info.time != to->score)
		findings_add(b->findings, FINDING_FIELD, from->key->name, NAMES_FIELD(TIME));
}

/* Report fields without a meaning in the state of the job, which qlessd does not store. */
static void check_leftovers(struct build *b, const struct key *key, const struct import_job *job)
{
	enum qless_state state = job->info.state;
	bool is_over = state == QLESS_FAILED || state == QLESS_COMPLETE;
	struct qless_str grace = key_field(key, NAMES_FIELD(GRACE));
	struct qless_str expires = key_field(key, NAMES_FIELD(EXPIRES));
	bool left[] = {
		grace.ptr != NULL && (state != QLESS_RUNNING || !job->is_warned),
		key_field(key, NAMES_FIELD(SCHEDULED)).ptr != NULL && state != QLESS_DEPENDS,
		is_over && job->info.worker.len > 0,
		state == QLESS_FAILED ? expires.len > 0 : is_over && job->info.expires != 0,
		state == QLESS_COMPLETE && job->info.queue.len > 0,
		state == QLESS_RUNNING && job->info.worker.len == 0,
	};
	static const enum names_field fields[] = {
		NAMES_FIELD_GRACE,   NAMES_FIELD_SCHEDULED, NAMES_FIELD_WORKER,
		NAMES_FIELD_EXPIRES, NAMES_FIELD_QUEUE,	    NAMES_FIELD_WORKER,
	};

	for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
		if (left[i])
			findings_add(b->findings, FINDING_LEFTOVER, key->name,
				     names_fields[fields[i]].name);
	}
	/* The field is empty in a failed job. */
	if (expires.ptr == NULL || (expires.len == 0 && state != QLESS_FAILED))
		findings_add(b->findings, FINDING_FIELD, key->name, NAMES_FIELD(EXPIRES));
}

static void build_job(struct build *b, struct found_job *from)
{
	const struct key *key = from->key;
	struct import_job job = { .info = { .jid = from->jid } };
	struct buf quoted = BUF_INIT(BUF_NO_MAX);
	yyjson_doc *failure;
	struct qless_job *made;
	void *tags;

	check_fields(b, key);
	job.info.klass = name_field(b, key, NAMES_FIELD(KLASS));
	job.info.data = data_field(b, key, &quoted);
	job.info.queue = name_field(b, key, NAMES_FIELD(QUEUE));
	job.info.worker = name_field(b, key, NAMES_FIELD(WORKER));
	job.info.priority = build_number(b, key, NAMES_FIELD(PRIORITY), 0);
	job.info.retries = build_number(b, key, NAMES_FIELD(RETRIES), 5);
	job.info.remaining = build_number(b, key, NAMES_FIELD(REMAINING), job.info.retries);
	job.info.time = build_number(b, key, NAMES_FIELD(TIME), 0);
	job.info.expires = build_number_if(b, key, NAMES_FIELD(EXPIRES), 0);
	job.due = key_field(key, NAMES_FIELD(SCHEDULED)).ptr != NULL
			  ? build_number(b, key, NAMES_FIELD(SCHEDULED), NAN)
			  : NAN;
	job.is_warned = str_equal(key_field(key, NAMES_FIELD(GRACE)), STR("1"));
	if (key_field(key, NAMES_FIELD(SPAWNED_FROM)).ptr != NULL)
		job.info.spawned_from = name_field(b, key, NAMES_FIELD(SPAWNED_FROM));
	failure = read_failure(b, key, &job);
	tags = build_tags(b, key);
	job.tags = b->tags;
	job.tag_count = b->tag_count;
	fit_place(b, from, &job);
	check_leftovers(b, key, &job);
	made = import_job(&b->import, &job);
	build_history(b, made, from);
	build_tags_done(tags);
	yyjson_doc_free(failure);
	buf_done(&quoted);
}

void build_jobs(struct build *b)
{
	find_jobs(b);
	read_lists(b);
	for (size_t i = 0; i < b->found_count; i++)
		build_job(b, &b->found[i]);
}
