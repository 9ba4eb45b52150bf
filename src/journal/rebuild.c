/*
 * Recovery up to the end of a segment, and then a snapshot.
 */
#include "journal/rebuild.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "journal/log_index.h"

static int load(const struct base_options *base, const struct recovery_target *target,
		bool *ret_has_group, struct buf *ret_error)
{
	struct recovery_limit limit = { base->sequence, INT64_MAX, .is_committed = true };
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
	*ret_has_group = r.manifest.has_group;
	recovery_done(&r);
	return rc;
}

/* Write the state as a snapshot. `group` describes it if it is that of a group. */
static int save(const struct rebuild_options *options, const struct base_options *base, void *state,
		const struct record_group *group, struct qless_str extra, uint64_t *ret_bytes)
{
	struct base_options described = *base;
	struct base_writer w;

	described.group = group;
	base_begin(&w, &described);
	options->save(state, &w);
	if (extra.len > 0)
		base_add_operations(&w, extra);
	return base_finish(&w, ret_bytes);
}

int rebuild_base(const struct rebuild_options *options, const struct base_options *base,
		 struct qless_str extra, uint64_t *ret_bytes, struct buf *ret_error)
{
	struct recovery_target target = options->begin(options->arg);
	struct record_group group;
	struct log_index index;
	bool has_group;
	int rc;

	*ret_bytes = 0;
	log_index_init(&index);
	target.index = &index;
	rc = load(base, &target, &has_group, ret_error);
	if (rc == 0 && has_group && !log_index_describe(&index, base->sequence, &group)) {
		buf_printf(ret_error, "the log does not have the members of the group");
		rc = -EBADMSG;
	} else if (rc == 0) {
		rc = save(options, base, target.arg, has_group ? &group : NULL, extra, ret_bytes);
		if (rc < 0)
			buf_printf(ret_error, "the snapshot cannot be written: %s", strerror(-rc));
	}
	log_index_done(&index);
	options->end(target.arg);
	return rc;
}
