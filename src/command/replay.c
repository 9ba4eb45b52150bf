#include "command/replay.h"

#include "qless.h"

void replay_init(struct replay *r, struct databases *databases,
		 int (*apply)(void *arg, const struct operation *op, struct buf *ret_error),
		 void *arg)
{
	*r = (struct replay){ .databases = databases, .apply = apply, .arg = arg };
	legacy_init(&r->legacy);
}

void replay_done(struct replay *r)
{
	operation_room_done(&r->room);
	legacy_done(&r->legacy);
}

static int apply(struct replay *r, const struct operation *op, uint64_t *ret_count,
		 struct buf *ret_error)
{
	int rc = r->apply(r->arg, op, ret_error);

	*ret_count += rc == 0;
	return rc;
}

int replay_operations(struct replay *r, struct qless_str payload, uint64_t *ret_count,
		      struct buf *ret_error)
{
	struct operation op;
	int rc;

	do {
		rc = operation_decode(&payload, &r->room, &op, ret_error);
		if (rc == 0)
			rc = apply(r, &op, ret_count, ret_error);
	} while (rc == 0 && payload.len > 0);
	return rc;
}

int replay_commands(struct replay *r, struct qless_str payload, uint64_t *ret_count,
		    struct buf *ret_error)
{
	struct legacy_command command;
	struct operation op;
	int rc;

	do {
		if (!legacy_take(&r->legacy, &payload, &command)) {
			buf_append_str(ret_error, STR("a command cannot be read"));
			return QLESS_EBADARG;
		}
		rc = legacy_decode(&r->legacy, r->databases, &command, &op, ret_error);
		if (rc == 0) {
			rc = apply(r, &op, ret_count, ret_error);
		} else if (r->refused != NULL) {
			r->refused(r->arg);
			rc = 0;
		}
	} while (rc == 0 && payload.len > 0);
	return rc;
}
