#include "push/allow.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static size_t read(struct qless_str text, unsigned char *address)
{
	memset(address, 0xaa, ALLOW_ADDRESS_MAX);
	return allow_read_address(text, address);
}

static void addresses_are_read(void)
{
	static const unsigned char v4[] = { 10, 0, 255, 1 };
	static const unsigned char one[16] = { [15] = 1 };
	static const unsigned char full[16] = { 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0,
						0,    0, 0,    0,    0, 0, 0, 5 };
	static const unsigned char mixed[16] = {
		[10] = 0xff, [11] = 0xff, [12] = 1, [13] = 2, [14] = 3, [15] = 4
	};
	unsigned char address[ALLOW_ADDRESS_MAX];

	TEST_ASSERT_EQUAL_size_t(4, read(STR("10.0.255.1"), address));
	TEST_ASSERT_EQUAL_MEMORY(v4, address, 4);
	TEST_ASSERT_EQUAL_size_t(16, read(STR("::1"), address));
	TEST_ASSERT_EQUAL_MEMORY(one, address, 16);
	TEST_ASSERT_EQUAL_size_t(16, read(STR("2001:0DB8::5"), address));
	TEST_ASSERT_EQUAL_MEMORY(full, address, 16);
	TEST_ASSERT_EQUAL_size_t(16, read(STR("2001:db8:0:0:0:0:0:5"), address));
	TEST_ASSERT_EQUAL_MEMORY(full, address, 16);
	TEST_ASSERT_EQUAL_size_t(16, read(STR("::ffff:1.2.3.4"), address));
	TEST_ASSERT_EQUAL_MEMORY(mixed, address, 16);
	TEST_ASSERT_EQUAL_size_t(16, read(STR("::"), address));
	TEST_ASSERT_EQUAL_size_t(16, read(STR("1::"), address));
}

static void other_texts_are_no_addresses(void)
{
	static const struct qless_str bad[] = {
		STR_INIT(""),
		STR_INIT("1.2.3"),
		STR_INIT("1.2.3.4.5"),
		STR_INIT("1.2.3."),
		STR_INIT("01.2.3.4"),
		STR_INIT("256.0.0.1"),
		STR_INIT("a.b.c.d"),
		STR_INIT(":"),
		STR_INIT(":::"),
		STR_INIT("1:2"),
		STR_INIT("1::2::3"),
		STR_INIT("12345::"),
		STR_INIT("::g"),
		STR_INIT("1:2:3:4:5:6:7:8:9"),
		STR_INIT("1:2:3:4:5:6:7:8::"),
		STR_INIT("::1.2.3"),
		STR_INIT("1:2:3:4:5:6:7:"),
		STR_INIT("1:2:3:4:5:6:7:1.2.3.4"),
	};
	unsigned char address[ALLOW_ADDRESS_MAX];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		TEST_ASSERT_EQUAL_size_t_MESSAGE(0, read(bad[i], address), bad[i].ptr);
}

static bool allows(struct qless_str element, struct qless_str text)
{
	unsigned char address[ALLOW_ADDRESS_MAX];
	size_t len = read(text, address);

	TEST_ASSERT_TRUE(len != 0);
	return allow_address(element, address, len);
}

static void a_network_allows_its_addresses(void)
{
	TEST_ASSERT_TRUE(allows(STR("10.0.0.0/8"), STR("10.255.1.2")));
	TEST_ASSERT_FALSE(allows(STR("10.0.0.0/8"), STR("11.0.0.1")));
	TEST_ASSERT_TRUE(allows(STR("192.168.4.0/22"), STR("192.168.7.255")));
	TEST_ASSERT_FALSE(allows(STR("192.168.4.0/22"), STR("192.168.8.0")));
	TEST_ASSERT_TRUE(allows(STR("0.0.0.0/0"), STR("1.2.3.4")));
	TEST_ASSERT_FALSE(allows(STR("0.0.0.0/0"), STR("::1")));
	TEST_ASSERT_TRUE(allows(STR("fd00::/8"), STR("fdff::1")));
	TEST_ASSERT_FALSE(allows(STR("fd00::/8"), STR("fe00::1")));
	TEST_ASSERT_TRUE(allows(STR("10.1.2.3"), STR("10.1.2.3")));
	TEST_ASSERT_FALSE(allows(STR("10.1.2.3"), STR("10.1.2.4")));
}

static void an_address_cannot_hide_in_one_of_ipv6(void)
{
	TEST_ASSERT_TRUE(allows(STR("10.0.0.0/8"), STR("::ffff:10.1.1.1")));
	TEST_ASSERT_FALSE(allows(STR("::/0"), STR("::ffff:10.1.1.1")));
}

static void a_glob_allows_hosts_in_any_case(void)
{
	TEST_ASSERT_TRUE(allow_host(STR("*"), STR("anything")));
	TEST_ASSERT_TRUE(allow_host(STR("*.example.org"), STR("a.EXAMPLE.org")));
	TEST_ASSERT_FALSE(allow_host(STR("*.example.org"), STR("example.org.evil")));
}

static void elements_with_a_slash_are_networks(void)
{
	TEST_ASSERT_TRUE(allow_is_element(STR("*")));
	TEST_ASSERT_TRUE(allow_is_element(STR("10.0.0.0/32")));
	TEST_ASSERT_FALSE(allow_is_element(STR("")));
	TEST_ASSERT_FALSE(allow_is_element(STR("10.0.0.0/33")));
	TEST_ASSERT_FALSE(allow_is_element(STR("10.0.0.0/")));
	TEST_ASSERT_FALSE(allow_is_element(STR("host/8")));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(addresses_are_read);
	RUN(other_texts_are_no_addresses);
	RUN(a_network_allows_its_addresses);
	RUN(an_address_cannot_hide_in_one_of_ipv6);
	RUN(a_glob_allows_hosts_in_any_case);
	RUN(elements_with_a_slash_are_networks);
	return UNIT_RESULT();
}
