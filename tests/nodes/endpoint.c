#include "endpoint.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "util/mem.h"

struct event_base *loop;
struct endpoint endpoints[ENDPOINTS_MAX + 1];
struct nodes_options endpoint_options;

/*
 * Entries: the payload depends on index and offset, the term on the index.
 */

static uint64_t term_of(const struct endpoint *e, uint64_t index)
{
	return index < e->leads ? index : e->leads;
}

static size_t length_of(const struct endpoint *e, uint64_t index)
{
	return index == e->large_index ? e->large_bytes : e->entry_bytes;
}

static void make_payload(uint64_t index, size_t offset, char *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (char)(index * 31 + (offset + i) * 7 + (offset + i) / 255);
}

static bool is_payload(uint64_t index, struct qless_str payload)
{
	/* Comparing each byte of 100 MB would take most of the test: the ends and some between. */
	size_t step = payload.len < 4096 ? 1 : 101;

	for (size_t i = 0; i < payload.len; i += step) {
		if (payload.ptr[i] != (char)(index * 31 + i * 7 + i / 255))
			return false;
	}
	return true;
}

static enum nodes_fetched check_fetch(const struct endpoint *e, uint64_t term, uint64_t first)
{
	if (term != e->leads || first < e->first || first > e->last)
		return NODES_GONE;
	return e->is_reading ? NODES_LATER : NODES_FETCHED;
}

static enum nodes_fetched on_fetch(void *arg, uint64_t term, uint64_t first, uint64_t count,
				   size_t max, struct buf *out, uint64_t *ret_count)
{
	struct endpoint *e = arg;
	enum nodes_fetched fetched = check_fetch(e, term, first);
	uint64_t index;

	e->fetches++;
	if (fetched != NODES_FETCHED)
		return fetched;
	for (index = first; index < first + count && index <= e->last; index++) {
		size_t len = length_of(e, index), size = frame_entry_size(term_of(e, index), len);
		char *to;

		if (size > max)
			break;
		frame_put_entry_header(out, term_of(e, index), 7, len);
		to = buf_reserve(out, len);
		make_payload(index, 0, to, len);
		buf_commit(out, len);
		max -= size;
		e->fetched_bytes += len;
	}
	*ret_count = index - first;
	return index == first ? NODES_LARGE : NODES_FETCHED;
}

static enum nodes_fetched on_fetch_piece(void *arg, uint64_t term, uint64_t index, size_t offset,
					 size_t max, struct buf *out, struct frame_entry *ret_entry)
{
	struct endpoint *e = arg;
	enum nodes_fetched fetched = check_fetch(e, term, index);
	size_t len;

	e->fetches++;
	if (fetched != NODES_FETCHED)
		return fetched;
	*ret_entry = (struct frame_entry){ .term = term_of(e, index), .kind = 7 };
	ret_entry->payload.len = length_of(e, index);
	len = ret_entry->payload.len - offset < max ? ret_entry->payload.len - offset : max;
	make_payload(index, offset, buf_reserve(out, len), len);
	buf_commit(out, len);
	e->fetched_bytes += len;
	return NODES_FETCHED;
}

static void take_entries(struct endpoint *e, const struct core_message *m, struct qless_str entries)
{
	uint64_t index = m->entries.previous_index;
	struct frame_entry entry;

	for (uint32_t i = 0; i < m->entries.count; i++) {
		index++;
		TEST_ASSERT_TRUE(frame_take_entry(&entries, &entry));
		if (e->next != 0)
			TEST_ASSERT_EQUAL_UINT64(e->next, index);
		e->next = index + 1;
		TEST_ASSERT_EQUAL_UINT8(7, entry.kind);
		TEST_ASSERT_LESS_OR_EQUAL_UINT64(m->term, entry.term);
		TEST_ASSERT_TRUE(is_payload(index, entry.payload));
		if (entry.payload.len > FRAME_ENTRIES_BYTES)
			e->heartbeats_before_large = e->heartbeats;
		e->entries++;
	}
	TEST_ASSERT_EQUAL_size_t(0, entries.len);
}

static void on_received(void *arg, uint64_t from, const struct core_message *message,
			struct qless_str entries)
{
	struct endpoint *e = arg;

	e->messages++;
	e->from = from;
	e->message = *message;
	if (message->kind == CORE_ENTRIES) {
		TEST_ASSERT_LESS_OR_EQUAL_UINT64(message->entries.previous_index +
							 message->entries.count,
						 message->entries.commit);
		if (message->entries.count == 0)
			e->heartbeats++;
		take_entries(e, message, entries);
	}
}

static void on_probed(void *arg, uint64_t from, uint64_t term, uint64_t number)
{
	struct endpoint *e = arg;

	e->probes++;
	nodes_answer_probe(e->nodes, from, term + 1, number);
}

static void on_probe_answered(void *arg, uint64_t from, uint64_t term, uint64_t number)
{
	struct endpoint *e = arg;

	e->probe_answers++;
	e->from = from;
	e->probe_term = term;
	e->probe_number = number;
}

static bool on_admit(void *arg, const struct frame_hello *hello)
{
	struct endpoint *e = arg;

	e->admitted += e->admits;
	if (e->admits && e->joins)
		nodes_set_group(e->nodes, hello->group);
	return e->admits;
}

/*
 * Snapshots
 */

static void on_base_offered(void *arg, uint64_t from, const struct core_message *message,
			    const struct frame_base *base)
{
	struct endpoint *e = arg;

	e->messages++;
	e->from = from;
	e->message = *message;
	e->offered_members = message->offer->members;
	e->offered = *base;
}

static enum nodes_fetched on_base_read(void *arg, const struct frame_base *base, uint64_t offset,
				       size_t max, struct buf *out)
{
	struct endpoint *e = arg;
	char *to;

	e->base_reads++;
	if (offset < e->base_read_from)
		e->base_read_from = offset;
	if (base->salt != e->snapshot.salt)
		return NODES_GONE;
	if (e->is_reading)
		return NODES_LATER;
	to = buf_reserve(out, max);
	for (size_t i = 0; i < max; i++)
		to[i] = endpoint_base_byte(offset + i);
	buf_commit(out, max);
	return NODES_FETCHED;
}

static bool on_base_piece(void *arg, uint64_t offset, struct qless_str bytes)
{
	struct endpoint *e = arg;

	if (e->is_base_full)
		return false;
	TEST_ASSERT_EQUAL_UINT64(e->base_bytes, offset);
	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.ptr[i] != endpoint_base_byte(offset + i))
			TEST_FAIL_MESSAGE("a byte of the snapshot is wrong");
	}
	e->base_bytes += bytes.len;
	return true;
}

static void on_base_ended(void *arg, enum nodes_base_end end)
{
	struct endpoint *e = arg;

	e->base_ends++;
	e->base_end = end;
}

/*
 * Life
 */

void endpoints_init(void)
{
	static const unsigned char group[FRAME_GROUP_BYTES] = "the first group";

	/* As in the server: OpenSSL writes to sockets without MSG_NOSIGNAL. */
	signal(SIGPIPE, SIG_IGN);
	loop = event_base_new();
	memset(endpoints, 0, sizeof endpoints);
	endpoint_options = (struct nodes_options){
		.has_group = true,
		.announce = "",
		.heartbeat_ms = ENDPOINT_BEAT_MS,
		.silent_beats = UINT_MAX / ENDPOINT_BEAT_MS,
		.hello_ms = 100000,
		.ops = { .received = on_received,
			 .fetch = on_fetch,
			 .fetch_piece = on_fetch_piece,
			 .base_read = on_base_read,
			 .probed = on_probed,
			 .probe_answered = on_probe_answered,
			 .admit = on_admit,
			 .base_offered = on_base_offered,
			 .base_piece = on_base_piece,
			 .base_ended = on_base_ended },
	};
	memcpy(endpoint_options.group, group, sizeof group);
}

void endpoints_done(void)
{
	for (unsigned i = 1; i <= ENDPOINTS_MAX; i++)
		endpoint_close(&endpoints[i]);
	event_base_free(loop);
}

struct endpoint *endpoint_open(uint64_t id)
{
	struct endpoint *e = &endpoints[id];
	struct nodes_options options = endpoint_options;
	struct buf error = BUF_INIT(BUF_NO_MAX);

	TEST_ASSERT_NULL(e->nodes);
	e->id = id;
	options.id = id;
	options.seed = id;
	options.address = "";
	options.ops.arg = e;
	e->nodes = nodes_new(&options, loop);
	e->port = nodes_listen(e->nodes, "127.0.0.1", e->port, &error);
	if (e->port < 0)
		TEST_FAIL_MESSAGE(buf_cstr(&error));
	snprintf(e->address, sizeof e->address, "127.0.0.1:%d", e->port);
	nodes_set_address(e->nodes, e->address);
	buf_done(&error);
	return e;
}

void endpoint_close(struct endpoint *e)
{
	nodes_free(e->nodes);
	e->nodes = NULL;
}

void endpoint_make_members(struct members *to, const uint64_t *ids)
{
	memset(to, 0, sizeof *to);
	for (; *ids != 0; ids++)
		TEST_ASSERT_TRUE(members_set(to, *ids, endpoints[*ids].address, true));
}

void endpoint_set_members(struct endpoint *e, const uint64_t *ids)
{
	struct members members;

	endpoint_make_members(&members, ids);
	nodes_set_members(e->nodes, &members);
}

void endpoints_open(unsigned count)
{
	uint64_t ids[ENDPOINTS_MAX + 1] = { 0 };

	for (unsigned i = 1; i <= count; i++) {
		endpoint_open(i);
		ids[i - 1] = i;
	}
	for (unsigned i = 1; i <= count; i++)
		endpoint_set_members(&endpoints[i], ids);
}

struct nodes_member_info endpoint_member(const struct endpoint *e, uint64_t id)
{
	struct nodes_member_info info;

	TEST_ASSERT_TRUE(nodes_get_member(e->nodes, id, &info));
	return info;
}

struct nodes_info endpoint_info(const struct endpoint *e)
{
	struct nodes_info info;

	nodes_get_info(e->nodes, &info);
	return info;
}

bool endpoints_are_connected(unsigned count)
{
	for (unsigned i = 1; i <= count; i++) {
		for (unsigned j = 1; j <= count; j++) {
			struct nodes_member_info info;

			if (i == j)
				continue;
			info = endpoint_member(&endpoints[i], j);
			if (!info.is_sending || !info.is_receiving)
				return false;
		}
	}
	return true;
}

/*
 * Messages
 */

void endpoint_send_entries(struct endpoint *e, uint64_t to, uint64_t first, uint32_t count,
			   uint64_t commit)
{
	const struct core_message message = {
		.kind = CORE_ENTRIES,
		.term = e->leads,
		.entries = { .previous_index = first - 1,
			     .previous_term = first == 1 ? 0 : term_of(e, first - 1),
			     .commit = commit,
			     .count = count },
	};

	nodes_send(e->nodes, to, &message);
}

void endpoint_send_simple(struct endpoint *e, uint64_t to, enum core_message_kind kind)
{
	const struct core_message message = { .kind = kind, .term = 1 };

	nodes_send(e->nodes, to, &message);
}

/*
 * The loop
 */

void loop_turn(void)
{
	TEST_ASSERT_EQUAL_INT(0, event_base_loop(loop, EVLOOP_ONCE));
}

static void on_beats(evutil_socket_t fd, short what, void *arg)
{
	unsigned *left = arg;

	(void)fd;
	(void)what;
	(*left)--;
}

/* A timer of its own, so that it fires as often as those of the nodes. */
void loop_beats(unsigned count)
{
	const struct timeval beat = { .tv_usec = ENDPOINT_BEAT_MS * 1000 };
	struct event *timer = event_new(loop, -1, EV_PERSIST, on_beats, &count);

	event_add(timer, &beat);
	while ((int)count > 0)
		loop_turn();
	event_free(timer);
}
