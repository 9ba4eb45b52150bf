#include "sys/notify.h"

#include <errno.h>
#include <stddef.h>

#include "tempdir.h"
#include "unit.h"

static struct tempdir dir;
static struct notify notify;
static int manager = -1; /* the service manager's end */
static char address[128];

void setUp(void)
{
	tempdir_init(&dir);
	notify.fd = -1;
}

void tearDown(void)
{
	notify_done(&notify);
	if (manager >= 0)
		close(manager);
	manager = -1;
	tempdir_done(&dir);
}

/* Play the manager at this address; `@` stands for NUL. */
static void listen_at(const char *text)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(text));

	memcpy(sun.sun_path, text, strlen(text));
	if (text[0] == '@')
		sun.sun_path[0] = '\0';
	else
		len++;
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	TEST_ASSERT_TRUE(manager >= 0);
	TEST_ASSERT_EQUAL_INT(0, bind(manager, (const struct sockaddr *)&sun, len));
}

/* The next message, or "". */
static const char *received(void)
{
	static char text[4096];
	ssize_t got = recv(manager, text, sizeof text - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void start_with_path(void)
{
	snprintf(address, sizeof address, "%s/notify", dir.path);
	listen_at(address);
	TEST_ASSERT_EQUAL_INT(0, notify_init(&notify, address));
	TEST_ASSERT_TRUE(notify_is_active(&notify));
}

static void messages_arrive_at_a_path(void)
{
	start_with_path();
	TEST_ASSERT_EQUAL_INT(0, notify_ready(&notify, "serving"));
	TEST_ASSERT_EQUAL_STRING("READY=1\nSTATUS=serving\n", received());
	TEST_ASSERT_EQUAL_INT(0, notify_status(&notify, "2 clients"));
	TEST_ASSERT_EQUAL_STRING("STATUS=2 clients\n", received());
	TEST_ASSERT_EQUAL_INT(0, notify_watchdog(&notify));
	TEST_ASSERT_EQUAL_STRING("WATCHDOG=1\n", received());
	TEST_ASSERT_EQUAL_INT(0, notify_extend_timeout(&notify, 5000000));
	TEST_ASSERT_EQUAL_STRING("EXTEND_TIMEOUT_USEC=5000000\n", received());
	TEST_ASSERT_EQUAL_INT(0, notify_reloading(&notify));
	TEST_ASSERT_EQUAL_INT(0, strncmp("RELOADING=1\nMONOTONIC_USEC=", received(), 27));
	TEST_ASSERT_EQUAL_INT(0, notify_stopping(&notify, NULL));
	TEST_ASSERT_EQUAL_STRING("STOPPING=1\n", received());
}

static void messages_arrive_at_an_abstract_name(void)
{
	snprintf(address, sizeof address, "@qlessd-test-%ld", (long)getpid());
	listen_at(address);
	TEST_ASSERT_EQUAL_INT(0, notify_init(&notify, address));
	TEST_ASSERT_EQUAL_INT(0, notify_ready(&notify, NULL));
	TEST_ASSERT_EQUAL_STRING("READY=1\n", received());
}

static void a_status_stays_one_line(void)
{
	char big[3000];

	start_with_path();
	TEST_ASSERT_EQUAL_INT(0, notify_status(&notify, "a\nREADY=1"));
	TEST_ASSERT_EQUAL_STRING("STATUS=a READY=1\n", received());
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	TEST_ASSERT_EQUAL_INT(0, notify_status(&notify, big));
	TEST_ASSERT_EQUAL_STRING("x\n", strrchr(received(), 'x'));
}

static void without_a_manager_nothing_is_sent(void)
{
	TEST_ASSERT_EQUAL_INT(0, notify_init(&notify, NULL));
	TEST_ASSERT_FALSE(notify_is_active(&notify));
	TEST_ASSERT_EQUAL_INT(0, notify_ready(&notify, "serving"));
	TEST_ASSERT_EQUAL_INT(0, notify_init(&notify, ""));
	TEST_ASSERT_EQUAL_INT(0, notify_watchdog(&notify));
}

static void an_address_of_another_kind_is_refused(void)
{
	char big[200];

	TEST_ASSERT_EQUAL_INT(-EAFNOSUPPORT, notify_init(&notify, "vsock:2:1"));
	TEST_ASSERT_FALSE(notify_is_active(&notify));
	memset(big, '/', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	TEST_ASSERT_EQUAL_INT(-ENAMETOOLONG, notify_init(&notify, big));
	TEST_ASSERT_EQUAL_INT(0, notify_ready(&notify, NULL));
}

static void a_vanished_manager_is_an_error_but_no_signal(void)
{
	start_with_path();
	close(manager);
	manager = -1;
	TEST_ASSERT_EQUAL_INT(-ECONNREFUSED, notify_watchdog(&notify));
}

/* Its queue is short, and repeated messages must not make the loop wait for it. */
static void a_slow_manager_does_not_delay_the_server(void)
{
	int rc;

	start_with_path();
	do
		rc = notify_watchdog(&notify);
	while (rc == 0);
	TEST_ASSERT_EQUAL_INT(-EAGAIN, rc);
	TEST_ASSERT_EQUAL_INT(-EAGAIN, notify_extend_timeout(&notify, 1));
	TEST_ASSERT_EQUAL_INT(-EAGAIN, notify_status(&notify, "busy"));
	TEST_ASSERT_EQUAL_STRING("WATCHDOG=1\n", received());
}

static void the_watchdog_is_for_the_process_it_names(void)
{
	TEST_ASSERT_EQUAL_INT64(30000000, notify_watchdog_interval_us("30000000", "77", 77));
	TEST_ASSERT_EQUAL_INT64(30000000, notify_watchdog_interval_us("30000000", NULL, 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us("30000000", "78", 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us("30000000", "", 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us(NULL, "77", 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us("", NULL, 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us("-5", NULL, 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us("5s", NULL, 77));
	TEST_ASSERT_EQUAL_INT64(0, notify_watchdog_interval_us("99999999999999999999", NULL, 77));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(messages_arrive_at_a_path);
	RUN(messages_arrive_at_an_abstract_name);
	RUN(a_status_stays_one_line);
	RUN(without_a_manager_nothing_is_sent);
	RUN(an_address_of_another_kind_is_refused);
	RUN(a_vanished_manager_is_an_error_but_no_signal);
	RUN(a_slow_manager_does_not_delay_the_server);
	RUN(the_watchdog_is_for_the_process_it_names);
	return UNIT_RESULT();
}
