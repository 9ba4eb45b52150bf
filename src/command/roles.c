#include "command/roles.h"

#include <stddef.h>
#include <string.h>

#include "command/command.h"

#define PRODUCER  CAT_PRODUCER
#define WORKER	  CAT_WORKER
#define OPERATOR  CAT_OPERATOR
#define DASHBOARD CAT_DASHBOARD

static const struct {
	const char *command;
	unsigned roles;
} members[] = {
#define IN_ROLES(name, roles) { name, (unsigned)(roles) },
#include "command/roles.def"
#undef IN_ROLES
};

unsigned roles_of_command(const char *name)
{
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		if (strcmp(members[i].command, name) == 0)
			return members[i].roles;
	}
	return 0;
}
