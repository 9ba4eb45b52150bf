#include "server/console.h"

#include <string.h>

#include "console/files.h"
#include "server/http_answer.h"

#define CONSOLE_ROOT "/console/"

/* Scripts, styles and requests of this server only. Nothing inline, and no page around this one. */
static const struct qless_str policy =
	STR_INIT("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
		 "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'");

bool console_has(const struct http_target *target)
{
	struct qless_str root = STR(CONSOLE_ROOT);

	return str_equal(target->path, STR("/")) ||
	       (target->path.len > root.len && memcmp(target->path.ptr, root.ptr, root.len) == 0);
}

/*
 * Lists in header fields
 */

/* Takes the first item of a list whose items are separated by commas. Returns false at its end. */
static bool take_item(struct qless_str *list, struct qless_str *ret)
{
	const char *end;

	while (list->len != 0 && (*list->ptr == ' ' || *list->ptr == '\t' || *list->ptr == ',')) {
		list->ptr++;
		list->len--;
	}
	if (list->len == 0)
		return false;
	end = memchr(list->ptr, ',', list->len);
	*ret = str_make(list->ptr, end != NULL ? (size_t)(end - list->ptr) : list->len);
	list->ptr += ret->len;
	list->len -= ret->len;
	while (ret->len != 0 && (ret->ptr[ret->len - 1] == ' ' || ret->ptr[ret->len - 1] == '\t'))
		ret->len--;
	return true;
}

/* Returns whether the parameters of an encoding refuse it: ";q=0", ";q=0.0". */
static bool is_refused(struct qless_str parameters)
{
	const char *q = parameters.len != 0 ? memchr(parameters.ptr, '=', parameters.len) : NULL;

	if (q == NULL)
		return false;
	for (const char *at = q + 1; at < parameters.ptr + parameters.len; at++)
		if (*at != '0' && *at != '.')
			return false;
	return true;
}

static bool accepts_gzip(struct qless_str list)
{
	struct qless_str item;

	while (take_item(&list, &item)) {
		const char *semicolon = memchr(item.ptr, ';', item.len);
		size_t len = semicolon != NULL ? (size_t)(semicolon - item.ptr) : item.len;
		struct qless_str parameters = str_make(item.ptr + len, item.len - len);

		while (len != 0 && item.ptr[len - 1] == ' ')
			len--;
		if (str_equal_nocase(str_make(item.ptr, len), STR("gzip")))
			return !is_refused(parameters);
	}
	return false;
}

/* Returns whether the browser has the file. */
static bool is_known(struct qless_str list, struct qless_str tag)
{
	struct qless_str item;

	while (take_item(&list, &item))
		if (str_equal(item, tag) || str_equal(item, STR("*")))
			return true;
	return false;
}

/*
 * Answers
 */

static void add_security_fields(struct conn *c)
{
	http_reply_field(c, STR("Content-Security-Policy"), policy);
	http_reply_field(c, STR("X-Frame-Options"), STR("DENY"));
	http_reply_field(c, STR("Cross-Origin-Opener-Policy"), STR("same-origin"));
	http_reply_field(c, STR("Cross-Origin-Resource-Policy"), STR("same-origin"));
}

static void reply_file(struct conn *c, const struct http_request *r,
		       const struct console_file *file)
{
	bool is_page = file->path.len == 1;

	add_security_fields(c);
	http_reply_field(c, STR("ETag"), file->tag);
	http_reply_field(c, STR("Vary"), STR("Accept-Encoding"));
	/* The path of any other file changes with its content. */
	http_reply_field(c, STR("Cache-Control"),
			 is_page ? STR("no-cache") : STR("max-age=31536000, immutable"));
	if (is_known(r->fields[HTTP_FIELD_IF_NONE_MATCH], file->tag)) {
		http_reply_end(c, 304, STR(""));
		return;
	}
	if (accepts_gzip(r->fields[HTTP_FIELD_ACCEPT_ENCODING])) {
		http_reply_field(c, STR("Content-Encoding"), STR("gzip"));
		chain_append_str(http_reply(c), file->packed);
	} else {
		chain_append_str(http_reply(c), file->plain);
	}
	http_reply_end(c, 200, file->type);
}

void console_run(struct conn *c, const struct http_request *r)
{
	const struct console_file *file = console_find(r->target.path);

	if (file == NULL) {
		add_security_fields(c);
		http_refuse(c, 404, "NOTFOUND",
			    "the console has no such file; reload the page at /");
	} else if (r->method != HTTP_METHOD_GET && r->method != HTTP_METHOD_HEAD) {
		http_reply_field(c, STR("Allow"), STR("GET, HEAD"));
		http_refuse(c, 405, "METHOD", "files of the console can only be read: GET, HEAD");
	} else {
		reply_file(c, r, file);
	}
}
