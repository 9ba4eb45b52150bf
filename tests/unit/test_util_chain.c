#include "util/chain.h"

#include <stdlib.h>

#include "unit.h"

static struct chunk_pool pool;
static struct chain c;

void setUp(void)
{
	chunk_pool_init(&pool, 2);
	chain_init(&c, &pool);
}

void tearDown(void)
{
	chain_done(&c);
	chunk_pool_done(&pool);
}

/* Take up to `len` bytes from the front, like a socket that accepts pieces. */
static size_t take(char *to, size_t len)
{
	struct iovec iov[3];
	int count = chain_peek(&c, iov, 3, len);
	size_t taken = 0;

	for (int i = 0; i < count; i++) {
		memcpy(to + taken, iov[i].iov_base, iov[i].iov_len);
		taken += iov[i].iov_len;
	}
	TEST_ASSERT_LESS_OR_EQUAL_size_t(len, taken);
	chain_consume(&c, taken);
	return taken;
}

static void an_empty_chain_holds_no_memory(void)
{
	char bytes[8];

	chain_append(&c, "abc", 3);
	TEST_ASSERT_EQUAL_size_t(3, c.len);
	TEST_ASSERT_EQUAL_size_t(3, take(bytes, sizeof bytes));
	TEST_ASSERT_NULL(c.head);
	TEST_ASSERT_EQUAL_size_t(0, c.allocated);
	TEST_ASSERT_EQUAL_size_t(1, pool.count);
}

static void the_pool_keeps_at_most_its_maximum(void)
{
	char *bytes = calloc(1, CHAIN_CHUNK_BYTES);

	for (int i = 0; i < 5; i++)
		chain_append(&c, bytes, CHAIN_CHUNK_BYTES);
	chain_consume(&c, c.len);
	TEST_ASSERT_EQUAL_size_t(2, pool.count);
	free(bytes);
}

static void a_large_append_fills_the_tail_first(void)
{
	size_t size = 3 * CHAIN_CHUNK_BYTES;
	char *bytes = calloc(1, size);

	chain_append(&c, "x", 1);
	chain_append(&c, bytes, size);
	TEST_ASSERT_EQUAL_size_t(CHAIN_CHUNK_BYTES, c.head->end);
	TEST_ASSERT_EQUAL_PTR(c.tail, c.head->next);
	free(bytes);
}

static void a_chain_can_be_cut_anywhere(void)
{
	size_t size = 3 * CHAIN_CHUNK_BYTES;
	char *bytes = calloc(1, size), last[1];

	for (size_t len = 0; len <= size; len += CHAIN_CHUNK_BYTES / 2) {
		for (size_t i = 0; i < size; i += CHAIN_CHUNK_BYTES / 2)
			chain_append(&c, bytes, CHAIN_CHUNK_BYTES / 2);
		chain_truncate(&c, len);
		TEST_ASSERT_EQUAL_size_t(len, c.len);
		TEST_ASSERT_LESS_OR_EQUAL_size_t(len + 2 * CHAIN_CHUNK_BYTES, c.allocated);
		chain_append(&c, "!", 1);
		chain_consume(&c, len);
		TEST_ASSERT_EQUAL_size_t(1, take(last, 1));
		TEST_ASSERT_EQUAL_INT('!', last[0]);
		TEST_ASSERT_EQUAL_size_t(0, c.allocated);
	}
	free(bytes);
}

static void a_long_chain_takes_larger_chunks_and_uses_at_least_half_of_them(void)
{
	size_t chunks = 0;

	for (size_t i = 0; i < 4 * CHAIN_LARGE_BYTES / 100; i++) {
		static const char bytes[100];

		chain_append(&c, bytes, sizeof bytes);
		if (c.len > CHAIN_CHUNK_BYTES)
			TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * c.len + CHAIN_CHUNK_BYTES,
							 c.allocated);
	}
	for (struct chunk *chunk = c.head; chunk != NULL; chunk = chunk->next)
		chunks++;
	TEST_ASSERT_LESS_OR_EQUAL_size_t(CHAIN_LARGE_BYTES / CHAIN_CHUNK_BYTES + 4, chunks);
	chain_consume(&c, c.len);
	TEST_ASSERT_EQUAL_size_t(0, c.allocated);
}

static void the_end_of_a_large_piece_fits_into_its_chunk(void)
{
	char *bytes = calloc(1, 150000);

	chain_append(&c, bytes, 150000);
	chain_append(&c, "\r\n", 2);
	TEST_ASSERT_EQUAL_PTR(c.head, c.tail);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(150000 + 5000, c.allocated);
	free(bytes);
}

static void reserved_room_is_in_one_piece(void)
{
	chain_append(&c, "x", 1);
	char *to = chain_reserve(&c, CHAIN_CHUNK_BYTES);

	memset(to, 'y', CHAIN_CHUNK_BYTES);
	chain_commit(&c, CHAIN_CHUNK_BYTES);
	TEST_ASSERT_EQUAL_size_t(CHAIN_CHUNK_BYTES + 1, c.len);
}

static void moving_a_chain_keeps_the_order(void)
{
	struct chain other;
	char bytes[8];

	chain_init(&other, &pool);
	chain_append(&c, "ab", 2);
	chain_append(&other, "cd", 2);
	chain_move(&c, &other);
	TEST_ASSERT_EQUAL_size_t(0, other.len);
	TEST_ASSERT_NULL(other.head);
	TEST_ASSERT_EQUAL_size_t(4, take(bytes, sizeof bytes));
	TEST_ASSERT_EQUAL_MEMORY("abcd", bytes, 4);
	chain_move(&c, &other);
	TEST_ASSERT_NULL(c.head);
}

static void many_short_chains_leave_little_room_unused(void)
{
	char digit, bytes[1];

	for (int i = 0; i < 10000; i++) {
		struct chain other;

		chain_init(&other, &pool);
		digit = (char)('0' + i % 10);
		chain_append(&other, &digit, 1);
		chain_move(&c, &other);
	}
	TEST_ASSERT_EQUAL_size_t(10000, c.len);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(c.len + 2 * CHAIN_CHUNK_BYTES, c.allocated);
	for (int i = 0; i < 10000; i++) {
		TEST_ASSERT_EQUAL_size_t(1, take(bytes, 1));
		TEST_ASSERT_EQUAL_CHAR('0' + i % 10, bytes[0]);
	}
}

static void random_operations_agree_with_a_plain_array(void)
{
	static char model[1 << 22], out[70000];
	size_t in = 0, gone = 0;
	unsigned long long seed = 3;

	while (in < sizeof model - 70000) {
		unsigned long long r = unit_random(&seed);
		size_t n = (size_t)(r >> 8) % (r % 7 == 0 ? 60000 : 300);

		if (r % 3 != 0) {
			for (size_t i = 0; i < n; i++)
				model[in + i] = (char)unit_random(&seed);
			if (r % 5 == 0 && n < CHAIN_CHUNK_BYTES) {
				memcpy(chain_reserve(&c, n), model + in, n);
				chain_commit(&c, n);
			} else {
				chain_append(&c, model + in, n);
			}
			in += n;
		} else {
			n = take(out, n);
			if (n != 0)
				TEST_ASSERT_EQUAL_MEMORY(model + gone, out, n);
			gone += n;
		}
		TEST_ASSERT_EQUAL_size_t(in - gone, c.len);
	}
}

static void shared_bytes_are_sent_whole_between_other_bytes(void)
{
	struct shared_bytes *shared = shared_bytes_new(STR("SHARED"));
	char bytes[64];

	chain_append(&c, "<", 1);
	chain_append_shared(&c, shared);
	chain_append(&c, ">", 1);
	chain_append_shared(&c, shared);
	chain_append(&c, "!", 1);
	shared_bytes_release(shared);
	TEST_ASSERT_EQUAL_size_t(15, c.len);
	TEST_ASSERT_EQUAL_size_t(4, take(bytes, 4));
	for (size_t at = 4; at < 15;)
		at += take(bytes + at, sizeof bytes - at);
	TEST_ASSERT_EQUAL_MEMORY("<SHARED>SHARED!", bytes, 15);
	TEST_ASSERT_EQUAL_size_t(0, c.allocated);
	TEST_ASSERT_EQUAL_size_t(0, pool.counted_twice);
}

static void bytes_of_several_chains_exist_once(void)
{
	struct shared_bytes *shared = shared_bytes_new(STR("0123456789"));
	struct chain other;

	chain_init(&other, &pool);
	chain_append_shared(&c, shared);
	TEST_ASSERT_EQUAL_size_t(0, pool.counted_twice);
	chain_append_shared(&other, shared);
	shared_bytes_release(shared);
	TEST_ASSERT_EQUAL_size_t(c.allocated, other.allocated);
	TEST_ASSERT_EQUAL_size_t(10, pool.counted_twice);
	TEST_ASSERT_EQUAL_PTR(c.head->shared, other.head->shared);
	chain_consume(&c, 10);
	TEST_ASSERT_EQUAL_size_t(0, pool.counted_twice);
	chain_done(&other);
}

static void a_chain_can_be_cut_within_shared_bytes(void)
{
	struct shared_bytes *shared = shared_bytes_new(STR("0123456789"));
	char bytes[16];

	chain_append_shared(&c, shared);
	chain_append_shared(&c, shared);
	shared_bytes_release(shared);
	chain_truncate(&c, 14);
	chain_append(&c, "x", 1);
	TEST_ASSERT_EQUAL_size_t(15, take(bytes, sizeof bytes));
	TEST_ASSERT_EQUAL_MEMORY("01234567890123x", bytes, 15);
	TEST_ASSERT_EQUAL_size_t(0, c.allocated);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_chain_holds_no_memory);
	RUN(the_pool_keeps_at_most_its_maximum);
	RUN(a_large_append_fills_the_tail_first);
	RUN(a_chain_can_be_cut_anywhere);
	RUN(a_long_chain_takes_larger_chunks_and_uses_at_least_half_of_them);
	RUN(the_end_of_a_large_piece_fits_into_its_chunk);
	RUN(reserved_room_is_in_one_piece);
	RUN(moving_a_chain_keeps_the_order);
	RUN(many_short_chains_leave_little_room_unused);
	RUN(random_operations_agree_with_a_plain_array);
	RUN(shared_bytes_are_sent_whole_between_other_bytes);
	RUN(bytes_of_several_chains_exist_once);
	RUN(a_chain_can_be_cut_within_shared_bytes);
	return UNIT_RESULT();
}
