/*
 * Long listings: work that visits the elements of sorted lists.
 *
 * A listing remembers the last element that it has visited, by score and member, and goes on with
 * the one after it. So an element that stays in its place while the listing is written is listed
 * exactly once. An element that comes, goes or moves meanwhile may be missing. One that moves may
 * be listed twice. The number of elements is never larger than at the beginning.
 *
 * A listing has one or two parts, each a range of a list.
 */
#ifndef COMMAND_LISTING_H
#define COMMAND_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/json.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/buf.h"
#include "util/skiplist.h"
#include "util/skipmerge.h"

/* Shorter listings are written at once. */
#define LISTING_SHORT 64

struct listing;

struct listing_form {
	/* An aggregate of the elements, or REPLY_TEXT for a text in scratch->json. */
	enum reply_type type;
	/* Returns the list of a part as it is now, or NULL if it is gone. */
	const struct skiplist *(*find)(const struct listing *l, const struct request *req);
	/* For a part that may be in two lists, instead. Returns whether there is one. */
	bool (*find_order)(const struct listing *l, const struct request *req,
			   struct skipmerge *ret_order);
	/* Writes an element. Returns how many values of the aggregate these are. */
	size_t (*write)(struct listing *l, struct request *req, const struct skiplist *list,
			const struct skipnode *node);
	/* Prepares what the elements show. Returns false if the next part has to go on with that.
	 * NULL: nothing is prepared. */
	bool (*prepare)(const struct request *req);
	/* Writes values before the aggregate. NULL: none. */
	void (*begin)(struct listing *l, struct request *req);
	/* Text before and after a part, and at the end. NULL: none. */
	void (*begin_part)(struct listing *l, struct request *req);
	void (*end_part)(struct listing *l, struct request *req);
	void (*end)(struct listing *l, struct request *req);
};

struct listing_part {
	uint64_t first; /* rank of the first element */
	uint64_t count; /* elements that are still to be visited */
	bool is_reverse;
};

#define LISTING_PARTS 2

struct listing {
	struct work work;
	const struct listing_form *form;
	struct listing_part parts[LISTING_PARTS];
	unsigned part;
	unsigned part_count;
	int kind;	     /* for the form */
	uint64_t cursor;     /* for the form */
	double number;	     /* for the form */
	int64_t page_offset; /* for the form */
	int64_t page_count;  /* for the form */
	bool in_part;	     /* the part has begun */
	bool has_visited;    /* an element of the part, whose place follows */
	double score;
	struct buf member;
	struct reply_deferred deferred;
	bool has_begun;
	size_t values;	 /* of the aggregate, so far */
	size_t elements; /* that were written in this part */
};

/* Makes a listing without parts. */
struct listing *listing_new(const struct listing_form *form);
/* Adds a range of a list. An empty one is fine. */
void listing_add(struct listing *l, uint64_t first, uint64_t count, bool is_reverse);
void listing_add_range(struct listing *l, const struct view_range *range);
/* Writes the reply, now or over several turns. Takes the listing. */
void listing_begin(struct request *req, struct listing *l);

/* For forms: writes the member of a node, as a value or as a string in a list of JSON. */
size_t listing_write_member(struct listing *l, struct request *req, const struct skiplist *list,
			    const struct skipnode *node);
size_t listing_write_json(struct listing *l, struct request *req, const struct skiplist *list,
			  const struct skipnode *node);
/* For forms: writes what precedes an element in a list of JSON. Returns the text. */
struct buf *listing_next_json(struct listing *l, struct request *req);
/* For forms: ends a list of JSON. The next element begins another one. */
void listing_end_json(struct listing *l, struct request *req, enum json_empty empty);

#endif
