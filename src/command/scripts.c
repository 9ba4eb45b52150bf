#include "command/scripts.h"

#include <openssl/sha.h>
#include <string.h>

#include "util/container.h"
#include "util/hex.h"
#include "util/mem.h"

struct scripts {
	struct scripts_hooks hooks;
	struct hash by_sha;
	const struct script *last; /* found last; most servers use only one */
};

static struct script *script_of(const struct hash_node *node)
{
	return container_of(node, struct script, node);
}

static struct qless_str key_of(const struct hash_node *node)
{
	return script_sha(script_of(node));
}

struct scripts *scripts_new(uint64_t hash_seed, const struct scripts_hooks *hooks)
{
	struct scripts *s = mem_zalloc(sizeof *s);

	if (hooks != NULL)
		s->hooks = *hooks;
	hash_init(&s->by_sha, key_of, hash_seed);
	return s;
}

static void free_all(struct scripts *s)
{
	struct hash_node *node;

	while ((node = hash_take(&s->by_sha)) != NULL)
		free(script_of(node));
	s->last = NULL;
}

void scripts_free(struct scripts *s)
{
	if (s == NULL)
		return;
	free_all(s);
	hash_done(&s->by_sha);
	free(s);
}

void scripts_compute_sha(struct qless_str text, char ret_sha[SCRIPT_SHA_BYTES])
{
	unsigned char hash[SHA_DIGEST_LENGTH];

	SHA1((const unsigned char *)text.ptr, text.len, hash);
	hex_write(ret_sha, hash, sizeof hash);
}

/* Converts to lower case. Returns false if it is not a SHA-1 in hexadecimal. */
static bool fold_sha(struct qless_str sha, char ret_sha[SCRIPT_SHA_BYTES])
{
	if (sha.len != SCRIPT_SHA_BYTES)
		return false;
	for (size_t i = 0; i < SCRIPT_SHA_BYTES; i++) {
		char c = sha.ptr[i];

		if (c >= 'A' && c <= 'F')
			c = (char)(c + 'a' - 'A');
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		ret_sha[i] = c;
	}
	return true;
}

const struct script *scripts_find(struct scripts *s, struct qless_str sha)
{
	char folded[SCRIPT_SHA_BYTES];
	struct hash_node *node;

	/* With a constant length the compiler compares without a call. */
	if (s->last != NULL && sha.len == SCRIPT_SHA_BYTES &&
	    memcmp(sha.ptr, s->last->sha, SCRIPT_SHA_BYTES) == 0)
		return s->last;
	if (!fold_sha(sha, folded))
		return NULL;
	node = hash_find(&s->by_sha, str_make(folded, sizeof folded));
	if (node == NULL)
		return NULL;
	s->last = script_of(node);
	return s->last;
}

static struct script *make_script(const struct dialect *dialect, const struct qless_str *options,
				  size_t option_count)
{
	struct script *script;
	size_t bytes = 0;
	char *to;

	for (size_t i = 0; i < option_count; i++)
		bytes += options[i].len;
	script = mem_zalloc(sizeof *script + bytes);
	script->dialect = dialect;
	script->option_count = option_count;
	to = script->text;
	for (size_t i = 0; i < option_count; i++) {
		script->options[i] = str_make(to, options[i].len);
		if (options[i].len > 0)
			memcpy(to, options[i].ptr, options[i].len);
		to += options[i].len;
	}
	return script;
}

const struct script *scripts_add(struct scripts *s, struct qless_str sha,
				 const struct dialect *dialect, const struct qless_str *options,
				 size_t option_count)
{
	const struct script *found = scripts_find(s, sha);
	char folded[SCRIPT_SHA_BYTES];
	struct script *script;

	if (found != NULL)
		return found;
	if (hash_count(&s->by_sha) >= SCRIPTS_MAX || !fold_sha(sha, folded))
		return NULL;
	script = make_script(dialect, options,
			     option_count < SCRIPT_OPTIONS_MAX ? option_count : SCRIPT_OPTIONS_MAX);
	memcpy(script->sha, folded, sizeof folded);
	hash_insert(&s->by_sha, &script->node);
	if (s->hooks.added != NULL)
		s->hooks.added(s->hooks.arg, script);
	return script;
}

void scripts_clear(struct scripts *s)
{
	free_all(s);
	if (s->hooks.cleared != NULL)
		s->hooks.cleared(s->hooks.arg);
}

size_t scripts_count(const struct scripts *s)
{
	return hash_count(&s->by_sha);
}

void scripts_each(const struct scripts *s, void (*visit)(void *arg, const struct script *script),
		  void *arg)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &s->by_sha)
		visit(arg, script_of(node));
}
