#include "replication/members.h"

#include <string.h>

#include "unit.h"

static struct members m;
static struct buf bytes;

void setUp(void)
{
	memset(&m, 0, sizeof m);
	buf_init(&bytes, SIZE_MAX);
}

void tearDown(void)
{
	buf_done(&bytes);
}

static void fill(void)
{
	TEST_ASSERT_TRUE(members_set(&m, 7, "c:7", false));
	TEST_ASSERT_TRUE(members_set(&m, 2, "b:2", true));
	TEST_ASSERT_TRUE(members_set(&m, 1, "a:1", true));
}

static void members_are_in_the_order_of_their_ids(void)
{
	fill();
	TEST_ASSERT_TRUE(members_are_valid(&m));
	TEST_ASSERT_EQUAL_UINT(3, m.count);
	TEST_ASSERT_EQUAL_UINT64(1, m.member[0].id);
	TEST_ASSERT_EQUAL_UINT64(2, m.member[1].id);
	TEST_ASSERT_EQUAL_STRING("c:7", members_find(&m, 7)->address);
	TEST_ASSERT_NULL(members_find(&m, 3));
	TEST_ASSERT_EQUAL_UINT(2, members_voters(&m));
}

static void a_member_can_change(void)
{
	fill();
	TEST_ASSERT_TRUE(members_set(&m, 7, "d:7", true));
	TEST_ASSERT_EQUAL_UINT(3, m.count);
	TEST_ASSERT_EQUAL_UINT(3, members_voters(&m));
	TEST_ASSERT_TRUE(members_remove(&m, 2));
	TEST_ASSERT_FALSE(members_remove(&m, 2));
	TEST_ASSERT_EQUAL_STRING("d:7", m.member[1].address);
}

static void what_cannot_be_a_member_changes_nothing(void)
{
	char address[MEMBERS_ADDRESS_SIZE + 1];
	struct members before;

	fill();
	before = m;
	memset(address, 'a', sizeof address);
	address[MEMBERS_ADDRESS_SIZE] = '\0';
	TEST_ASSERT_FALSE(members_set(&m, 0, "e:1", true));
	TEST_ASSERT_FALSE(members_set(&m, (uint64_t)INT64_MAX + 1, "e:1", true));
	TEST_ASSERT_FALSE(members_set(&m, 3, "", true));
	TEST_ASSERT_FALSE(members_set(&m, 3, address, true));
	TEST_ASSERT_FALSE(members_set(&m, 3, "b:2", true));
	TEST_ASSERT_TRUE(members_equal(&before, &m));
	address[MEMBERS_ADDRESS_SIZE - 1] = '\0';
	TEST_ASSERT_TRUE(members_set(&m, 3, address, true));
	TEST_ASSERT_FALSE(members_equal(&before, &m));
}

static void a_full_list_takes_no_more(void)
{
	char address[8];

	for (uint64_t id = 1; id <= MEMBERS_MAX; id++) {
		snprintf(address, sizeof address, "n:%d", (int)id);
		TEST_ASSERT_TRUE(members_set(&m, id, address, true));
	}
	TEST_ASSERT_FALSE(members_set(&m, 100, "m:1", true));
	TEST_ASSERT_TRUE(members_set(&m, MEMBERS_MAX, "m:1", false));
}

static void a_list_without_a_voter_is_not_valid(void)
{
	TEST_ASSERT_TRUE(members_set(&m, 1, "a:1", false));
	TEST_ASSERT_FALSE(members_are_valid(&m));
}

static void bytes_lead_back_to_the_list(void)
{
	struct members again;

	fill();
	members_encode(&m, &bytes);
	TEST_ASSERT_TRUE(members_decode(&again, buf_data(&bytes), bytes.len));
	TEST_ASSERT_TRUE(members_equal(&m, &again));
}

static void other_bytes_are_refused(void)
{
	struct members again;
	char *data;

	fill();
	members_encode(&m, &bytes);
	data = buf_data(&bytes);
	for (size_t len = 0; len < bytes.len; len++)
		TEST_ASSERT_FALSE(members_decode(&again, data, len));
	for (size_t i = 0; i < bytes.len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			data[i] ^= (char)(1u << bit);
			/* An address, an id or a role can be another; the list is valid then. */
			if (members_decode(&again, data, bytes.len))
				TEST_ASSERT_TRUE(members_are_valid(&again));
			data[i] ^= (char)(1u << bit);
		}
	}
	buf_append_char(&bytes, 0);
	TEST_ASSERT_FALSE(members_decode(&again, buf_data(&bytes), bytes.len));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(members_are_in_the_order_of_their_ids);
	RUN(a_member_can_change);
	RUN(what_cannot_be_a_member_changes_nothing);
	RUN(a_full_list_takes_no_more);
	RUN(a_list_without_a_voter_is_not_valid);
	RUN(bytes_lead_back_to_the_list);
	RUN(other_bytes_are_refused);
	return UNIT_RESULT();
}
