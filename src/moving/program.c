#include "moving/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "build_config.h"
#include "moving/view.h"
#include "sys/clock.h"
#include "util/num.h"

#define PROGRESS_US INT64_C(200000)

void program_complain(const struct program *p, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", p->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

double program_seconds(const struct program *p)
{
	return (double)(clock_mono_us() - p->started_us) / 1e6;
}

bool program_parse(const char *text, uint64_t min, uint64_t max, unsigned *ret_value)
{
	uint64_t value;

	if (!num_parse_u64(str_from(text), min, max, &value))
		return false;
	*ret_value = (unsigned)value;
	return true;
}

bool program_set_address(struct peer_options *options, const char *value)
{
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	bool ok = client_settings_set_any(&options->server, value, &ignored);

	buf_done(&ignored);
	return ok;
}

void program_set_password(struct peer_options *options, const char *variable)
{
	char **password = &options->server.password;

	if (*password == NULL)
		client_settings_set_text(password, getenv(variable));
	if (*password != NULL && (*password)[0] == '\0')
		client_settings_set_text(password, NULL);
}

/* ---- progress ---- */

struct reading {
	const struct program *p;
	const char *what;
	uint64_t expected;
	int64_t shown_us;
	struct keys *keys;	     /* for the keys, or */
	const struct keys *original; /* to compare them with */
	uint64_t found;
	uint64_t changed;
};

static void show(const struct reading *r, uint64_t keys, const char *end)
{
	fprintf(stderr, "\r%s: %s %" PRIu64 " of about %" PRIu64 " keys%s", r->p->name, r->what,
		keys, r->expected, end);
	fflush(stderr);
}

static void on_progress(void *arg, uint64_t keys)
{
	struct reading *r = arg;
	int64_t now_us = clock_mono_us();

	if (!r->p->progress || now_us - r->shown_us < PROGRESS_US)
		return;
	r->shown_us = now_us;
	show(r, keys, "");
}

static bool read_all(struct reading *r, struct peer *peer, peer_key_fn *each)
{
	bool done = peer_count_keys(peer, &r->expected) && peer_read(peer, each, on_progress, r);

	if (r->p->progress && r->shown_us != 0)
		show(r, r->found, "\n");
	if (!done)
		program_complain(r->p, "%s", peer_error(peer));
	return done;
}

/* ---- reading ---- */

static void keep(void *arg, struct key *key)
{
	struct reading *r = arg;

	keys_add(r->keys, key);
	r->found++;
}

bool program_read(const struct program *p, struct peer *peer, const char *what, struct keys *keys)
{
	struct reading r = { .p = p, .what = what, .keys = keys };

	return read_all(&r, peer, keep);
}

static void compare(void *arg, struct key *key)
{
	struct reading *r = arg;
	const struct key *before = keys_find(r->original, key->name);

	r->found++;
	if (before == NULL || !key_equal(before, key, NULL))
		r->changed++;
	/* A key that was removed shows in the counts. */
	if (before == NULL)
		r->found--;
	key_free(key);
}

bool program_read_again(const struct program *p, struct peer *peer, const char *what,
			const struct keys *keys, uint64_t *ret_changed)
{
	struct reading r = { .p = p, .what = what, .original = keys };

	if (!read_all(&r, peer, compare))
		return false;
	*ret_changed = r.changed + (keys_count(keys) - r.found);
	return true;
}

bool program_parse_args(const struct program *p, const struct option *options, const char *usage,
			program_set_option *set, void *arg, int argc, char **argv,
			enum program_result *ret_result)
{
	int option, index = 0;

	*ret_result = PROGRAM_TROUBLE;
	while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
		switch (option) {
		case 'v':
			printf("%s %s\n", p->name, QLESSD_VERSION);
			*ret_result = PROGRAM_DONE;
			return false;
		case 'h':
			fputs(usage, stdout);
			*ret_result = PROGRAM_DONE;
			return false;
		case '?':
			fputs(usage, stderr);
			return false;
		default:
			break;
		}
		if (!set(arg, option, optarg)) {
			program_complain(p, "--%s: '%s' is invalid", options[index].name, optarg);
			return false;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return false;
	}
	return true;
}
