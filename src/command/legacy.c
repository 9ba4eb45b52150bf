/*
 * The payload of RECORD_COMMANDS in formats 2 and 3 of the log. Numbers are little-endian. A varint
 * has seven bits in each byte, the low ones first; the top bit is set in every byte but the last.
 *
 *	varint	database
 *	8 bytes	time (IEEE 754 double, seconds since 1970)
 *	varint	number of words, then for each: varint length, bytes
 *
 * More commands may follow up to the end of the payload. The first word is the name of a queue
 * command, and the others are its arguments as the client sent them. In format 3, `=` in place of
 * the data of complete, fail and heartbeat means that the job keeps its data. Names that begin with
 * `@` are changes that are not queue commands.
 */
#include "command/legacy.h"

#include <stdlib.h>
#include <string.h>

#include "command/classic_int.h"
#include "command/databases.h"
#include "command/rows.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/wire.h"

/* ---- reading ---- */

struct cursor {
	const unsigned char *at;
	size_t left;
};

static bool take_varint(struct cursor *c, uint64_t max, uint64_t *ret_value)
{
	size_t used = wire_get_varint(c->at, c->left, ret_value);

	c->at += used;
	c->left -= used;
	return used != 0 && *ret_value <= max;
}

static bool take_words(struct cursor *c, struct legacy *l, size_t count)
{
	uint64_t len;

	l->words = mem_grow(l->words, &l->cap, count, sizeof *l->words);
	for (size_t i = 0; i < count; i++) {
		if (!take_varint(c, SIZE_MAX, &len) || len > c->left)
			return false;
		l->words[i] = str_make((const char *)c->at, (size_t)len);
		c->at += len;
		c->left -= (size_t)len;
	}
	return true;
}

bool legacy_take(struct legacy *l, struct qless_str *payload, struct legacy_command *ret_command)
{
	struct cursor c = { (const unsigned char *)payload->ptr, payload->len };
	uint64_t db, count;
	double now;

	if (!take_varint(&c, UINT32_MAX, &db) || c.left < 8)
		return false;
	now = wire_get_double(c.at);
	c.at += 8;
	c.left -= 8;
	/* Each word takes at least one byte, for its length. */
	if (!take_varint(&c, c.left, &count) || count == 0 || count > c.left ||
	    !take_words(&c, l, (size_t)count))
		return false;
	*ret_command = (struct legacy_command){
		.db = (unsigned)db,
		.now = now,
		.name = l->words[0],
		.args = l->words + 1,
		.count = (size_t)count - 1,
	};
	*payload = str_make((const char *)c.at, c.left);
	return true;
}

void legacy_init(struct legacy *l)
{
	*l = (struct legacy){ 0 };
	scratch_init(&l->scratch);
}

void legacy_done(struct legacy *l)
{
	scratch_done(&l->scratch);
	free(l->words);
}

/* ---- changes that are not queue commands ---- */

struct own_row {
	struct qless_str name;
	enum operation_kind kind;
	size_t least; /* the least number of arguments */
};

static const struct own_row own_rows[] = {
	{ STR_INIT("@flush"), OPERATION_FLUSH, 0 },
	{ STR_INIT("@maintain"), OPERATION_MAINTAIN, 0 },
	{ STR_INIT("@script"), OPERATION_SCRIPT_ADDED, 2 },
	{ STR_INIT("@script-flush"), OPERATION_SCRIPTS_CLEARED, 0 },
	{ STR_INIT("@user"), OPERATION_USER_SET, 2 },
	{ STR_INIT("@user-configured"), OPERATION_USER_AS_CONFIGURED, 1 },
	{ STR_INIT("@user-gone"), OPERATION_USER_DELETED, 2 },
};

static const struct own_row *find_own(struct qless_str name)
{
	for (size_t i = 0; i < sizeof own_rows / sizeof *own_rows; i++) {
		if (str_equal(own_rows[i].name, name))
			return &own_rows[i];
	}
	return NULL;
}

static int decode_own(const struct own_row *row, const struct legacy_command *command,
		      struct operation *ret_op, struct buf *ret_error)
{
	const struct qless_str *args = command->args;
	struct operation_names rest = { args + row->least, command->count - row->least };

	if (command->count < row->least) {
		buf_printf(ret_error, "%s has too few arguments", row->name.ptr);
		return QLESS_EBADARG;
	}
	memset(ret_op, 0, sizeof *ret_op);
	ret_op->kind = row->kind;
	ret_op->db = command->db;
	if (row->kind == OPERATION_SCRIPT_ADDED) {
		ret_op->script.sha = args[0];
		ret_op->script.dialect = args[1];
		ret_op->script.options = rest;
	} else if (row->least > 0) {
		ret_op->user.name = args[0];
		ret_op->user.basis = row->least > 1 ? &args[1] : NULL;
		ret_op->user.rules = rest;
	}
	return 0;
}

/* ---- commands that only read now ---- */

/* These commands moved jobs that had come due. That is why they were recorded. */
static int decode_advance(struct operation *op, enum qless_advance_kind kind,
			  struct qless_str queue, int64_t max)
{
	op->kind = OPERATION_ADVANCE;
	op->advance = (struct qless_advance){ kind, queue, max };
	return 0;
}

static int decode_peek(struct request *req, struct operation *op)
{
	double number;
	int64_t count;
	int rc = request_number(req, 1, "Peek(): Arg \"count\" missing or not a number: ", &number);

	if (rc == 0)
		rc = request_count(req, number, "Peek", &count);
	return rc < 0 ? rc : decode_advance(op, QLESS_ADVANCE_POP, request_text(req, 0), count);
}

static int decode_jobs(struct request *req, struct operation *op)
{
	return decode_advance(op, QLESS_ADVANCE_QUEUE, request_text(req, 1), QLESS_ADVANCE_MAX);
}

static int decode_queues(struct request *req, struct operation *op)
{
	if (request_has(req, 0))
		return decode_advance(op, QLESS_ADVANCE_QUEUE, req->args[0], QLESS_ADVANCE_MAX);
	return decode_advance(op, QLESS_ADVANCE_KNOWN, STR(""), QLESS_ADVANCE_MAX);
}

static int decode_workers(struct request *req, struct operation *op)
{
	(void)req;
	return decode_advance(op, QLESS_ADVANCE_WORKERS, STR(""), INT64_MAX);
}

/* ---- all of them ---- */

struct reading_row {
	struct qless_str name;
	decode_fn *decode;
};

static const struct reading_row reading_rows[] = {
	{ STR_INIT("jobs"), decode_jobs },
	{ STR_INIT("peek"), decode_peek },
	{ STR_INIT("queues"), decode_queues },
	{ STR_INIT("workers"), decode_workers },
};

/* Returns NULL if there is no such command, or if it never changed anything. */
static decode_fn *find_decoder(struct qless_str name)
{
	const struct command *row;

	for (size_t i = 0; i < sizeof reading_rows / sizeof *reading_rows; i++) {
		if (str_equal(reading_rows[i].name, name))
			return reading_rows[i].decode;
	}
	row = queue_command_find(name);
	return row != NULL ? row->decode : NULL;
}

/* The commands that carry the data of a job, and the argument that holds it. */
struct data_row {
	struct qless_str name;
	size_t at;
};

static const struct data_row data_rows[] = {
	{ STR_INIT("complete"), 3 },
	{ STR_INIT("fail"), 4 },
	{ STR_INIT("heartbeat"), 2 },
};

/* The mark for data that the job had already. It is not JSON, so the decoder gets other data, and
 * the operation ignores that. */
static const struct qless_str same_data = STR_INIT("=");
static const struct qless_str some_data = STR_INIT("null");

/* Replace the mark, and return whether there was one. */
static bool replace_mark(struct legacy_command *command)
{
	for (size_t i = 0; i < sizeof data_rows / sizeof *data_rows; i++) {
		size_t at = data_rows[i].at;

		if (!str_equal(data_rows[i].name, command->name) || at >= command->count ||
		    !str_equal(command->args[at], same_data))
			continue;
		command->args[at] = some_data;
		return true;
	}
	return false;
}

static int decode_command(struct legacy *l, struct databases *d, decode_fn *decode,
			  struct legacy_command *command, struct operation *ret_op,
			  struct buf *ret_error)
{
	struct request req = { .form = REQUEST_QLESS,
			       .now = command->now,
			       .args = command->args,
			       .nargs = command->count,
			       .env = &l->env };
	bool keeps_data = replace_mark(command);
	int rc;

	if (command->db >= databases_count(d)) {
		databases_complain(command->db, ret_error);
		return QLESS_EBADARG;
	}
	l->env.scratch = &l->scratch;
	request_use_database(&req, databases_get(d, command->db));
	rc = request_decode(&req, decode, ret_op);
	if (rc < 0)
		buf_printf(ret_error, "%.*s cannot be read: %.*s", (int)command->name.len,
			   command->name.ptr, (int)l->scratch.error.len,
			   buf_data(&l->scratch.error));
	ret_op->keeps_data = keeps_data;
	return rc;
}

int legacy_decode(struct legacy *l, struct databases *d, struct legacy_command *command,
		  struct operation *ret_op, struct buf *ret_error)
{
	const struct own_row *own = find_own(command->name);
	decode_fn *decode;

	if (own != NULL)
		return decode_own(own, command, ret_op, ret_error);
	decode = find_decoder(command->name);
	if (decode != NULL)
		return decode_command(l, d, decode, command, ret_op, ret_error);
	buf_printf(ret_error, "there is no command %.*s", (int)command->name.len,
		   command->name.ptr);
	return QLESS_EBADARG;
}

/* ---- for people ---- */

void legacy_describe(const struct legacy_command *command, struct buf *out)
{
	bool has_rules = str_equal(command->name, STR("@user"));

	buf_printf(out, "db%u %.*s", command->db, (int)command->name.len, command->name.ptr);
	for (size_t i = 0; i < command->count; i++) {
		/* A rule that begins with # is the hash of a password. */
		bool is_secret = has_rules && str_starts_with(command->args[i], STR("#"));

		buf_append_char(out, ' ');
		json_append_string(out, is_secret ? STR("#...") : command->args[i]);
	}
}

bool legacy_mentions(const struct legacy_command *command, struct qless_str text)
{
	for (size_t i = 0; i < command->count; i++) {
		if (str_equal(command->args[i], text))
			return true;
	}
	return false;
}
