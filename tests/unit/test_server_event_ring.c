/*
 * The ring of events, compared with a plain list of them.
 */
#include "server/event_ring.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#define FIRST 1700000000000000

static struct event_ring ring;

void setUp(void)
{
	event_ring_init(&ring, FIRST);
}

void tearDown(void)
{
	event_ring_done(&ring);
}

static const char *text_of(struct qless_str text)
{
	static char copy[4096];

	TEST_ASSERT_LESS_THAN_size_t(sizeof copy, text.len);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	return copy;
}

static struct ring_event read_event(uint64_t id)
{
	struct ring_event event;

	TEST_ASSERT_TRUE(event_ring_read(&ring, id, &event));
	return event;
}

#define PUT "{\"jid\":\"a\",\"event\":\"put\",\"queue\":\"mail\"}"

static void an_event_is_a_message_with_its_id_and_kind(void)
{
	struct ring_event event;

	event_ring_add(&ring, STR(PUT));
	event_ring_add_queue(&ring, STR("mail"));
	event = read_event(FIRST);
	TEST_ASSERT_EQUAL_STRING("id: 1700000000000000\nevent: put\ndata: " PUT "\n\n",
				 text_of(event.message));
	ASSERT_STR("put", event.kind);
	ASSERT_STR("\"a\"", event.jid);
	TEST_ASSERT_EQUAL_size_t(1, event.queue_count);
	ASSERT_STR("mail", event.queues[0]);
}

static void an_event_without_its_queue_gets_it(void)
{
	struct ring_event event;

	event_ring_add(&ring, STR("{\"message\":\"m\",\"jid\":\"a\",\"event\":\"failed\"}"));
	event_ring_add_queue(&ring, STR("a \"queue\""));
	event = read_event(FIRST);
	TEST_ASSERT_EQUAL_STRING(
		"id: 1700000000000000\nevent: failed\ndata: {\"message\":\"m\",\"jid\":\"a\","
		"\"event\":\"failed\",\"queue\":\"a \\\"queue\\\"\"}\n\n",
		text_of(event.message));
	ASSERT_STR("a \"queue\"", event.queues[0]);
}

static void an_event_may_belong_to_two_queues_or_to_none(void)
{
	struct ring_event event;

	event_ring_add(&ring, STR("{\"jid\":\"a\",\"to\":\"video\",\"event\":\"advanced\","
				  "\"queue\":\"mail\"}"));
	event_ring_add_queue(&ring, STR("mail"));
	event_ring_add_queue(&ring, STR("video"));
	event_ring_add_queue(&ring, STR("ignored"));
	event_ring_add(&ring, STR("{\"event\":\"config_unset\",\"option\":\"x\"}"));
	event = read_event(FIRST);
	TEST_ASSERT_EQUAL_size_t(2, event.queue_count);
	ASSERT_STR("mail", event.queues[0]);
	ASSERT_STR("video", event.queues[1]);
	event = read_event(FIRST + 1);
	TEST_ASSERT_EQUAL_size_t(0, event.queue_count);
	ASSERT_STR("", event.jid);
	ASSERT_STR("config_unset", event.kind);
}

static void an_event_that_has_left_or_not_happened_is_not_read(void)
{
	struct ring_event event;

	TEST_ASSERT_FALSE(event_ring_read(&ring, FIRST, &event));
	event_ring_add_queue(&ring, STR("mail"));
	for (int i = 0; i < 3; i++)
		event_ring_add(&ring, STR(PUT));
	TEST_ASSERT_FALSE(event_ring_read(&ring, FIRST - 1, &event));
	TEST_ASSERT_FALSE(event_ring_read(&ring, FIRST + 3, &event));
	event_ring_trim(&ring, 0);
	TEST_ASSERT_EQUAL_UINT64(FIRST + 2, ring.first);
	TEST_ASSERT_FALSE(event_ring_read(&ring, FIRST + 1, &event));
	read_event(FIRST + 2);
	TEST_ASSERT_EQUAL_UINT64(2, ring.dropped);
}

static void a_reader_goes_on_unless_an_event_is_missing(void)
{
	TEST_ASSERT_TRUE(event_ring_continues(&ring, FIRST - 1));
	TEST_ASSERT_FALSE(event_ring_continues(&ring, FIRST - 2));
	TEST_ASSERT_FALSE(event_ring_continues(&ring, FIRST));
	for (int i = 0; i < 3; i++)
		event_ring_add(&ring, STR(PUT));
	TEST_ASSERT_TRUE(event_ring_continues(&ring, FIRST - 1));
	TEST_ASSERT_TRUE(event_ring_continues(&ring, FIRST + 2));
	TEST_ASSERT_FALSE(event_ring_continues(&ring, FIRST + 3));
	event_ring_trim(&ring, 0);
	TEST_ASSERT_FALSE(event_ring_continues(&ring, FIRST));
	TEST_ASSERT_TRUE(event_ring_continues(&ring, FIRST + 1));
	TEST_ASSERT_FALSE(event_ring_continues(&ring, UINT64_MAX));
	TEST_ASSERT_FALSE(event_ring_continues(&ring, 0));
}

/* ---- the model ---- */

#define EVENTS 20000

struct model_event {
	int number;
	int queue; /* -1: none */
};

static struct model_event model[EVENTS];

static void add_random(uint64_t count, unsigned long long *seed)
{
	struct model_event *event = &model[count];
	char text[600];

	event->number = (int)(unit_random(seed) % 1000);
	event->queue = (int)(unit_random(seed) % 4) - 1;
	snprintf(text, sizeof text, "{\"jid\":\"j%d\",\"event\":\"put\",\"fill\":\"%0*d\"}",
		 event->number, 1 + event->number % 200, 0);
	event_ring_add(&ring, str_from(text));
	if (event->queue < 0)
		return;
	snprintf(text, sizeof text, "q%d", event->queue);
	event_ring_add_queue(&ring, str_from(text));
}

static void check_random(uint64_t i)
{
	struct ring_event event = read_event(FIRST + i);
	char expected[600], queue[40] = "";

	if (model[i].queue >= 0)
		snprintf(queue, sizeof queue, ",\"queue\":\"q%d\"", model[i].queue);
	snprintf(expected, sizeof expected,
		 "id: %llu\nevent: put\ndata: "
		 "{\"jid\":\"j%d\",\"event\":\"put\",\"fill\":\"%0*d\"%s}\n\n",
		 (unsigned long long)(FIRST + i), model[i].number, 1 + model[i].number % 200, 0,
		 queue);
	TEST_ASSERT_EQUAL_STRING(expected, text_of(event.message));
	TEST_ASSERT_EQUAL_size_t(model[i].queue >= 0, event.queue_count);
}

static void the_ring_keeps_the_latest_events_within_its_bytes(void)
{
	unsigned long long seed = 42;
	uint64_t count = 0;

	while (count < EVENTS) {
		uint64_t first;

		for (int i = (int)(unit_random(&seed) % 50); i >= 0 && count < EVENTS; i--)
			add_random(count++, &seed);
		if (unit_random(&seed) % 2 == 0) {
			event_ring_trim(&ring, 50000);
			TEST_ASSERT_LESS_OR_EQUAL_size_t(50000, ring.bytes);
		}
		TEST_ASSERT_EQUAL_UINT64(FIRST + count, ring.next);
		first = ring.first - FIRST;
		check_random(first + unit_random(&seed) % (count - first));
	}
	/* No event left too early: the ring is nearly full. */
	event_ring_trim(&ring, 50000);
	TEST_ASSERT_GREATER_THAN_size_t(49000, ring.bytes);
	TEST_ASSERT_EQUAL_UINT64(ring.first - FIRST, ring.dropped);
	for (uint64_t i = ring.first - FIRST; i < count; i++)
		check_random(i);
}

static void the_bytes_of_an_empty_ring_are_zero(void)
{
	unsigned long long seed = 1;
	struct ring_event event;

	for (uint64_t i = 0; i < 100; i++) {
		add_random(i, &seed);
		event_ring_read(&ring, FIRST + i / 2, &event);
	}
	event_ring_done(&ring);
	TEST_ASSERT_EQUAL_size_t(0, ring.bytes);
	TEST_ASSERT_EQUAL_UINT64(FIRST + 100, ring.next);
	event_ring_add(&ring, STR(PUT));
	read_event(FIRST + 100);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_event_is_a_message_with_its_id_and_kind);
	RUN(an_event_without_its_queue_gets_it);
	RUN(an_event_may_belong_to_two_queues_or_to_none);
	RUN(an_event_that_has_left_or_not_happened_is_not_read);
	RUN(a_reader_goes_on_unless_an_event_is_missing);
	RUN(the_ring_keeps_the_latest_events_within_its_bytes);
	RUN(the_bytes_of_an_empty_ring_are_zero);
	return UNIT_RESULT();
}
