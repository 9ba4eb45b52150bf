#include "sys/privileges.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A user that every system has, by its usual number. */
#define NOBODY 65534
/* A user that no system has. */
#define SOMEBODY 54321

static struct buf error = BUF_INIT(4096);
static struct privileges_user user;

void setUp(void)
{
	buf_clear(&error);
	memset(&user, 0, sizeof user);
}

void tearDown(void)
{
}

static void assert_not_found(const char *text, const char *reason)
{
	buf_clear(&error);
	TEST_ASSERT_EQUAL_INT(-1, privileges_find(text, &user, &error));
	TEST_ASSERT_EQUAL_STRING(reason, buf_cstr(&error));
}

static void a_user_is_found_by_name_with_its_group(void)
{
	TEST_ASSERT_EQUAL_INT(0, privileges_find("root", &user, &error));
	TEST_ASSERT_EQUAL_UINT(0, user.uid);
	TEST_ASSERT_EQUAL_UINT(0, user.gid);
	TEST_ASSERT_EQUAL_STRING("root", user.name);
	TEST_ASSERT_EQUAL_INT(0, privileges_find("nobody", &user, &error));
	TEST_ASSERT_EQUAL_UINT(NOBODY, user.uid);
	TEST_ASSERT_EQUAL_INT(0, privileges_find("nobody:root", &user, &error));
	TEST_ASSERT_EQUAL_UINT(NOBODY, user.uid);
	TEST_ASSERT_EQUAL_UINT(0, user.gid);
}

static void numbers_need_no_user_of_the_system(void)
{
	TEST_ASSERT_EQUAL_INT(0, privileges_find("54321:12345", &user, &error));
	TEST_ASSERT_EQUAL_UINT(54321, user.uid);
	TEST_ASSERT_EQUAL_UINT(12345, user.gid);
	TEST_ASSERT_EQUAL_STRING("", user.name);
	TEST_ASSERT_EQUAL_INT(0, privileges_find("65534", &user, &error));
	TEST_ASSERT_EQUAL_STRING("nobody", user.name);
	assert_not_found("54321", "run-as: there is no user 54321");
}

static void an_unknown_user_is_an_error(void)
{
	assert_not_found("no-such-user", "run-as: there is no user no-such-user");
	assert_not_found("nobody:no-such-group", "run-as: there is no group no-such-group");
	assert_not_found(":root", "run-as: \":root\" is neither user nor user:group");
	assert_not_found("root:", "run-as: \"root:\" is neither user nor user:group");
	/* System calls take this number as "leave unchanged". */
	assert_not_found("4294967295:0", "run-as: there is no user 4294967295");
}

/* Run it in a process of its own, because it cannot be undone. Returns its result. */
static int apart(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(body());
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int become_somebody_and_try_to_come_back(void)
{
	const struct privileges_user somebody = { SOMEBODY, SOMEBODY, "" };
	gid_t groups[8];

	if (privileges_become(&somebody, &error) < 0)
		return 1;
	if (getuid() != SOMEBODY || geteuid() != SOMEBODY || getgid() != SOMEBODY ||
	    getegid() != SOMEBODY)
		return 2;
	if (getgroups(8, groups) != 1 || groups[0] != SOMEBODY)
		return 3;
	if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 || setgroups(0, NULL) == 0)
		return 4;
	if (privileges_seal(&error) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 5;
	/* Becoming the current user again is allowed. */
	return privileges_become(&somebody, &error) == 0 ? 0 : 6;
}

static int be_nobody_and_try_to_become_root(void)
{
	const struct privileges_user root = { .name = "root" };

	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	if (privileges_become(&root, &error) == 0)
		return 2;
	return strstr(buf_cstr(&error), "only root can become another user") != NULL ? 0 : 3;
}

static void root_becomes_a_user_permanently(void)
{
	TEST_ASSERT_EQUAL_INT(geteuid() == 0 ? 0 : 1, apart(become_somebody_and_try_to_come_back));
}

static void only_root_can_become_another_user(void)
{
	TEST_ASSERT_EQUAL_INT(0, apart(be_nobody_and_try_to_become_root));
}

static int prevent_core_dumps(void)
{
	struct rlimit limit;

	privileges_set_core_dumps(false);
	getrlimit(RLIMIT_CORE, &limit);
	return limit.rlim_max == 1 ? 0 : prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static int allow_core_dumps(void)
{
	struct rlimit limit;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	privileges_set_core_dumps(true);
	getrlimit(RLIMIT_CORE, &limit);
	return limit.rlim_cur == limit.rlim_max && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 ? 0 : 1;
}

static void core_dumps_are_allowed_or_prevented(void)
{
	TEST_ASSERT_EQUAL_INT(0, apart(prevent_core_dumps));
	TEST_ASSERT_EQUAL_INT(0, apart(allow_core_dumps));
}

int main(int argc, char **argv)
{
	int status;

	UNITY_BEGIN();
	RUN(a_user_is_found_by_name_with_its_group);
	RUN(numbers_need_no_user_of_the_system);
	RUN(an_unknown_user_is_an_error);
	RUN(root_becomes_a_user_permanently);
	RUN(only_root_can_become_another_user);
	RUN(core_dumps_are_allowed_or_prevented);
	status = UNIT_RESULT();
	buf_done(&error);
	return status;
}
