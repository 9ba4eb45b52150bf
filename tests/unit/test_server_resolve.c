/*
 * Looking up addresses of hosts. No test needs a name server: a name that cannot exist is an error
 * with and without one.
 */
#include "server/resolve.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>

#include "unit.h"

/* A host with blanks cannot exist. */
#define NO_HOST "no such host"

static struct event_base *base;

/* The last result. */
static int calls;
static struct sockaddr_storage found;
static bool has_found;
static char reason[200];

static void on_resolved(void *arg, const struct sockaddr *address, socklen_t len, const char *error)
{
	calls++;
	TEST_ASSERT_EQUAL_PTR(&calls, arg);
	TEST_ASSERT_NOT_EQUAL_INT(address == NULL, error == NULL);
	has_found = address != NULL;
	if (address != NULL)
		memcpy(&found, address, len);
	else
		strncpy(reason, error, sizeof reason - 1);
}

void setUp(void)
{
	base = event_base_new();
	calls = 0;
}

void tearDown(void)
{
	event_base_free(base);
}

static void look_up(const char *host, int port)
{
	TEST_ASSERT_NOT_NULL(resolve(base, host, port, 0, on_resolved, &calls));
	TEST_ASSERT_EQUAL_INT(0, calls);
	while (calls == 0)
		event_base_loop(base, EVLOOP_ONCE);
}

static void a_numeric_address_is_known(void)
{
	const struct sockaddr_in *in = (const void *)&found;

	look_up("127.0.0.2", 1234);
	TEST_ASSERT_TRUE(has_found);
	TEST_ASSERT_EQUAL_INT(AF_INET, found.ss_family);
	TEST_ASSERT_EQUAL_UINT32(0x7f000002, ntohl(in->sin_addr.s_addr));
	TEST_ASSERT_EQUAL_UINT16(1234, ntohs(in->sin_port));
}

static void a_numeric_address_of_ipv6_is_known(void)
{
	const struct sockaddr_in6 *in6 = (const void *)&found;

	look_up("::1", 4321);
	TEST_ASSERT_TRUE(has_found);
	TEST_ASSERT_EQUAL_INT(AF_INET6, found.ss_family);
	TEST_ASSERT_TRUE(IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr));
	TEST_ASSERT_EQUAL_UINT16(4321, ntohs(in6->sin6_port));
}

static void any_choice_of_the_only_address_is_that_address(void)
{
	for (unsigned choice = 0; choice < 3; choice++) {
		calls = 0;
		resolve(base, "127.0.0.2", 1, choice, on_resolved, &calls);
		while (calls == 0)
			event_base_loop(base, EVLOOP_ONCE);
		TEST_ASSERT_TRUE(has_found);
	}
}

static void a_name_that_does_not_exist_is_an_error(void)
{
	look_up(NO_HOST, 1);
	TEST_ASSERT_FALSE(has_found);
	TEST_ASSERT_GREATER_THAN_size_t(0, strlen(reason));
	TEST_ASSERT_EQUAL_INT(1, calls);
}

static void a_lookup_that_is_cancelled_does_not_call(void)
{
	resolve_cancel(resolve(base, "127.0.0.1", 1, 0, on_resolved, &calls));
	/* Its thread may run on, and frees what it has. */
	for (int i = 0; i < 20; i++)
		resolve_cancel(resolve(base, NO_HOST, 1, 0, on_resolved, &calls));
	look_up(NO_HOST, 1);
	TEST_ASSERT_EQUAL_INT(1, calls);
	resolve_cancel(NULL);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_numeric_address_is_known);
	RUN(a_numeric_address_of_ipv6_is_known);
	RUN(any_choice_of_the_only_address_is_that_address);
	RUN(a_name_that_does_not_exist_is_an_error);
	RUN(a_lookup_that_is_cancelled_does_not_call);
	return UNIT_RESULT();
}
