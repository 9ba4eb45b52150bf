#include "command/permit.h"

#include "command/job_queue.h"
#include "engine/view.h"
#include "keyspace/names.h"
#include "keyspace/owner.h"

/* Arguments of the request that stands for all of a command. */
#define SOME_ARGS 6

/* ---- jobs ---- */

bool permit_job(const struct user *user, const struct qless *engine, const struct qless_job *job,
		unsigned access)
{
	struct qless_job_info info;
	struct qless_str queue;

	qless_job_read(job, &info);
	return job_queue_find(engine, job, &info, &queue) && acl_may_use_key(user, queue, access);
}

bool permit_jid(const struct user *user, const struct qless *engine, struct qless_str jid,
		unsigned access)
{
	const struct qless_job *job = engine != NULL ? qless_get(engine, jid) : NULL;

	return job != NULL && permit_job(user, engine, job, access);
}

/* ---- objects ---- */

/* A judge of the objects of a request. */
struct judge {
	const struct permit_query *query;
	struct buf *object; /* the name of the one that is refused */
	enum permit answer;
};

/* A command that moves a job to another queue shows it there, so the user must be able to read it.
 */
static unsigned access_to_move(const struct object *object, struct qless_str queue)
{
	bool moves = object->queue != NULL && !str_equal(*object->queue, queue);

	return object->access | (moves ? (unsigned)ACL_READ : 0);
}

static bool judge_job(const struct permit_query *query, const struct object *object)
{
	const struct qless_job *job =
		query->engine != NULL ? qless_get(query->engine, object->name) : NULL;
	struct qless_job_info info;

	if (job == NULL)
		return object->kind == OBJECT_NEW_JOB;
	qless_job_read(job, &info);
	return permit_job(query->user, query->engine, job, access_to_move(object, info.queue));
}

static bool judge_recur(const struct permit_query *query, const struct object *object)
{
	const struct qless_recur *recur =
		query->engine != NULL ? qless_recur_get(query->engine, object->name) : NULL;
	struct qless_recur_info info;

	if (recur == NULL)
		return object->kind == OBJECT_NEW_RECUR;
	qless_recur_read(recur, &info);
	return acl_may_use_key(query->user, info.queue, access_to_move(object, info.queue));
}

/* A worker may be removed from the list of workers by a user that may use all of its jobs. */
static bool judge_worker(const struct permit_query *query, const struct object *object)
{
	const struct skiplist *jobs =
		query->engine != NULL ? view_worker_jobs(query->engine, object->name) : NULL;
	const struct skipnode *node = jobs != NULL ? skiplist_first(jobs) : NULL;

	for (; node != NULL; node = skiplist_next(node)) {
		if (!permit_jid(query->user, query->engine, jobs->member(node), object->access))
			return false;
	}
	return true;
}

bool permit_option(const struct user *user, struct qless_str option, unsigned access)
{
	struct qless_str queue;

	if (str_strip_suffix(option, STR("-heartbeat"), &queue) ||
	    str_strip_suffix(option, STR("-max-concurrency"), &queue) ||
	    str_strip_suffix(option, STR("-order"), &queue) ||
	    str_strip_suffix(option, STR("-runtime"), &queue) ||
	    str_strip_suffix(option, STR("-start-timeout"), &queue) ||
	    str_strip_suffix(option, STR("-retain"), &queue))
		return acl_may_use_key(user, queue, access);
	return access == ACL_READ || acl_may_use_key(user, STR(NAMES_CONFIG), access);
}

bool permit_key(const struct user *user, const struct qless *engine, struct qless_str key,
		unsigned access)
{
	struct keyspace_owner owner;

	if (acl_may_use_key(user, key, access))
		return true;
	if (engine == NULL)
		return false;
	keyspace_find_owner(engine, key, &owner);
	if (owner.job != NULL)
		return permit_job(user, engine, owner.job, access);
	return owner.has_queue && acl_may_use_key(user, owner.queue, access);
}

static bool judge_object(const struct permit_query *query, const struct object *object)
{
	switch (object->kind) {
	case OBJECT_QUEUE:
		return acl_may_use_key(query->user, object->name, object->access);
	case OBJECT_JOB:
	case OBJECT_NEW_JOB:
		return query->names_only || judge_job(query, object);
	case OBJECT_RECUR:
	case OBJECT_NEW_RECUR:
		return query->names_only || judge_recur(query, object);
	case OBJECT_WORKER:
		return query->names_only || judge_worker(query, object);
	case OBJECT_OPTION:
		return permit_option(query->user, object->name, object->access);
	case OBJECT_KEY:
		return query->names_only ||
		       permit_key(query->user, query->engine, object->name, object->access);
	case OBJECT_EVERYTHING:
		return false;
	case OBJECT_CHANNEL:
		return acl_may_use_channel(query->user, object->name);
	case OBJECT_PATTERN:
		return acl_may_use_pattern(query->user, object->name);
	}
	return false;
}

static bool judge(void *arg, const struct object *object)
{
	struct judge *j = arg;
	bool is_channel = object->kind == OBJECT_CHANNEL || object->kind == OBJECT_PATTERN;

	if (!is_channel && !acl_limits_keys(j->query->user))
		return true;
	if (judge_object(j->query, object))
		return true;
	j->answer = is_channel ? PERMIT_NO_CHANNEL : PERMIT_NO_KEY;
	buf_clear(j->object);
	buf_append_str(j->object, object->name);
	return false;
}

enum permit permit_request(const struct permit_query *query, const struct object_request *request,
			   struct buf *ret_object)
{
	struct judge j = { query, ret_object, PERMIT_YES };

	objects_each(request, judge, &j);
	return j.answer;
}

/* ---- commands ---- */

static bool judge_some(void *arg, const struct object *object)
{
	const struct permit_query *query = arg;
	const struct user *user = query->user;

	switch (object->kind) {
	case OBJECT_QUEUE:
	case OBJECT_JOB:
	case OBJECT_NEW_JOB:
	case OBJECT_RECUR:
	case OBJECT_NEW_RECUR:
	case OBJECT_WORKER:
	case OBJECT_KEY:
		return acl_may_use_some_key(user, object->access);
	case OBJECT_OPTION:
		return object->access == ACL_READ || acl_may_use_some_key(user, object->access);
	case OBJECT_EVERYTHING:
		return !acl_limits_keys(user);
	case OBJECT_CHANNEL:
	case OBJECT_PATTERN:
		return acl_may_use_some_channel(user);
	}
	return false;
}

/* The objects are those of a request whose arguments can be names and numbers. */
bool permit_command(const struct user *user, const struct command *row)
{
	struct permit_query query = { .user = user };
	struct qless_str args[SOME_ARGS];
	const struct object_request request = {
		.row = row, .form = REQUEST_NATIVE, .args = args, .nargs = SOME_ARGS
	};

	for (size_t i = 0; i < SOME_ARGS; i++)
		args[i] = STR("1");
	if ((row->flags & CMD_WRITE) != 0 && !acl_may_use_some_key(user, ACL_WRITE))
		return false;
	return objects_each(&request, judge_some, &query);
}

const struct user *permit_viewer(const struct request *req)
{
	const struct user *user;

	if (req->session == NULL)
		return NULL;
	user = req->session->user != NULL ? req->session->user : acl_nobody();
	return acl_limits_keys(user) ? user : NULL;
}
