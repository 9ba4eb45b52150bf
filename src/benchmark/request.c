#include "benchmark/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

enum place {
	PLACE_JID,
	PLACE_QUEUE,
	PLACE_WORKER,
	PLACE_TIME,
	PLACE_NUMBER,
};

struct request_patch {
	size_t offset;
	enum place place;
};

static const struct {
	char letter;
	size_t width;
} places[] = {
	[PLACE_JID] = { 'j', REQUEST_JID_BYTES },
	[PLACE_QUEUE] = { 'q', REQUEST_QUEUE_BYTES },
	[PLACE_WORKER] = { 'w', REQUEST_WORKER_BYTES },
	[PLACE_TIME] = { 't', REQUEST_TIME_BYTES },
	[PLACE_NUMBER] = { 'n', REQUEST_NUMBER_BYTES },
};

#define PLACE_COUNT (sizeof(places) / sizeof(places[0]))

void request_done(struct request *r)
{
	buf_done(&r->bytes);
	free(r->patches);
	*r = (struct request){ 0 };
}

void request_begin(struct request *r, enum request_form form, const char *sha, const char *command)
{
	request_done(r);
	buf_init(&r->bytes, BUF_NO_MAX);
	if (form == REQUEST_QLESS)
		request_add(r, "QLESS");
	if (form == REQUEST_EVALSHA) {
		request_add(r, "EVALSHA");
		request_add(r, sha);
		request_add(r, "0");
	}
	request_add(r, command);
	if (form != REQUEST_PLAIN)
		request_add(r, "%t");
}

/* The place at the start of `text`, or PLACE_COUNT. */
static size_t find_place(const char *text)
{
	size_t i = 0;

	if (text[0] != '%')
		return PLACE_COUNT;
	while (i < PLACE_COUNT && places[i].letter != text[1])
		i++;
	assert(i < PLACE_COUNT);
	return i;
}

static void add_patch(struct request *r, enum place place)
{
	r->patches = mem_grow(r->patches, &r->patch_cap, r->patch_count + 1, sizeof(*r->patches));
	r->patches[r->patch_count++] = (struct request_patch){ r->bytes.len, place };
}

void request_begin_text(struct request *r)
{
	request_done(r);
	buf_init(&r->bytes, BUF_NO_MAX);
}

void request_add_text(struct request *r, const char *text)
{
	size_t place;

	for (const char *at = text; *at != '\0'; at += place < PLACE_COUNT ? 2 : 1) {
		place = find_place(at);
		if (place < PLACE_COUNT) {
			add_patch(r, (enum place)place);
			memset(buf_reserve(&r->bytes, places[place].width), '0',
			       places[place].width);
			buf_commit(&r->bytes, places[place].width);
		} else {
			buf_append_char(&r->bytes, *at);
		}
	}
}

void request_add(struct request *r, const char *arg)
{
	size_t len = 0, place;

	for (const char *at = arg; *at != '\0'; at += place < PLACE_COUNT ? 2 : 1) {
		place = find_place(at);
		len += place < PLACE_COUNT ? places[place].width : 1;
	}
	buf_printf(&r->bytes, "$%zu\r\n", len);
	request_add_text(r, arg);
	buf_append_str(&r->bytes, STR("\r\n"));
	r->arg_count++;
}

void request_add_all(struct request *r, const char *const *args)
{
	for (; *args != NULL; args++)
		request_add(r, *args);
}

void request_end(struct request *r)
{
	struct buf whole = BUF_INIT(BUF_NO_MAX);
	size_t header;

	buf_printf(&whole, "*%zu\r\n", r->arg_count);
	header = whole.len;
	buf_append_str(&whole, buf_str(&r->bytes));
	buf_done(&r->bytes);
	r->bytes = whole;
	for (size_t i = 0; i < r->patch_count; i++)
		r->patches[i].offset += header;
}

void request_write(const struct request *r, const struct request_values *values, struct buf *out)
{
	char *to = buf_reserve(out, r->bytes.len);
	const char *jid = values->jids;

	memcpy(to, buf_data(&r->bytes), r->bytes.len);
	for (const struct request_patch *p = r->patches; p != r->patches + r->patch_count; p++) {
		switch (p->place) {
		case PLACE_JID:
			memcpy(to + p->offset, jid, REQUEST_JID_BYTES);
			jid += REQUEST_JID_BYTES;
			break;
		case PLACE_QUEUE:
			memcpy(to + p->offset, values->queue, REQUEST_QUEUE_BYTES);
			break;
		case PLACE_WORKER:
			memcpy(to + p->offset, values->worker, REQUEST_WORKER_BYTES);
			break;
		case PLACE_TIME:
			memcpy(to + p->offset, values->time, REQUEST_TIME_BYTES);
			break;
		case PLACE_NUMBER:
			memcpy(to + p->offset, values->number, REQUEST_NUMBER_BYTES);
			break;
		}
	}
	buf_commit(out, r->bytes.len);
}
