/*
 * The whole state as text, in an order that follows from the state alone: two engines are in the
 * same state if and only if their dumps have the same bytes.
 *
 * Each thing has a line that begins with its kind. Strings are quoted as in JSON, numbers have 17
 * digits. The dump leaves out what is in memory only: heights of nodes, the order of hash tables,
 * the number of changes.
 */
#include <math.h>
#include <stdlib.h>

#include "engine/account.h"
#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/fair.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/runtime.h"
#include "engine/schedule.h"
#include "engine/settings.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/terms.h"
#include "engine/vec.h"
#include "engine/worker.h"
#include "util/json.h"
#include "util/num.h"

struct dump {
	const struct qless *q;
	struct buf line;
	struct str_vec names;
	void (*write)(void *arg, struct qless_str piece);
	void *arg;
};

static void begin_line(struct dump *d, const char *what)
{
	buf_clear(&d->line);
	buf_append_str(&d->line, str_from(what));
}

static void end_line(struct dump *d)
{
	buf_append_char(&d->line, '\n');
	d->write(d->arg, buf_str(&d->line));
}

static void add_string(struct dump *d, struct qless_str s)
{
	buf_append_char(&d->line, ' ');
	json_append_string(&d->line, s);
}

static void add_number(struct dump *d, double number)
{
	char text[NUM_MAX];

	buf_append_char(&d->line, ' ');
	buf_append(&d->line, text, num_format_g17(text, number));
}

static void add_integer(struct dump *d, int64_t number)
{
	char text[NUM_MAX];

	buf_append_char(&d->line, ' ');
	buf_append(&d->line, text, num_format_i64(text, number));
}

static void dump_nodes(struct dump *d, const char *indent, const char *what,
		       const struct skiplist *list)
{
	const struct skipnode *node;

	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node)) {
		begin_line(d, indent);
		buf_append_str(&d->line, str_from(what));
		add_string(d, list->member(node));
		add_number(d, node->score);
		end_line(d);
	}
}

/* Write a list: member and score of each node. */
static void dump_list(struct dump *d, const char *what, const struct skiplist *list)
{
	dump_nodes(d, "", what, list);
}

/* Write a list of the object whose line was written before. */
static void dump_part(struct dump *d, const char *what, const struct skiplist *list)
{
	dump_nodes(d, "  ", what, list);
}

/* Write the members of a list whose scores only define its order. */
static void dump_members(struct dump *d, const char *what, const struct skiplist *list)
{
	const struct skipnode *node;

	if (list == NULL)
		return;
	begin_line(d, what);
	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node))
		add_string(d, list->member(node));
	end_line(d);
}

/* ---- by name ---- */

/* Take the names of the objects in a table, sorted. */
static void take_objects(struct dump *d, const struct intern_table *table)
{
	struct hash_iter it;
	struct hash_node *node;

	str_vec_clear(&d->names);
	HASH_FOREACH(node, &it, &table->hash) {
		if (intern_from_node(node)->user != NULL)
			str_vec_push(&d->names, intern_str(intern_from_node(node)));
	}
	str_vec_sort(&d->names);
}

static void take_keys(struct dump *d, const struct hash *table)
{
	struct hash_iter it;
	struct hash_node *node;

	str_vec_clear(&d->names);
	HASH_FOREACH(node, &it, table)
		str_vec_push(&d->names, table->key(node));
	str_vec_sort(&d->names);
}

/* ---- queues ---- */

static void dump_series(struct dump *d, const char *what, const struct series *series)
{
	uint32_t i;

	if (series->count == 0)
		return;
	begin_line(d, what);
	add_number(d, series->count);
	add_number(d, series->mean);
	add_number(d, series->vk);
	for (i = 0; i < series->bucket_count; i++) {
		buf_append_char(&d->line, ' ');
		buf_append_char(&d->line, (char)series->buckets[i].unit);
		add_number(d, series->buckets[i].value);
		add_integer(d, (int64_t)series->buckets[i].count);
	}
	end_line(d);
}

static void dump_day(struct dump *d, const struct stats_day *day)
{
	int i;

	begin_line(d, "  day");
	add_number(d, day->day);
	for (i = 0; i < COUNTER_TOTAL; i++) {
		if (day->counted[i])
			add_integer(d, day->counters[i]);
		else
			buf_append_str(&d->line, STR(" -"));
	}
	end_line(d);
	dump_series(d, "    wait", &day->wait);
	dump_series(d, "    run", &day->run);
}

static void dump_turns(struct dump *d, const struct fair *fair)
{
	size_t count;
	struct turn **turns = fair_sort_turns(fair, &count);

	begin_line(d, "  fair");
	add_number(d, fair->pass);
	add_number(d, fair->plain);
	end_line(d);
	for (size_t i = 0; i < count; i++) {
		begin_line(d, "  turn");
		add_string(d, intern_str(turns[i]->name));
		add_number(d, turns[i]->pass);
		end_line(d);
	}
	free(turns);
}

static void dump_queue(struct dump *d, const struct queue *queue)
{
	uint32_t i;

	begin_line(d, "queue");
	add_string(d, queue_name(queue));
	if (queue->paused)
		buf_append_str(&d->line, STR(" paused"));
	end_line(d);
	for (int list = 0; list < QUEUE_ALL_LISTS; list++)
		dump_part(d, queue_lists[list].word, &queue->lists[list]);
	for (i = 0; i < queue->day_count; i++)
		dump_day(d, &queue->days[i]);
	if (queue->fair != NULL)
		dump_turns(d, queue->fair);
}

static void dump_queues(struct dump *d)
{
	size_t i;

	dump_list(d, "known queue", &d->q->queues);
	take_objects(d, &d->q->queue_names);
	for (i = 0; i < d->names.count; i++)
		dump_queue(d, queue_find(d->q, d->names.items[i]));
}

/* ---- workers, groups, tags ---- */

static void dump_deeds(struct dump *d, const struct worker *worker)
{
	uint32_t i;
	int k;

	for (i = 0; i < worker->day_count; i++) {
		begin_line(d, "  day");
		add_number(d, worker->days[i].day);
		for (k = 0; k < DEED_TOTAL; k++)
			add_integer(d, (int64_t)worker->days[i].deeds[k]);
		end_line(d);
	}
}

static void dump_workers(struct dump *d)
{
	const struct worker *worker;
	size_t i;

	dump_list(d, "known worker", &d->q->workers);
	take_objects(d, &d->q->worker_names);
	for (i = 0; i < d->names.count; i++) {
		worker = worker_find(d->q, d->names.items[i]);
		begin_line(d, "worker");
		add_string(d, d->names.items[i]);
		end_line(d);
		dump_part(d, "holds", &worker->by_expiry);
		dump_deeds(d, worker);
	}
}

static void dump_groups(struct dump *d)
{
	size_t i;

	take_objects(d, &d->q->group_names);
	for (i = 0; i < d->names.count; i++) {
		begin_line(d, "group");
		add_string(d, d->names.items[i]);
		end_line(d);
		dump_members(d, "  failed", &group_find(d->q, d->names.items[i])->jobs);
	}
}

static void dump_tags(struct dump *d)
{
	size_t i;

	dump_list(d, "used tag", &d->q->tags);
	take_objects(d, &d->q->tag_names);
	for (i = 0; i < d->names.count; i++) {
		begin_line(d, "tag");
		add_string(d, d->names.items[i]);
		end_line(d);
		dump_part(d, "tagged", &tag_find(d->q, d->names.items[i])->jobs);
	}
}

/* ---- limits ---- */

static void dump_limit(struct dump *d, const struct named_limit *limit)
{
	const struct limit_rule *rule = limit->own;

	begin_line(d, "limit");
	add_string(d, intern_str(limit->name));
	add_number(d, limit->tat);
	add_number(d, limit->held_until);
	end_line(d);
	if (rule != NULL) {
		begin_line(d, "  rule");
		add_integer(d, rule->concurrency);
		add_number(d, rule->rate);
		add_number(d, rule->per);
		add_number(d, rule->burst);
		add_number(d, rule->weight);
		add_number(d, rule->expires);
		end_line(d);
	}
	dump_part(d, "slot", &limit->slots);
}

static void dump_limits(struct dump *d)
{
	take_objects(d, &d->q->limit_names);
	for (size_t i = 0; i < d->names.count; i++)
		dump_limit(d, named_limit_find(d->q, d->names.items[i]));
}

static void add_set(struct dump *d, const struct limit_set *set)
{
	for (uint32_t i = 0; set != NULL && i < set->count; i++)
		add_string(d, intern_str(set->limits[i]->name));
}

/* ---- jobs ---- */

static void dump_history(struct dump *d, const struct qless_job *job)
{
	struct qless_event event;
	size_t cursor = 0;

	while (history_next(&job->history, &cursor, &event)) {
		begin_line(d, "  event");
		add_integer(d, event.kind);
		add_number(d, event.when);
		add_string(d, event.what);
		add_string(d, event.queue);
		add_string(d, event.worker);
		add_string(d, event.group);
		if (event.item.ptr != NULL)
			add_string(d, event.item);
		end_line(d);
	}
}

static void dump_extra(struct dump *d, const struct job_extra *extra)
{
	uint32_t i;

	if (extra->tags != NULL) {
		begin_line(d, "  tags");
		for (i = 0; i < extra->tags->count; i++)
			add_string(d, intern_str(extra->tags->items[i]->tag->name));
		end_line(d);
	}
	if (extra->failure != NULL) {
		begin_line(d, "  failure");
		add_string(d, intern_str(extra->failure->group));
		add_string(d, failure_message(extra->failure));
		add_number(d, extra->failure->when);
		if (extra->failure->worker != NULL)
			add_string(d, intern_str(extra->failure->worker));
		end_line(d);
	}
	if (extra->spawned_from != NULL) {
		begin_line(d, "  spawned from");
		add_string(d, intern_str(extra->spawned_from));
		end_line(d);
	}
	if (!isnan(extra->due)) {
		begin_line(d, "  due");
		add_number(d, extra->due);
		end_line(d);
	}
	dump_members(d, "  depends on", extra->dependencies);
	dump_members(d, "  needed by", extra->dependents);
}

static void dump_unique(struct dump *d, const struct qless_unique *unique)
{
	begin_line(d, unique->is_held ? "  holds" : "  claims");
	add_string(d, unique->key);
	add_string(d, qless_until_text(unique->until));
	if (unique->until == QLESS_UNTIL_SECONDS) {
		add_number(d, unique->seconds);
		add_number(d, unique->ends);
	}
	if (unique->replace)
		add_string(d, STR("replace"));
	end_line(d);
}

static void dump_terms(struct dump *d, const struct qless_terms *terms)
{
	if (terms->has_backoff) {
		begin_line(d, "  backoff");
		add_string(d, qless_backoff_text(terms->backoff.kind));
		add_number(d, terms->backoff.base);
		add_number(d, terms->backoff.max);
		end_line(d);
	}
	if (terms->is_raw) {
		begin_line(d, "  raw");
		end_line(d);
	}
	if (terms->has_runtime) {
		begin_line(d, "  runtime");
		add_number(d, terms->runtime);
		end_line(d);
	}
	if (terms->has_retain) {
		begin_line(d, "  retain");
		add_number(d, terms->retain);
		end_line(d);
	}
	if (terms->has_unique)
		dump_unique(d, &terms->unique);
}

static void dump_retained(struct dump *d, const struct qless_job *job)
{
	struct qless_retained retained;

	if (!qless_job_retained(job, &retained))
		return;
	begin_line(d, "  retained");
	add_number(d, retained.seconds);
	add_number(d, retained.ends);
	end_line(d);
}

static void dump_run(struct dump *d, const struct qless_job *job)
{
	if (isinf(runtime_ends(job)))
		return;
	begin_line(d, "  run ends");
	add_number(d, runtime_ends(job));
	add_number(d, job_terms(job)->allowed);
	add_number(d, job_terms(job)->to_start);
	end_line(d);
}

static void dump_text(struct dump *d, const char *word, const struct account_text *text)
{
	if (text->ptr == NULL)
		return;
	begin_line(d, word);
	add_string(d, account_str(text));
	end_line(d);
}

static void dump_report(struct dump *d, const struct job_account *account)
{
	if (account->is_started) {
		begin_line(d, "  started");
		add_number(d, account->started);
		add_number(d, (double)account->pid);
		end_line(d);
	}
	dump_text(d, "  node", &account->node);
	if (account->has_progress) {
		begin_line(d, "  progress");
		add_number(d, account->percent);
		end_line(d);
	}
	dump_text(d, "  note", &account->note);
}

static void dump_account(struct dump *d, const struct job_account *account)
{
	dump_report(d, account);
	dump_text(d, "  result", &account->result);
	dump_text(d, "  error", &account->error);
	for (size_t i = 0; i < account->meta_count; i++) {
		begin_line(d, "  field");
		add_string(d, account_str(&account->meta[i].name));
		add_string(d, account_str(&account->meta[i].value));
		end_line(d);
	}
}

static void dump_carried(struct dump *d, const struct qless_job *job)
{
	struct qless_terms terms;

	if (qless_job_terms(job, &terms))
		dump_terms(d, &terms);
	if (job_account(job) != NULL)
		dump_account(d, job_account(job));
	dump_run(d, job);
	dump_retained(d, job);
}

static void dump_job(struct dump *d, const struct qless_job *job)
{
	begin_line(d, "job");
	add_string(d, job_jid(job));
	add_string(d, qless_state_text(job->state));
	add_string(d, intern_str(job->klass));
	add_string(d, job_data(job));
	if (job->queue != NULL)
		add_string(d, queue_name(job->queue));
	else
		buf_append_str(&d->line, STR(" -"));
	if (job->worker != NULL)
		add_string(d, intern_str(job->worker));
	else
		buf_append_str(&d->line, STR(" -"));
	add_number(d, job->priority);
	add_number(d, job->retries);
	add_number(d, job->remaining);
	add_number(d, job->time);
	add_number(d, job->expires);
	add_integer(d, job->flags);
	end_line(d);
	if (job_lock(job) != 0) {
		begin_line(d, "  lock");
		add_integer(d, (int64_t)job_lock(job));
		end_line(d);
	}
	dump_history(d, job);
	if (job_extra(job) != NULL)
		dump_extra(d, job_extra(job));
	if (job_limits(job) != NULL) {
		begin_line(d, "  limits");
		add_set(d, job_limits(job));
		end_line(d);
	}
	dump_carried(d, job);
}

static void dump_jobs(struct dump *d)
{
	size_t i;

	dump_list(d, "completed", &d->q->completed);
	dump_list(d, "tracked", &d->q->tracks);
	take_keys(d, &d->q->jobs);
	for (i = 0; i < d->names.count; i++)
		dump_job(d, job_find(d->q, d->names.items[i]));
}

static void dump_schedule(struct dump *d, const struct schedule *schedule)
{
	struct qless_schedule read = schedule_read(schedule);

	begin_line(d, "  schedule");
	add_string(d, read.cron);
	add_string(d, read.zone);
	add_string(d, read.rule);
	add_integer(d, read.missed);
	add_integer(d, read.overlap);
	end_line(d);
}

static void dump_recur(struct dump *d, const struct qless_recur *recur)
{
	uint32_t i;

	begin_line(d, "recurring");
	add_string(d, recur_jid(recur));
	add_string(d, queue_name(recur->queue));
	add_string(d, intern_str(recur->klass));
	add_string(d, str_make(recur->data, recur->data_len));
	add_number(d, recur->priority);
	add_number(d, recur->retries);
	add_number(d, recur->interval);
	add_number(d, recur->backlog);
	add_integer(d, (int64_t)recur->count);
	for (i = 0; i < recur->tag_count; i++)
		add_string(d, intern_str(recur->tags[i]));
	end_line(d);
	if (recur->limits != NULL) {
		begin_line(d, "  limits");
		add_set(d, recur->limits);
		end_line(d);
	}
	if (recur->schedule != NULL)
		dump_schedule(d, recur->schedule);
	if (recur->terms != NULL)
		dump_terms(d, recur->terms);
}

static void dump_recurs(struct dump *d)
{
	size_t i;

	take_keys(d, &d->q->recurs);
	for (i = 0; i < d->names.count; i++)
		dump_recur(d, qless_recur_get(d->q, d->names.items[i]));
}

static void dump_options(struct dump *d)
{
	const struct settings *s = &d->q->settings;
	size_t i;

	for (i = 0; i < s->count; i++) {
		begin_line(d, "option");
		add_string(d, str_make(s->options[i].name, s->options[i].name_len));
		add_string(d, str_make(s->options[i].value, s->options[i].value_len));
		end_line(d);
	}
}

void qless_dump(const struct qless *q, void (*write)(void *arg, struct qless_str piece), void *arg)
{
	struct dump d = { .q = q, .write = write, .arg = arg };

	buf_init(&d.line, BUF_NO_MAX);
	begin_line(&d, "latest");
	add_number(&d, q->latest);
	add_integer(&d, (int64_t)q->last_lock);
	end_line(&d);
	if (q->last_number > 0) {
		begin_line(&d, "numbered");
		add_number(&d, q->last_number);
		end_line(&d);
	}
	dump_options(&d);
	dump_queues(&d);
	dump_workers(&d);
	dump_groups(&d);
	dump_tags(&d);
	dump_limits(&d);
	dump_jobs(&d);
	dump_recurs(&d);
	buf_done(&d.line);
	free(d.names.items);
}
