#include "command/roles.h"

#include "command/command.h"
#include "command/table.h"
#include "server/commands.h"
#include "unit.h"
#include "util/str.h"

#define ROLES (CAT_PRODUCER | CAT_WORKER | CAT_OPERATOR | CAT_DASHBOARD)

static struct command_table *table;

void setUp(void)
{
	table = commands_new(/* has_group= */ true);
}

void tearDown(void)
{
	command_table_free(table);
}

static const char *const members[] = {
#define IN_ROLES(name, roles) name,
#include "command/roles.def"
#undef IN_ROLES
};

static void all_members_are_commands(void)
{
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		TEST_ASSERT_NOT_NULL_MESSAGE(command_table_find(table, str_from(members[i])),
					     members[i]);
		for (size_t k = 0; k < i; k++)
			TEST_ASSERT_TRUE_MESSAGE(strcmp(members[i], members[k]) != 0, members[i]);
	}
}

static void every_command_about_jobs_has_a_role(void)
{
	for (int i = 0; i < command_table_count(table); i++) {
		const struct command *cmd = command_table_row(table, i);

		if (command_categories(cmd) & CAT_QLESS)
			TEST_ASSERT_TRUE_MESSAGE(command_categories(cmd) & CAT_OPERATOR, cmd->name);
	}
}

static void a_dashboard_changes_nothing(void)
{
	for (int i = 0; i < command_table_count(table); i++) {
		const struct command *cmd = command_table_row(table, i);
		unsigned categories = command_categories(cmd);

		/* QLESS and scripts are judged by the command that they name. */
		if ((categories & CAT_DASHBOARD) && strcmp(cmd->name, "qless") != 0 &&
		    strncmp(cmd->name, "eval", 4) != 0)
			TEST_ASSERT_FALSE_MESSAGE(categories & CAT_WRITE, cmd->name);
	}
}

static void no_role_decides_about_users_or_the_end(void)
{
	static const char *const forbidden[] = { "acl|setuser",	   "acl|deluser", "config|set",
						 "config|rewrite", "debug|sleep", "flushall",
						 "flushdb",	   "monitor",	  "publish",
						 "script|flush",   "shutdown" };

	for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
		TEST_ASSERT_FALSE_MESSAGE(
			command_categories(command_table_find(table, str_from(forbidden[i]))) &
				ROLES,
			forbidden[i]);
}

static void a_worker_finds_its_jobs_and_ends_its_wait(void)
{
	static const char *const needed[] = { "client|id", "client|unblock", "multiget",
					      "workers" };

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		TEST_ASSERT_TRUE_MESSAGE(
			command_categories(command_table_find(table, str_from(needed[i]))) &
				CAT_WORKER,
			needed[i]);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(all_members_are_commands);
	RUN(every_command_about_jobs_has_a_role);
	RUN(a_dashboard_changes_nothing);
	RUN(no_role_decides_about_users_or_the_end);
	RUN(a_worker_finds_its_jobs_and_ends_its_wait);
	return UNITY_END();
}
