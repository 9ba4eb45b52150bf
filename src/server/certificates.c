#include "server/certificates.h"

#include "server/server_int.h"
#include "server/tls.h"

/* Seconds between two warnings. */
#define WARN_SECONDS 86400

int certificates_load(struct server *s, const struct config *config, struct buf *ret_error)
{
	struct tls *tls = tls_new(config, ret_error);

	if (tls == NULL)
		return -1;
	tls_free(s->certificates.tls);
	s->certificates.tls = tls;
	s->certificates.warned_us = s->clocks.mono_us;
	return 0;
}

void certificates_tick(struct server *s)
{
	struct certificates *c = &s->certificates;

	if (c->tls == NULL || s->clocks.mono_us - c->warned_us < WARN_SECONDS * INT64_C(1000000))
		return;
	c->warned_us = s->clocks.mono_us;
	tls_warn_of_expiry(c->tls, s->clocks.wall_us / 1000000);
}

void certificates_done(struct server *s)
{
	tls_free(s->certificates.tls);
}
