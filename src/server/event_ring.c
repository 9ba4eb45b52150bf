#include "server/event_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/json_path.h"
#include "util/mem.h"
#include "util/num.h"

#define MIN_CAP 16

/* Its text is the payload, or the message, and then the names of the queues. */
struct ring_entry {
	char *text;
	size_t len; /* of the payload or the message */
	size_t queue_lens[RING_EVENT_QUEUES];
	unsigned queue_count;
	bool is_read; /* the text begins with the message, which has: */
	size_t kind_at, kind_len;
	size_t jid_at, jid_len;
};

static struct ring_entry **place_of(const struct event_ring *ring, uint64_t id)
{
	return &ring->entries[id & (ring->cap - 1)];
}

static size_t text_bytes(const struct ring_entry *entry)
{
	size_t bytes = entry->len;

	for (unsigned i = 0; i < entry->queue_count; i++)
		bytes += entry->queue_lens[i];
	return bytes;
}

/* Counts the place of an event, too. */
static size_t entry_bytes(const struct ring_entry *entry)
{
	return sizeof *entry + sizeof(struct ring_entry *) + text_bytes(entry);
}

void event_ring_init(struct event_ring *ring, uint64_t first)
{
	*ring = (struct event_ring){ .first = first, .next = first };
}

static void drop_first(struct event_ring *ring)
{
	struct ring_entry **place = place_of(ring, ring->first++);

	ring->bytes -= entry_bytes(*place);
	free((*place)->text);
	free(*place);
	*place = NULL;
}

void event_ring_done(struct event_ring *ring)
{
	while (ring->first != ring->next)
		drop_first(ring);
	free(ring->entries);
	event_ring_init(ring, ring->next);
}

static void grow(struct event_ring *ring)
{
	struct event_ring larger = *ring;

	larger.cap = ring->cap != 0 ? 2 * ring->cap : MIN_CAP;
	larger.entries = mem_zalloc(larger.cap * sizeof(struct ring_entry *));
	for (uint64_t id = ring->first; id != ring->next; id++)
		*place_of(&larger, id) = *place_of(ring, id);
	free(ring->entries);
	*ring = larger;
}

void event_ring_add(struct event_ring *ring, struct qless_str payload)
{
	struct ring_entry *entry = mem_zalloc(sizeof *entry);

	if (ring->next - ring->first == ring->cap)
		grow(ring);
	entry->len = payload.len;
	entry->text = mem_alloc(payload.len);
	memcpy(entry->text, payload.ptr, payload.len);
	*place_of(ring, ring->next++) = entry;
	ring->bytes += entry_bytes(entry);
}

void event_ring_add_queue(struct event_ring *ring, struct qless_str queue)
{
	struct ring_entry *entry;
	size_t len;

	if (ring->first == ring->next)
		return;
	entry = *place_of(ring, ring->next - 1);
	if (entry->queue_count == RING_EVENT_QUEUES)
		return;
	len = text_bytes(entry);
	entry->text = mem_realloc(entry->text, len + queue.len);
	memcpy(entry->text + len, queue.ptr, queue.len);
	entry->queue_lens[entry->queue_count++] = queue.len;
	ring->bytes += queue.len;
}

void event_ring_trim(struct event_ring *ring, size_t max)
{
	while (ring->bytes > max && ring->next - ring->first > 1) {
		drop_first(ring);
		ring->dropped++;
	}
}

/* ---- reading ---- */

static struct qless_str queue_at(const struct ring_entry *entry, unsigned i)
{
	const char *at = entry->text + entry->len;

	for (unsigned before = 0; before < i; before++)
		at += entry->queue_lens[before];
	return str_make(at, entry->queue_lens[i]);
}

static struct qless_str find_member(struct qless_str payload, struct qless_str name)
{
	struct json_path path = { .count = 1, .names = { name } };
	struct qless_str value;

	return json_path_find(&path, payload, &value) ? value : STR("");
}

/* Appends the payload, with the queue if it lacks that. */
static void append_payload(struct buf *text, const struct ring_entry *entry,
			   struct qless_str payload)
{
	if (entry->queue_count == 0 || find_member(payload, STR("queue")).len != 0) {
		buf_append_str(text, payload);
		return;
	}
	buf_append(text, payload.ptr, payload.len - 1);
	buf_append_str(text, STR(",\"queue\":"));
	json_append_string(text, queue_at(entry, 0));
	buf_append_char(text, '}');
}

/* Replaces the payload by the message. */
static void make_message(struct ring_entry *entry, uint64_t id)
{
	struct qless_str payload = str_make(entry->text, entry->len);
	struct qless_str kind = find_member(payload, STR("event"));
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str jid;
	size_t data_at;

	if (kind.len > 2)
		kind = str_make(kind.ptr + 1, kind.len - 2);
	buf_printf(&text, "id: %llu\nevent: ", (unsigned long long)id);
	entry->kind_at = text.len;
	entry->kind_len = kind.len;
	buf_append_str(&text, kind);
	buf_append_str(&text, STR("\ndata: "));
	data_at = text.len;
	append_payload(&text, entry, payload);
	jid = find_member(payload, STR("jid"));
	entry->jid_at = jid.len != 0 ? data_at + (size_t)(jid.ptr - payload.ptr) : 0;
	entry->jid_len = jid.len;
	buf_append_str(&text, STR("\n\n"));
	data_at = text.len;
	buf_append(&text, entry->text + entry->len, text_bytes(entry) - entry->len);
	free(entry->text);
	entry->text = mem_dup(buf_data(&text), text.len);
	entry->len = data_at;
	entry->is_read = true;
	buf_done(&text);
}

bool event_ring_read(struct event_ring *ring, uint64_t id, struct ring_event *ret)
{
	struct ring_entry *entry;

	if (id < ring->first || id >= ring->next)
		return false;
	entry = *place_of(ring, id);
	if (!entry->is_read) {
		ring->bytes -= entry_bytes(entry);
		make_message(entry, id);
		ring->bytes += entry_bytes(entry);
	}
	*ret = (struct ring_event){
		.kind = str_make(entry->text + entry->kind_at, entry->kind_len),
		.jid = str_make(entry->text + entry->jid_at, entry->jid_len),
		.queue_count = entry->queue_count,
		.message = str_make(entry->text, entry->len),
	};
	for (unsigned i = 0; i < entry->queue_count; i++)
		ret->queues[i] = queue_at(entry, i);
	return true;
}
