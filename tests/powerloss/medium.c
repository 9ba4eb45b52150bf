/*
 * Versions of sectors, sizes and names, and the choice among them.
 */
#include "medium.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dirs.h"
#include "rng.h"
#include "util/mem.h"

#define NO_FILE SIZE_MAX

/* Names that lead to files. */
struct binding {
	char name[TRACE_NAME_BYTES];
	size_t file; /* NO_FILE: to none */
};

struct names {
	struct binding *items;
	size_t count, cap;
};

/* A change of one or two names, which happens as a whole. */
struct change {
	struct binding bindings[2];
	size_t count;
	uint64_t at;
};

struct medium {
	struct medium_file *files;
	size_t file_count, file_cap;
	struct names now, safe;
	struct change *changes; /* of names, not safe yet */
	size_t change_count, change_cap;
	size_t *handles; /* the file that each stands for, or NO_FILE */
	size_t handle_count, handle_cap;
};

/* ---- names ---- */

static struct binding *find_name(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->items[i].name, name) == 0)
			return &names->items[i];
	}
	return NULL;
}

static size_t lookup(const struct names *names, const char *name)
{
	const struct binding *b = find_name(names, name);

	return b != NULL ? b->file : NO_FILE;
}

static void bind(struct names *names, const struct binding *to)
{
	struct binding *b = find_name(names, to->name);

	if (b == NULL) {
		names->items =
			mem_grow(names->items, &names->cap, names->count + 1, sizeof *names->items);
		b = &names->items[names->count++];
	}
	*b = *to;
}

static void apply_change(struct names *names, const struct change *change)
{
	for (size_t i = 0; i < change->count; i++)
		bind(names, &change->bindings[i]);
}

static void add_binding(struct change *change, const char *name, size_t file)
{
	struct binding *b = &change->bindings[change->count++];

	snprintf(b->name, sizeof b->name, "%s", name);
	b->file = file;
}

static void note_change(struct medium *m, const struct change *change)
{
	apply_change(&m->now, change);
	m->changes = mem_grow(m->changes, &m->change_cap, m->change_count + 1, sizeof *m->changes);
	m->changes[m->change_count++] = *change;
}

static void make_names_safe(struct medium *m, uint64_t began)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->change_count; i++) {
		if (m->changes[i].at < began)
			apply_change(&m->safe, &m->changes[i]);
		else
			m->changes[kept++] = m->changes[i];
	}
	m->change_count = kept;
}

/* ---- sectors and sizes ---- */

static uint64_t size_now(const struct medium_file *f)
{
	return f->sizes[f->size_count - 1].size;
}

static void set_size(struct medium_file *f, uint64_t size, uint64_t at)
{
	if (f->size_count > 0 && size == size_now(f))
		return;
	f->sizes = mem_grow(f->sizes, &f->size_cap, f->size_count + 1, sizeof *f->sizes);
	f->sizes[f->size_count++] = (struct medium_size){ size, at };
}

static void push_version(struct medium_versions *v, unsigned char *bytes, uint64_t at)
{
	v->items = mem_grow(v->items, &v->cap, v->count + 1, sizeof *v->items);
	v->items[v->count++] = (struct medium_sector){ bytes, at };
}

static struct medium_versions *reach_sector(struct medium_file *f, size_t index)
{
	while (f->sector_count <= index) {
		f->sectors = mem_grow(f->sectors, &f->sector_cap, f->sector_count + 1,
				      sizeof *f->sectors);
		f->sectors[f->sector_count] = (struct medium_versions){ 0 };
		push_version(&f->sectors[f->sector_count++], NULL, 0);
	}
	return &f->sectors[index];
}

static void list_unsafe(struct medium_file *f, size_t index)
{
	if (f->sectors[index].is_listed)
		return;
	f->sectors[index].is_listed = true;
	f->unsafe = mem_grow(f->unsafe, &f->unsafe_cap, f->unsafe_count + 1, sizeof *f->unsafe);
	f->unsafe[f->unsafe_count++] = index;
}

/* Write `len` bytes into a sector; NULL are zeros. */
static void write_sector(struct medium_file *f, size_t index, size_t from, const char *bytes,
			 size_t len, uint64_t at)
{
	struct medium_versions *v = reach_sector(f, index);
	const unsigned char *before = v->items[v->count - 1].bytes;
	unsigned char *after = NULL;

	if (bytes != NULL || (before != NULL && len < MEDIUM_SECTOR)) {
		after = mem_zalloc(MEDIUM_SECTOR);
		if (before != NULL)
			memcpy(after, before, MEDIUM_SECTOR);
		if (bytes != NULL)
			memcpy(after + from, bytes, len);
		else
			memset(after + from, 0, len);
	}
	push_version(v, after, at);
	list_unsafe(f, index);
}

static void write_range(struct medium_file *f, uint64_t offset, const char *bytes, uint64_t len,
			uint64_t at)
{
	uint64_t end = offset + len;

	if (end > size_now(f))
		set_size(f, end, at);
	while (offset < end) {
		size_t from = (size_t)(offset % MEDIUM_SECTOR);
		size_t part = MEDIUM_SECTOR - from;

		if (part > end - offset)
			part = (size_t)(end - offset);
		write_sector(f, (size_t)(offset / MEDIUM_SECTOR), from, bytes, part, at);
		offset += part;
		if (bytes != NULL)
			bytes += part;
	}
}

/* The bytes that are cut off read as zeros if the file grows again. */
static void truncate_file(struct medium_file *f, uint64_t size, uint64_t at)
{
	uint64_t end = (uint64_t)f->sector_count * MEDIUM_SECTOR;

	if (size < end && size < size_now(f)) {
		uint64_t before = size_now(f);

		write_range(f, size, NULL, (before < end ? before : end) - size, at);
	}
	set_size(f, size, at);
}

static void drop_versions(struct medium_versions *v, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(v->items[i].bytes);
	memmove(v->items, v->items + count, (v->count - count) * sizeof *v->items);
	v->count -= count;
	v->forgotten -= count < v->forgotten ? count : v->forgotten;
}

/* Returns the number of the last version that is older than the event. */
static size_t last_before(const struct medium_versions *v, uint64_t event)
{
	size_t index = v->count - 1;

	while (index > 0 && v->items[index].at >= event)
		index--;
	return index;
}

static void make_sector_safe(struct medium_versions *v, uint64_t began)
{
	size_t last = last_before(v, began);

	/* Only a version that was written since the failed sync is written by this one. */
	if (last == 0 || last < v->forgotten)
		return;
	drop_versions(v, last);
	v->forgotten = 0;
	v->is_allocated = true;
}

static void sync_file(struct medium_file *f, uint64_t began)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->unsafe_count; i++) {
		struct medium_versions *v = &f->sectors[f->unsafe[i]];

		make_sector_safe(v, began);
		v->is_listed = v->count > 1;
		if (v->is_listed)
			f->unsafe[kept++] = f->unsafe[i];
	}
	f->unsafe_count = kept;
	kept = f->size_count - 1;
	while (kept > 0 && f->sizes[kept].at >= began)
		kept--;
	f->size_count -= kept;
	memmove(f->sizes, f->sizes + kept, f->size_count * sizeof *f->sizes);
}

static void fail_sync(struct medium_file *f, uint64_t began)
{
	for (size_t i = 0; i < f->unsafe_count; i++) {
		struct medium_versions *v = &f->sectors[f->unsafe[i]];
		size_t last = last_before(v, began);

		if (last > 0)
			v->forgotten = last + 1;
	}
}

/* ---- files ---- */

static size_t new_file(struct medium *m, const char *name)
{
	struct medium_file *f;

	m->files = mem_grow(m->files, &m->file_cap, m->file_count + 1, sizeof *m->files);
	f = &m->files[m->file_count];
	*f = (struct medium_file){ 0 };
	snprintf(f->name, sizeof f->name, "%s", name);
	set_size(f, 0, 0);
	return m->file_count++;
}

void medium_add_file(struct medium *m, const char *name, struct qless_str content)
{
	size_t file = new_file(m, name);
	struct binding b = { .file = file };

	snprintf(b.name, sizeof b.name, "%s", name);
	m->files[file].is_initial = true;
	write_range(&m->files[file], 0, content.ptr, content.len, 0);
	sync_file(&m->files[file], 1);
	bind(&m->now, &b);
	bind(&m->safe, &b);
}

static size_t *reach_handle(struct medium *m, uint32_t number)
{
	while (m->handle_count <= number) {
		m->handles = mem_grow(m->handles, &m->handle_cap, m->handle_count + 1,
				      sizeof *m->handles);
		m->handles[m->handle_count++] = NO_FILE;
	}
	return &m->handles[number];
}

static struct medium_file *file_of(struct medium *m, uint32_t handle)
{
	size_t file = *reach_handle(m, handle);

	return file != NO_FILE ? &m->files[file] : NULL;
}

/* ---- events ---- */

static bool open_file(struct medium *m, const struct trace_event *event, const char *name,
		      uint64_t at, struct buf *ret_error)
{
	int flags = (int)event->value;
	size_t file = lookup(&m->now, name);

	if (file == NO_FILE) {
		struct change change = { .at = at };

		if ((flags & O_CREAT) == 0) {
			buf_printf(ret_error, "%s is opened, and nobody created it", name);
			return false;
		}
		file = new_file(m, name);
		add_binding(&change, name, file);
		note_change(m, &change);
	} else if ((flags & O_TRUNC) != 0) {
		truncate_file(&m->files[file], 0, at);
	}
	*reach_handle(m, event->handle) = file;
	return true;
}

static bool move_name(struct medium *m, const char *both, bool removes, uint64_t at,
		      struct buf *ret_error)
{
	struct change change = { .at = at };
	char from[TRACE_NAME_BYTES];
	const char *slash = strchr(both, '/');
	size_t file;

	assert(slash != NULL && (size_t)(slash - both) < sizeof from);
	memcpy(from, both, (size_t)(slash - both));
	from[slash - both] = '\0';
	file = lookup(&m->now, from);
	if (file == NO_FILE) {
		buf_printf(ret_error, "%s gets another name, and nobody created it", from);
		return false;
	}
	if (removes)
		add_binding(&change, from, NO_FILE);
	add_binding(&change, slash + 1, file);
	note_change(m, &change);
	return true;
}

static void remove_name(struct medium *m, const char *name, uint64_t at)
{
	struct change change = { .at = at };

	add_binding(&change, name, NO_FILE);
	note_change(m, &change);
}

static void end_sync(struct medium *m, const struct trace_event *event)
{
	uint64_t began = event->offset;
	struct medium_file *f = file_of(m, event->handle);
	bool failed = event->value != 0;

	if (event->handle == TRACE_DIRECTORY && !failed)
		make_names_safe(m, began);
	if (f != NULL && failed)
		fail_sync(f, began);
	else if (f != NULL)
		sync_file(f, began);
}

/* Apply a write or a change of size. */
static bool change_file(struct medium *m, const struct trace_event *event, uint64_t at,
			struct buf *ret_error)
{
	struct medium_file *f = file_of(m, event->handle);
	const char *bytes = event->is_zero ? NULL : (const char *)(event + 1);

	if (f == NULL) {
		buf_printf(ret_error, "a file is changed that nobody opened");
		return false;
	}
	if (event->kind == TRACE_WRITE)
		write_range(f, event->offset, bytes, event->value, at);
	else
		truncate_file(f, event->value, at);
	return true;
}

static bool apply(struct medium *m, const struct trace_event *event, const char *text, uint64_t at,
		  struct buf *ret_error)
{
	switch ((enum trace_kind)event->kind) {
	case TRACE_OPEN:
		return open_file(m, event, text, at, ret_error);
	case TRACE_WRITE:
	case TRACE_TRUNCATE:
		return change_file(m, event, at, ret_error);
	case TRACE_SYNC_END:
		end_sync(m, event);
		return true;
	case TRACE_RENAME:
		return move_name(m, text, /* removes= */ true, at, ret_error);
	case TRACE_LINK:
		return move_name(m, text, /* removes= */ false, at, ret_error);
	case TRACE_UNLINK:
		remove_name(m, text, at);
		return true;
	case TRACE_UNKNOWN:
		buf_printf(ret_error, "the model does not know this call: %s", text);
		return false;
	default:
		return true;
	}
}

bool medium_apply(struct medium *m, const struct trace_event *event, uint64_t at,
		  struct buf *ret_error)
{
	char text[2 * TRACE_NAME_BYTES + 2] = "";
	bool has_text = event->kind != TRACE_WRITE && event->kind != TRACE_SEND &&
			event->kind != TRACE_RECEIVE;

	if (has_text && event->data_bytes < sizeof text)
		memcpy(text, event + 1, event->data_bytes);
	return apply(m, event, text, at, ret_error);
}

/* ---- images ---- */

/* How far the disk got with what was not synced. */
enum progress {
	PROGRESS_NONE,	  /* only what is safe */
	PROGRESS_ALL,	  /* everything that was written */
	PROGRESS_ORDERED, /* everything up to an event */
	PROGRESS_FEW,	  /* one in ten */
	PROGRESS_HALF,
	PROGRESS_MOST, /* nine in ten */
	PROGRESS_ONE,  /* one */
	PROGRESS_ALL_BUT_ONE,
	PROGRESS_COUNT,
};

struct chooser {
	enum progress progress;
	uint64_t rng;
	size_t number, special; /* of choices made, and the one that differs from the others */
	uint64_t until;		/* the event, for PROGRESS_ORDERED */
};

struct image {
	const struct medium *m;
	const struct medium_choice *choice;
	struct chooser sectors, sizes, names;
	uint64_t rng; /* of old blocks */
	unsigned char noise[MEDIUM_SECTOR];
};

/* Whether something that was written since is on the disk. */
static bool reaches_disk(struct chooser *c)
{
	size_t number = c->number++;

	switch (c->progress) {
	case PROGRESS_NONE:
		return false;
	case PROGRESS_ALL:
	case PROGRESS_ORDERED:
		return true;
	case PROGRESS_FEW:
		return rng_below(&c->rng, 10) == 0;
	case PROGRESS_HALF:
		return rng_below(&c->rng, 2) == 0;
	case PROGRESS_MOST:
		return rng_below(&c->rng, 10) != 0;
	case PROGRESS_ONE:
		return number == c->special;
	default:
		return number != c->special;
	}
}

static struct chooser make_chooser(uint64_t *rng, size_t choices, uint64_t oldest, uint64_t newest)
{
	return (struct chooser){
		.progress = (enum progress)rng_below(rng, PROGRESS_COUNT),
		.rng = rng_next(rng),
		.special = rng_below(rng, choices + 1),
		.until = oldest + rng_below(rng, newest - oldest + 1),
	};
}

/* Returns the version of a sector that is on the disk: the safe one, the last one, or sometimes one
 * in between. */
static size_t choose_version(struct chooser *c, const struct medium_versions *v)
{
	if (v->count == 1)
		return 0;
	if (c->progress == PROGRESS_ORDERED)
		return last_before(v, c->until + 1);
	if (!reaches_disk(c))
		return 0;
	if (v->count > 2 && rng_below(&c->rng, 4) == 0)
		return 1 + rng_below(&c->rng, v->count - 1);
	return v->count - 1;
}

static uint64_t choose_size(struct chooser *c, const struct medium_file *f)
{
	size_t index = f->size_count - 1;

	if (index == 0)
		return f->sizes[0].size;
	if (c->progress == PROGRESS_ORDERED) {
		while (index > 0 && f->sizes[index].at > c->until)
			index--;
		return f->sizes[index].size;
	}
	if (!reaches_disk(c))
		index = 0;
	else if (rng_below(&c->rng, 4) == 0)
		index = rng_below(&c->rng, f->size_count);
	return f->sizes[index].size;
}

static bool has_name(const struct names *names, size_t file)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->items[i].file == file)
			return true;
	}
	return false;
}

static const unsigned char *make_noise(struct image *image)
{
	for (size_t i = 0; i < sizeof image->noise; i++)
		image->noise[i] = (unsigned char)rng_next(&image->rng);
	return image->noise;
}

/* Returns the old content of a sector: that of a removed file, because the disk gives its space to
 * others, or noise, or NULL for zeros. */
static const unsigned char *choose_old_block(struct image *image)
{
	const struct medium *m = image->m;
	size_t file = rng_below(&image->rng, m->file_count);
	const struct medium_file *f = &m->files[file];
	const struct medium_versions *v;

	if (f->sector_count == 0 || has_name(&m->now, file))
		return rng_below(&image->rng, 2) == 0 ? make_noise(image) : NULL;
	v = &f->sectors[rng_below(&image->rng, f->sector_count)];
	return v->items[rng_below(&image->rng, v->count)].bytes;
}

static const unsigned char *choose_content(struct image *image, const struct medium_versions *v)
{
	size_t version = choose_version(&image->sectors, v);

	if (version == 0 && !v->is_allocated && image->choice->old_blocks)
		return choose_old_block(image);
	return v->items[version].bytes;
}

static void build_file(struct image *image, const struct medium_file *f, struct buf *content)
{
	uint64_t size = choose_size(&image->sizes, f);

	buf_clear(content);
	buf_reserve(content, 1);
	for (size_t i = 0; i < f->sector_count; i++) {
		const unsigned char *bytes = choose_content(image, &f->sectors[i]);
		char *to = buf_reserve(content, MEDIUM_SECTOR);

		if (bytes != NULL)
			memcpy(to, bytes, MEDIUM_SECTOR);
		else
			memset(to, 0, MEDIUM_SECTOR);
		buf_commit(content, MEDIUM_SECTOR);
	}
	while (content->len < size) {
		size_t part = size - content->len < MEDIUM_SECTOR ? (size_t)(size - content->len)
								  : MEDIUM_SECTOR;

		memset(buf_reserve(content, part), 0, part);
		buf_commit(content, part);
	}
	buf_truncate(content, (size_t)size);
}

static void choose_names(struct image *image, struct names *ret_names)
{
	const struct medium *m = image->m;

	*ret_names = (struct names){ 0 };
	for (size_t i = 0; i < m->safe.count; i++)
		bind(ret_names, &m->safe.items[i]);
	for (size_t i = 0; i < m->change_count; i++) {
		if (image->names.progress == PROGRESS_ORDERED
			    ? m->changes[i].at <= image->names.until
			    : reaches_disk(&image->names))
			apply_change(ret_names, &m->changes[i]);
	}
}

/* Prepare the choices. `oldest` and `newest` are the events of the oldest and the newest thing that
 * is not safe. */
static struct image begin_image(const struct medium *m, const struct medium_choice *choice)
{
	uint64_t rng = choice->seed, oldest = UINT64_MAX, newest = 0;
	size_t sectors = 0, sizes = 0;

	for (size_t i = 0; i < m->file_count; i++) {
		const struct medium_file *f = &m->files[i];

		sectors += f->unsafe_count;
		sizes += f->size_count > 1;
		for (size_t k = 0; k < f->unsafe_count; k++) {
			const struct medium_versions *v = &f->sectors[f->unsafe[k]];

			oldest = v->items[1].at < oldest ? v->items[1].at : oldest;
			newest = v->items[v->count - 1].at > newest ? v->items[v->count - 1].at
								    : newest;
		}
	}
	for (size_t i = 0; i < m->change_count; i++) {
		oldest = m->changes[i].at < oldest ? m->changes[i].at : oldest;
		newest = m->changes[i].at > newest ? m->changes[i].at : newest;
	}
	oldest = oldest > newest ? newest : oldest;
	return (struct image){
		.m = m,
		.choice = choice,
		.sectors = make_chooser(&rng, sectors, oldest, newest),
		.sizes = make_chooser(&rng, sizes, oldest, newest),
		.names = make_chooser(&rng, m->change_count, oldest, newest),
		.rng = rng_next(&rng),
	};
}

int medium_write_image(const struct medium *m, const struct medium_choice *choice, const char *dir)
{
	struct image image = begin_image(m, choice);
	struct buf content = BUF_INIT(BUF_NO_MAX);
	struct names names;
	char path[4096];
	int rc = 0;

	/* A third of the images have one order of everything, as with a file system that logs all
	 * changes. */
	if (rng_below(&image.rng, 3) == 0) {
		image.sectors.progress = image.sizes.progress = image.names.progress =
			PROGRESS_ORDERED;
		image.sectors.until = image.sizes.until = image.names.until;
	}
	choose_names(&image, &names);
	for (size_t i = 0; i < names.count && rc == 0; i++) {
		if (names.items[i].file == NO_FILE)
			continue;
		build_file(&image, &m->files[names.items[i].file], &content);
		snprintf(path, sizeof path, "%s/%s", dir, names.items[i].name);
		rc = dirs_write_file(path, buf_str(&content));
	}
	free(names.items);
	buf_done(&content);
	return rc;
}

/* ---- the whole ---- */

struct medium *medium_new(void)
{
	return mem_zalloc(sizeof(struct medium));
}

void medium_free(struct medium *m)
{
	for (size_t i = 0; i < m->file_count; i++) {
		struct medium_file *f = &m->files[i];

		for (size_t k = 0; k < f->sector_count; k++) {
			drop_versions(&f->sectors[k], f->sectors[k].count);
			free(f->sectors[k].items);
		}
		free(f->sectors);
		free(f->unsafe);
		free(f->sizes);
	}
	free(m->files);
	free(m->now.items);
	free(m->safe.items);
	free(m->changes);
	free(m->handles);
	free(m);
}

size_t medium_file_count(const struct medium *m)
{
	return m->file_count;
}

const struct medium_file *medium_file(const struct medium *m, size_t index)
{
	return &m->files[index];
}

void medium_read_file(const struct medium_file *f, struct buf *ret_content)
{
	uint64_t size = size_now(f);

	buf_clear(ret_content);
	buf_reserve(ret_content, (size_t)size + 1);
	for (size_t i = 0; i < f->sector_count && ret_content->len < size; i++) {
		const struct medium_versions *v = &f->sectors[i];
		const unsigned char *bytes = v->items[v->count - 1].bytes;
		size_t part = size - ret_content->len < MEDIUM_SECTOR
				      ? (size_t)(size - ret_content->len)
				      : MEDIUM_SECTOR;
		char *to = buf_reserve(ret_content, part);

		if (bytes != NULL)
			memcpy(to, bytes, part);
		else
			memset(to, 0, part);
		buf_commit(ret_content, part);
	}
}
