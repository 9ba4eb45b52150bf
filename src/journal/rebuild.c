/*
 * Recovery up to the end of a segment, and then a snapshot.
 */
#include "journal/rebuild.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int load(const struct base_options *base, const struct recovery_target *target,
		struct buf *ret_error)
{
	struct recovery_limit limit = { base->sequence, INT64_MAX };
	struct recovery r;
	struct buf error = BUF_INIT(ret_error->max);
	int rc = recovery_run(&r, base->io, base->dir, &limit, target, &error);

	/* The advice that recovery gives is for a start of the server, so it is left out. */
	if (r.damaged)
		buf_printf(ret_error,
			   "log-%08" PRIu64 " is damaged at offset %" PRIu64
			   ", where sequence %" PRIu64 " should be",
			   r.damaged_file, r.damaged_offset, r.damaged_sequence);
	else
		buf_append_str(ret_error, buf_str(&error));
	buf_done(&error);
	if (rc == 0 && r.last_sequence != base->sequence) {
		buf_printf(ret_error, "the log ends with sequence %" PRIu64 " instead of %" PRIu64,
			   r.last_sequence, base->sequence);
		rc = -EBADMSG;
	}
	recovery_done(&r);
	return rc;
}

int rebuild_base(const struct rebuild_options *options, const struct base_options *base,
		 struct qless_str extra, uint64_t *ret_bytes, struct buf *ret_error)
{
	struct recovery_target target = options->begin(options->arg);
	struct base_writer w;
	int rc;

	*ret_bytes = 0;
	rc = load(base, &target, ret_error);
	if (rc == 0) {
		base_begin(&w, base);
		options->save(target.arg, &w);
		if (extra.len > 0)
			base_add_operations(&w, extra);
		rc = base_finish(&w, ret_bytes);
		if (rc < 0)
			buf_printf(ret_error, "the snapshot cannot be written: %s", strerror(-rc));
	}
	options->end(target.arg);
	return rc;
}
