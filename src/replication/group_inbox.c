#include "replication/group_inbox.h"

#include <stdlib.h>

#include "replication/frame.h"
#include "replication/group.h"
#include "util/mem.h"

void group_inbox_init(struct group_inbox *inbox)
{
	*inbox = (struct group_inbox){ 0 };
	TAILQ_INIT(&inbox->letters);
}

void group_inbox_done(struct group_inbox *inbox)
{
	struct group_letter *letter;

	while ((letter = group_inbox_take(inbox)) != NULL)
		group_letter_free(letter);
}

void group_letter_free(struct group_letter *letter)
{
	if (letter == NULL)
		return;
	buf_done(&letter->bytes);
	free(letter->members);
	free(letter->entries);
	free(letter->heads);
	free(letter);
}

static bool kind_of(uint8_t type, enum core_kind *ret_kind)
{
	switch (type) {
	case RECORD_OPERATIONS:
		*ret_kind = CORE_OPERATIONS;
		return true;
	case RECORD_BARRIER:
		*ret_kind = CORE_BARRIER;
		return true;
	case RECORD_MEMBERS:
		*ret_kind = CORE_MEMBERS;
		return true;
	default:
		return false;
	}
}

/* Makes heads of the encoded entries. Returns false if they are not what the message says. */
static bool read_entries(struct group_letter *letter)
{
	size_t count = letter->message.entries.count, lists = 0;
	struct qless_str left = buf_str(&letter->bytes);
	struct frame_entry entry;

	letter->heads = mem_realloc_array(NULL, count, sizeof *letter->heads);
	letter->entries = mem_realloc_array(NULL, count, sizeof *letter->entries);
	for (size_t i = 0; i < count; i++) {
		struct core_head *head = &letter->heads[i];

		if (!frame_take_entry(&left, &entry))
			return false;
		letter->entries[i] =
			(struct group_entry){ (enum record_type)entry.kind, entry.payload };
		*head = (struct core_head){ .term = entry.term, .data = &letter->entries[i] };
		if (!kind_of(entry.kind, &head->kind))
			return false;
		lists += head->kind == CORE_MEMBERS;
	}
	letter->members = mem_realloc_array(NULL, lists + 1, sizeof *letter->members);
	for (size_t i = 0, list = 0; i < count; i++) {
		struct qless_str payload = letter->entries[i].payload;

		if (letter->heads[i].kind != CORE_MEMBERS)
			continue;
		if (!members_decode(&letter->members[list], payload.ptr, payload.len))
			return false;
		letter->heads[i].members = &letter->members[list++];
	}
	letter->message.entries.heads = letter->heads;
	return left.len == 0;
}

void group_inbox_put(struct group_inbox *inbox, uint64_t from, const struct core_message *message,
		     struct qless_str entries)
{
	struct group_letter *letter;

	/* An entry may be larger than all that. */
	if (!TAILQ_EMPTY(&inbox->letters) &&
	    inbox->bytes + entries.len + sizeof *letter > GROUP_INBOX_BYTES) {
		inbox->dropped++;
		return;
	}
	letter = mem_zalloc(sizeof *letter);
	letter->from = from;
	letter->message = *message;
	buf_init(&letter->bytes, BUF_NO_MAX);
	buf_append_str(&letter->bytes, entries);
	if (message->kind == CORE_BASE_OFFER) {
		letter->base = *message->offer;
		letter->message.offer = &letter->base;
	}
	if (message->kind == CORE_ENTRIES && message->entries.count > 0 && !read_entries(letter)) {
		inbox->dropped++;
		group_letter_free(letter);
		return;
	}
	inbox->bytes += letter->bytes.len + sizeof *letter;
	TAILQ_INSERT_TAIL(&inbox->letters, letter, link);
}

struct group_letter *group_inbox_take(struct group_inbox *inbox)
{
	struct group_letter *letter = TAILQ_FIRST(&inbox->letters);

	if (letter == NULL)
		return NULL;
	TAILQ_REMOVE(&inbox->letters, letter, link);
	inbox->bytes -= letter->bytes.len + sizeof *letter;
	return letter;
}
