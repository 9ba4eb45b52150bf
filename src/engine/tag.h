/*
 * Tags of jobs.
 */
#ifndef ENGINE_TAG_H
#define ENGINE_TAG_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"
#include "util/intern.h"
#include "util/skiplist.h"

/* The tags of a job, in the order in which they were given. A tag may occur more than once. */
struct tag_list {
	uint32_t count;
	struct tagging *items[];
};

struct tag {
	struct intern *name;
	struct skiplist jobs; /* of taggings; score: time tagged */
	struct tagging *mine; /* scratch: its tagging of the current job */
	struct skipnode node; /* in qless.tags; score: number of jobs */
};

struct tagging {
	struct tag *tag;
	struct qless_job *job;
	struct skipnode node; /* aux: how often it occurs in the list of the job */
};

struct tag *tag_find(const struct qless *q, struct qless_str name);
/* Replace all tags of the job. */
void job_set_tags(struct qless *q, struct qless_job *job, const struct qless_str *tags,
		  size_t count, double now);
void job_refresh_tags(struct qless *q, struct qless_job *job, double now);
void job_drop_tags(struct qless *q, struct qless_job *job);
/* The node of the job among those with the tag, or NULL. */
const struct skipnode *job_find_tag(const struct qless_job *job, const struct tag *tag);
/* The interned name of a tag, for recurring jobs. */
struct intern *tag_name_get(struct qless *q, struct qless_str name);

/* Whether the tagging is in the list of its job. */
bool tagging_is_known(const struct tagging *tagging);
/* Free a tagging of the tag, unless its job has it. */
size_t tag_drop_unknown(struct tag *tag, struct tagging *tagging);
/* Repair the taggings of a job: each is in the list of its tag, and counts its occurrences. */
size_t job_resolve_tags(const struct qless_job *job);
/* Repair the entry of the tag among all tags. A tag without jobs may be freed. */
size_t tag_resolve(struct qless *q, struct tag *tag);
/* Repair the tags of all jobs. These functions return the number of repairs. */
size_t tags_resolve(struct qless *q);

#endif
