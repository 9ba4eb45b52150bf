#include "server/libraries.h"

#include <string.h>

#include "server/server_int.h"

static void count_one(struct libraries *l, const char *name)
{
	unsigned i = 0;

	while (i < l->count && strcmp(l->of[i].name, name) != 0)
		i++;
	if (i == LIBRARIES_MAX)
		return;
	if (i == l->count) {
		l->of[i].name = name;
		l->of[i].clients = 0;
		l->count++;
	}
	l->of[i].clients++;
}

void libraries_count(const struct server *s, struct libraries *ret)
{
	const struct conn *c;

	ret->count = 0;
	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.lib_name != NULL)
			count_one(ret, c->client.lib_name);
	}
}
