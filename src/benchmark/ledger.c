#include "benchmark/ledger.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "util/hex.h"
#include "util/mem.h"

#define WORD_BITS  64
#define HALF_BYTES (LEDGER_JID_BYTES / 2)

void ledger_init(struct ledger *l, uint64_t seed)
{
	*l = (struct ledger){ .seed = ledger_mix(seed) };
}

void ledger_done(struct ledger *l)
{
	free(l->popped);
	*l = (struct ledger){ 0 };
}

uint64_t ledger_mix(uint64_t number)
{
	number += 0x9e3779b97f4a7c15U;
	number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
	number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
	return number ^ (number >> 31);
}

static void write_number(uint64_t number, char to[HALF_BYTES])
{
	uint64_t bytes = htobe64(number);

	hex_write(to, &bytes, sizeof bytes);
}

static bool read_number(const char from[HALF_BYTES], uint64_t *ret_number)
{
	uint64_t bytes;

	if (!hex_read(&bytes, from, sizeof bytes))
		return false;
	*ret_number = be64toh(bytes);
	return true;
}

void ledger_write_jid(const struct ledger *l, uint64_t number, char to[LEDGER_JID_BYTES])
{
	write_number(ledger_mix(l->seed ^ number), to);
	write_number(number, to + HALF_BYTES);
}

bool ledger_find(const struct ledger *l, struct qless_str jid, uint64_t *ret_number)
{
	uint64_t hash, number;

	if (jid.len != LEDGER_JID_BYTES || !read_number(jid.ptr, &hash) ||
	    !read_number(jid.ptr + HALF_BYTES, &number) || number >= l->next ||
	    hash != ledger_mix(l->seed ^ number))
		return false;
	*ret_number = number;
	return true;
}

static uint64_t *word_of(struct ledger *l, uint64_t number)
{
	size_t word = (size_t)(number / WORD_BITS);

	if (word >= l->words) {
		size_t words = l->words;

		l->popped = mem_grow(l->popped, &l->words, word + 1, sizeof(*l->popped));
		memset(l->popped + words, 0, (l->words - words) * sizeof(*l->popped));
	}
	return &l->popped[word];
}

enum ledger_result ledger_pop(struct ledger *l, struct qless_str jid)
{
	uint64_t number, bit, *word;

	if (!ledger_find(l, jid, &number))
		return LEDGER_UNKNOWN;
	word = word_of(l, number);
	bit = (uint64_t)1 << (number % WORD_BITS);
	if ((*word & bit) != 0)
		return LEDGER_TWICE;
	*word |= bit;
	l->waiting--;
	l->running++;
	return LEDGER_GOOD;
}

void ledger_give_back(struct ledger *l, struct qless_str jid)
{
	uint64_t number;

	if (!ledger_find(l, jid, &number))
		return;
	*word_of(l, number) &= ~((uint64_t)1 << (number % WORD_BITS));
	l->running--;
	l->waiting++;
}
