#include "benchmark/beanstalk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"

#define LINE_MAX_BYTES ((size_t)256) /* of a reply; the longest has a tube name of 200 bytes */
#define BODY_MAX       UINT64_C(1000000000)
#define TTR_SECONDS    3600

/* ---- replies ---- */

/* Takes the first word of a line. */
static struct qless_str take_word(struct qless_str *line)
{
	const char *blank = memchr(line->ptr, ' ', line->len);
	size_t len = blank != NULL ? (size_t)(blank - line->ptr) : line->len;
	struct qless_str word = str_make(line->ptr, len);
	size_t skip = blank != NULL ? len + 1 : len;

	*line = str_make(line->ptr + skip, line->len - skip);
	return word;
}

static bool take_number(struct qless_str *line, uint64_t max, uint64_t *ret_number)
{
	return num_parse_u64(take_word(line), 0, max, ret_number);
}

/* Reads a line without a body. */
static void read_line(struct qless_str line, struct reply *ret)
{
	struct qless_str rest = line, word = take_word(&rest);
	uint64_t number;

	*ret = (struct reply){ .type = REPLY_ERROR, .text = line, .error = line };
	if (str_equal(word, STR("INSERTED")) && take_number(&rest, INT64_MAX, &number))
		*ret = (struct reply){ .type = REPLY_INTEGER, .integer = (int64_t)number };
	else if (str_equal(word, STR("WATCHING")) && take_number(&rest, INT64_MAX, &number))
		*ret = (struct reply){ .type = REPLY_INTEGER, .integer = (int64_t)number };
	else if (str_equal(word, STR("DELETED")) || str_equal(word, STR("USING")))
		*ret = (struct reply){ .type = REPLY_STATUS, .text = line };
}

ptrdiff_t beanstalk_scan(struct qless_str bytes, struct reply *ret_reply)
{
	const char *end = bytes.len != 0 ? memchr(bytes.ptr, '\n', bytes.len) : NULL;
	struct qless_str line, rest, word;
	uint64_t id = 0, body = 0;
	size_t len;

	if (end == NULL)
		return bytes.len > LINE_MAX_BYTES ? -1 : 0;
	if (end == bytes.ptr || end[-1] != '\r')
		return -1;
	len = (size_t)(end - bytes.ptr) + 1;
	line = rest = str_make(bytes.ptr, len - 2);
	word = take_word(&rest);
	if (!str_equal(word, STR("RESERVED")) && !str_equal(word, STR("OK"))) {
		read_line(line, ret_reply);
		return (ptrdiff_t)len;
	}
	if (str_equal(word, STR("RESERVED")) && !take_number(&rest, INT64_MAX, &id))
		return -1;
	if (!take_number(&rest, BODY_MAX, &body))
		return -1;
	if (bytes.len - len < body + 2)
		return 0;
	*ret_reply = (struct reply){
		.type = REPLY_BULK,
		.integer = (int64_t)id,
		.text = str_make(bytes.ptr + len, (size_t)body),
	};
	return (ptrdiff_t)(len + body + 2);
}

/* ---- requests ---- */

void beanstalk_make_put(struct request *r, const char *payload, size_t bytes)
{
	char line[64];

	snprintf(line, sizeof line, "put 0 0 %d %zu\r\n", TTR_SECONDS, REQUEST_JID_BYTES + bytes);
	request_begin_text(r);
	request_add_text(r, line);
	request_add_text(r, "%j");
	request_add_text(r, payload);
	request_add_text(r, "\r\n");
}

void beanstalk_make_delete(struct request *r)
{
	request_begin_text(r);
	request_add_text(r, "delete %n\r\n");
}

void beanstalk_make_reserve(struct request *r)
{
	request_begin_text(r);
	request_add_text(r, "reserve\r\n");
}

/* ---- single calls ---- */

static int call(struct control *c, const char *command, struct qless_str tube,
		struct reply *ret_reply, struct buf *error)
{
	struct buf request = BUF_INIT(BUF_NO_MAX);
	int rc;

	buf_printf(&request, "%s%s%.*s\r\n", command, tube.len != 0 ? " " : "", (int)tube.len,
		   tube.ptr);
	rc = control_send(c, buf_str(&request), ret_reply, error);
	buf_done(&request);
	return rc;
}

int beanstalk_use(struct control *c, struct qless_str tube, struct buf *error)
{
	struct reply reply;

	if (call(c, "use", tube, &reply, error) < 0 || call(c, "watch", tube, &reply, error) < 0)
		return -1;
	return call(c, "ignore", STR("default"), &reply, error);
}

/* The value of "\nname: " in the lists of beanstalkd, or an empty one. */
static struct qless_str find_value(struct qless_str list, const char *name)
{
	char mark[64];
	size_t len = (size_t)snprintf(mark, sizeof mark, "\n%s: ", name);
	const char *at = memmem(list.ptr, list.len, mark, len), *end;

	if (at == NULL)
		return STR("");
	at += len;
	end = memchr(at, '\n', list.len - (size_t)(at - list.ptr));
	return end != NULL ? str_make(at, (size_t)(end - at)) : STR("");
}

static int64_t find_count(struct qless_str list, const char *name)
{
	uint64_t value;

	return num_parse_u64(find_value(list, name), 0, INT64_MAX, &value) ? (int64_t)value : 0;
}

int beanstalk_identify(struct control *c, struct figures_server *ret_server, struct buf *error)
{
	struct qless_str version;
	struct reply stats;

	*ret_server = (struct figures_server){ 0 };
	if (call(c, "stats", STR(""), &stats, error) < 0)
		return -1;
	version = find_value(stats.text, "version");
	snprintf(ret_server->name, sizeof ret_server->name, "beanstalkd %.*s", (int)version.len,
		 version.ptr);
	if (c->is_local &&
	    figures_is_running_here((pid_t)find_count(stats.text, "pid"), STR("beanstalkd")))
		ret_server->pid = (pid_t)find_count(stats.text, "pid");
	return 0;
}

int beanstalk_count(struct control *c, struct qless_str tube, int64_t *ret_waiting,
		    int64_t *ret_running, struct buf *error)
{
	struct reply stats;

	if (call(c, "stats-tube", tube, &stats, error) < 0)
		return -1;
	*ret_waiting = find_count(stats.text, "current-jobs-ready");
	*ret_running = find_count(stats.text, "current-jobs-reserved");
	return 0;
}
