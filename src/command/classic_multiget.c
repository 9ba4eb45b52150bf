/*
 * MULTIGET. A long reply is written over several turns, because jobs can be large and a jid may be
 * named many times.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/permit.h"
#include "command/work.h"
#include "util/container.h"
#include "util/mem.h"

/* Bytes of the longest reply that is written at once. */
#define AT_ONCE_BYTES ((size_t)256 * 1024)

struct multiget {
	struct work work;
	size_t next;   /* the argument to go on with */
	size_t listed; /* jobs so far */
	struct reply_deferred deferred;
	bool has_begun;
};

/* Appends the job of an argument, if there is one that the user may see. */
static void append_job(struct request *req, struct qless_str jid, struct buf *json, size_t *listed)
{
	const struct qless_job *job = qless_get(req->engine, jid);

	if (job == NULL || !permit_shows_job(permit_viewer(req), req->engine, job))
		return;
	buf_append_char(json, (*listed)++ == 0 ? '[' : ',');
	json_append_job(json, job, req->style, req->now);
}

static void end_list(const struct request *req, struct buf *json, size_t listed)
{
	if (listed != 0)
		buf_append_char(json, ']');
	else
		buf_append_str(json,
			       req->style->whole == JSON_EMPTY_OBJECT ? STR("{}") : STR("[]"));
}

static bool go_on(struct work *work, struct request *req)
{
	struct multiget *m = container_of(work, struct multiget, work);
	struct buf *json = request_json_buf(req);
	bool more;

	if (!m->has_begun)
		reply_deferred_begin(req->reply, &m->deferred, REPLY_TEXT);
	m->has_begun = true;
	for (int i = 0;
	     i < WORK_PART_ELEMENTS && m->next < req->nargs && json->len < WORK_PART_BYTES; i++)
		append_job(req, req->args[m->next++], json, &m->listed);
	more = m->next < req->nargs;
	if (!more)
		end_list(req, json, m->listed);
	reply_deferred_append(req->reply, &m->deferred, buf_str(json));
	buf_clear(json);
	if (!more)
		reply_deferred_end(req->reply, &m->deferred, 0);
	return more;
}

static void free_multiget(struct work *work)
{
	struct multiget *m = container_of(work, struct multiget, work);

	chain_done(&m->deferred.body);
	free(m);
}

static int spread(struct request *req)
{
	static const struct work_ops ops = { .go_on = go_on, .free = free_multiget };
	struct multiget *m = mem_zalloc(sizeof *m);

	m->work.ops = &ops;
	work_begin(req, &m->work);
	return 0;
}

int classic_multiget(struct request *req)
{
	struct buf *json = request_json_buf(req);
	size_t listed = 0;
	int rc = request_check_jobs(req, req->nargs);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < req->nargs; i++) {
		append_job(req, req->args[i], json, &listed);
		if (json->len > AT_ONCE_BYTES && i + 1 < req->nargs) {
			/* The listing begins anew: little was written compared with the rest. */
			buf_clear(json);
			return spread(req);
		}
	}
	end_list(req, json, listed);
	return answer_json(req);
}
