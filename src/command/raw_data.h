/*
 * Data of raw jobs: bytes instead of JSON.
 *
 * A native command about a raw job gives its data as bytes. The forms of the reference have JSON
 * alone, so there a raw job has the data {"base64":"..."}. A client that returns it leaves the
 * bytes as they are. Any other JSON becomes the data as it is.
 *
 * Clients that move a job put it again with the data that they have read. They know nothing of raw
 * jobs, so {"base64":"..."} stands for bytes there, too.
 */
#ifndef COMMAND_RAW_DATA_H
#define COMMAND_RAW_DATA_H

#include <stdbool.h>

#include "command/classic_int.h"

/* The part of raw_data_check() for data that may be raw. `rc` is what request_json_text() says. */
int raw_data_settle(struct request *req, struct qless_str jid, int rc, struct qless_str text,
		    enum json_kind *ret_kind, struct qless_str *ret_data);

/* Settle what data of a worker stands for, after request_json_text() said `rc`. *ret_data is the
 * data for the job: `text`, or what it stands for. Inline, because nearly all data is JSON. */
static inline int raw_data_settle_checked(struct request *req, struct qless_str jid, int rc,
					  struct qless_str text, enum json_kind *ret_kind,
					  struct qless_str *ret_data)
{
	*ret_data = text;
	if (rc == 0 && req->form == REQUEST_NATIVE && *ret_kind != JSON_FALSE)
		return 0;
	return raw_data_settle(req, jid, rc, text, ret_kind, ret_data);
}

/* Check the data that a worker sends with a job, like request_json_text(), and settle it. */
static inline int raw_data_check(struct request *req, struct qless_str jid, struct qless_str text,
				 enum json_kind *ret_kind, struct qless_str *ret_data)
{
	int rc = request_json_text(req, "data", text, ret_kind);

	return raw_data_settle_checked(req, jid, rc, text, ret_kind, ret_data);
}

/* Whether the data of a put without the option `raw` stands for the bytes of a job that is raw.
 * *ret_data is the bytes then. */
bool raw_data_find(struct request *req, struct qless_str jid, struct qless_str text,
		   struct qless_str *ret_data);

#endif
