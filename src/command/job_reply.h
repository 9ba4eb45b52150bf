/*
 * A reply of jobs, as POP and PEEK write it: a list in JSON that grows job by job.
 *
 * For the handlers of the queue commands. The functions are inline, because POP is called often.
 */
#ifndef COMMAND_JOB_REPLY_H
#define COMMAND_JOB_REPLY_H

#include "command/classic_int.h"

/* Bytes after which a reply of jobs moves from the buffer to the output, so that a long reply is
 * not in memory twice. A piece and one more job should fit into a chunk of the output: chunks are
 * reused, and writing to new memory is slower. */
#define JOB_REPLY_PIECE_BYTES (CHAIN_CHUNK_BYTES / 2)

struct job_reply {
	struct request *req;
	struct json_job_list list;
	struct reply_deferred pieces;
	size_t moved; /* bytes that are no longer in the buffer */
};

static inline void job_reply_begin(struct job_reply *reply, struct request *req)
{
	reply->req = req;
	reply->moved = 0;
	json_job_list_begin(&reply->list, request_json_buf(req), req->style, req->now);
}

static inline void job_reply_move(struct job_reply *reply)
{
	struct reply *w = reply->req->reply;

	if (reply->moved == 0)
		reply_deferred_begin(w, &reply->pieces, REPLY_TEXT);
	reply->moved += reply->list.buf->len;
	reply_deferred_append(w, &reply->pieces, buf_str(reply->list.buf));
	buf_clear(reply->list.buf);
}

/* Returns false if no more jobs are wanted: the reply is too large. */
static inline bool job_reply_add(struct job_reply *reply, const struct qless_job *job)
{
	json_job_list_add(&reply->list, job);
	if (reply->list.buf->len >= JOB_REPLY_PIECE_BYTES)
		job_reply_move(reply);
	return reply_is_wanted(reply->req->reply);
}

/* Returns the bytes that were written so far. */
static inline size_t job_reply_bytes(const struct job_reply *reply)
{
	return reply->moved + reply->list.buf->len;
}

static inline int job_reply_end(struct job_reply *reply)
{
	json_job_list_end(&reply->list);
	if (reply->moved == 0)
		return answer_json(reply->req);
	job_reply_move(reply);
	reply_deferred_end(reply->req->reply, &reply->pieces, 0);
	return 0;
}

#endif
