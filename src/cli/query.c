#include "cli/query.h"

#include <stdlib.h>

#include "util/json.h"
#include "util/mem.h"
#include "util/num.h"

void query_done(struct query *q)
{
	for (size_t i = 0; i < q->count; i++)
		free((void *)(uintptr_t)q->words[i].ptr);
	free(q->words);
	*q = (struct query){ .words = NULL };
}

void query_add(struct query *q, struct qless_str word)
{
	q->words = mem_grow(q->words, &q->cap, q->count + 1, sizeof *q->words);
	q->words[q->count++] = str_make(mem_dup(word.ptr, word.len), word.len);
}

void query_text(struct query *q, const char *word)
{
	query_add(q, str_from(word));
}

void query_number(struct query *q, double number)
{
	char text[NUM_MAX];

	query_add(q, str_make(text, num_format_g17(text, number)));
}

void query_words(struct query *q, const char *words)
{
	for (words += strspn(words, " "); *words != '\0'; words += strspn(words, " ")) {
		size_t len = strcspn(words, " ");

		query_add(q, str_make(words, len));
		words += len;
	}
}

void query_list(struct query *q, const char *words)
{
	while (*words != '\0') {
		size_t len = strcspn(words, ",");

		if (len > 0)
			query_add(q, str_make(words, len));
		words += len + (words[len] == ',');
	}
}

void query_json_list(struct query *q, const char *names)
{
	struct buf list = BUF_INIT(BUF_NO_MAX);

	buf_append_char(&list, '[');
	while (*names != '\0') {
		size_t len = strcspn(names, ",");

		if (len > 0) {
			if (list.len > 1)
				buf_append_char(&list, ',');
			json_append_stored_string(&list, str_make(names, len));
		}
		names += len + (names[len] == ',');
	}
	buf_append_char(&list, ']');
	query_add(q, buf_str(&list));
	buf_done(&list);
}
