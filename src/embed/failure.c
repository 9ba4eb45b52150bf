#include "embed/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int failure_set(struct qless_store_error *error, int code, const char *format, ...)
{
	va_list args;

	if (error == NULL)
		return code;
	*error = (struct qless_store_error){ .code = code,
					     .may_have_run = code == QLESS_STORE_ELOST };
	va_start(args, format);
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	return code;
}

static void copy(char *to, size_t size, struct qless_str from)
{
	size_t len = from.len < size ? from.len : size - 1;

	memcpy(to, from.ptr, len);
	to[len] = '\0';
}

int failure_refused(struct qless_store_error *error, const struct client_reply *reply)
{
	struct qless_str text = client_reply_str(reply);
	const char *blank = memchr(text.ptr, ' ', text.len);
	size_t word = blank != NULL ? (size_t)(blank - text.ptr) : text.len;

	if (error == NULL)
		return QLESS_STORE_EREFUSED;
	*error = (struct qless_store_error){ .code = QLESS_STORE_EREFUSED };
	copy(error->word, sizeof error->word, str_make(text.ptr, word));
	word += blank != NULL;
	copy(error->text, sizeof error->text, str_make(text.ptr + word, text.len - word));
	return QLESS_STORE_EREFUSED;
}

int failure_none(struct qless_store_error *error, int result)
{
	if (error != NULL)
		*error = (struct qless_store_error){ 0 };
	return result;
}
