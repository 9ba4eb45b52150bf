/*
 * LIMIT.SET, LIMIT.GET, LIMIT.DELETE and LIMIT.HOLD.
 */
#include "command/classic_int.h"

#include <math.h>

#include "command/limit_names.h"
#include "command/limit_reply.h"
#include "command/options.h"
#include "util/num.h"

/* The largest number of jobs at the same time, in a period, or in a burst. */
#define JOBS_MAX 1e9
/* Seconds: the range of PER, and the longest TTL and hold, which is about 31 years. */
#define PERIOD_MIN  0.001
#define SECONDS_MAX 1e9
/* The range of WEIGHT. */
#define WEIGHT_MIN 0.001
#define WEIGHT_MAX 1e6

/* ---- numbers ---- */

static int parse_whole(struct request *req, const char *option, struct qless_str text, double min,
		       double *ret_number)
{
	double number;

	if (num_parse_decimal(text, &number) && number == floor(number) && number >= min &&
	    number <= JOBS_MAX) {
		*ret_number = number + 0.0; /* not -0 */
		return 0;
	}
	return request_fail(req, QLESS_EBADARG,
			    "%s must be a whole number from %g to %g; found \"%S\"", option, min,
			    JOBS_MAX, text);
}

/* `unit` is a text such as " of seconds". */
static int parse_number(struct request *req, const char *option, const char *unit,
			struct qless_str text, double min, double max, double *ret_number)
{
	double number;

	if (num_parse_decimal(text, &number) && number >= min && number <= max) {
		*ret_number = number + 0.0;
		return 0;
	}
	return request_fail(req, QLESS_EBADARG, "%s must be a number%s from %g to %g; found \"%S\"",
			    option, unit, min, max, text);
}

/* ---- LIMIT.SET ---- */

/* The options as the client sent them; NULL if it did not. */
struct limit_options {
	const struct qless_str *concurrency;
	const struct qless_str *rate;
	const struct qless_str *per;
	const struct qless_str *burst;
	const struct qless_str *weight;
	const struct qless_str *ttl;
};

static int read_options(struct request *req, struct limit_options *ret)
{
	const struct option_slot slots[] = {
		{ STR_INIT("CONCURRENCY"), &ret->concurrency, 1 },
		{ STR_INIT("RATE"), &ret->rate, 1 },
		{ STR_INIT("PER"), &ret->per, 1 },
		{ STR_INIT("BURST"), &ret->burst, 1 },
		{ STR_INIT("WEIGHT"), &ret->weight, 1 },
		{ STR_INIT("TTL"), &ret->ttl, 1 },
	};

	*ret = (struct limit_options){ NULL, NULL, NULL, NULL, NULL, NULL };
	return options_read(req, 1, req->nargs, slots, sizeof slots / sizeof *slots);
}

static int need_option(struct request *req, const char *option, const char *needed)
{
	return request_fail(req, QLESS_EBADARG, "Option \"%s\" needs the option \"%s\"", option,
			    needed);
}

/* A rate of 0 is none, and has no period. */
static int parse_rate(struct request *req, const struct limit_options *options,
		      struct qless_limit_change *change)
{
	int rc;

	if (options->rate == NULL && options->per != NULL)
		return need_option(req, "PER", "RATE");
	if (options->rate == NULL && options->burst != NULL)
		return need_option(req, "BURST", "RATE");
	if (options->rate == NULL)
		return 0;
	rc = parse_whole(req, "RATE", *options->rate, 0, &change->rate);
	if (rc == 0 && change->rate != 0 && options->per == NULL)
		rc = need_option(req, "RATE", "PER");
	if (rc == 0 && options->per != NULL)
		rc = parse_number(req, "PER", " of seconds", *options->per, PERIOD_MIN, SECONDS_MAX,
				  &change->per);
	if (rc == 0 && options->burst != NULL)
		rc = parse_whole(req, "BURST", *options->burst, 1, &change->burst);
	change->has_rate = true;
	change->has_burst = options->burst != NULL;
	return rc;
}

static int parse_change(struct request *req, const struct limit_options *options,
			struct qless_limit_change *change)
{
	double concurrency = 0;
	int rc = 0;

	if (options->concurrency != NULL)
		rc = parse_whole(req, "CONCURRENCY", *options->concurrency, 0, &concurrency);
	if (rc == 0)
		rc = parse_rate(req, options, change);
	if (rc == 0 && options->weight != NULL)
		rc = parse_number(req, "WEIGHT", "", *options->weight, WEIGHT_MIN, WEIGHT_MAX,
				  &change->weight);
	if (rc == 0 && options->ttl != NULL)
		rc = parse_number(req, "TTL", " of seconds", *options->ttl, 0, SECONDS_MAX,
				  &change->ttl);
	change->has_concurrency = options->concurrency != NULL;
	change->concurrency = (int64_t)concurrency;
	change->has_weight = options->weight != NULL;
	change->has_ttl = options->ttl != NULL;
	return rc;
}

int decode_limit_set(struct request *req, struct operation *op)
{
	struct limit_options options;
	int rc = limit_check_argument(req, req->args[0], true);

	op->kind = OPERATION_LIMIT_SET;
	op->limit_set = (struct qless_limit_change){ .name = req->args[0] };
	if (rc == 0 && !request_has(req, 1))
		rc = request_fail(req, QLESS_EBADARG,
				  "An option is missing: CONCURRENCY, RATE, WEIGHT or TTL");
	if (rc == 0)
		rc = read_options(req, &options);
	return rc < 0 ? rc : parse_change(req, &options, &op->limit_set);
}

static int answer_ok(struct request *req, const struct operation *op,
		     const struct operation_outcome *outcome)
{
	(void)op;
	(void)outcome;
	reply_ok(req->reply);
	return 0;
}

int native_limit_set(struct request *req)
{
	return request_operation(req, decode_limit_set, answer_ok);
}

/* ---- LIMIT.DELETE and LIMIT.HOLD ---- */

int decode_limit_delete(struct request *req, struct operation *op)
{
	op->kind = OPERATION_LIMIT_DELETE;
	op->limit_name = req->args[0];
	return limit_check_argument(req, req->args[0], true);
}

static int answer_deleted(struct request *req, const struct operation *op,
			  const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(req, outcome->flag ? 1 : 0);
}

int native_limit_delete(struct request *req)
{
	return request_operation(req, decode_limit_delete, answer_deleted);
}

int decode_limit_hold(struct request *req, struct operation *op)
{
	int rc = limit_check_argument(req, req->args[0], false);

	op->kind = OPERATION_LIMIT_HOLD;
	op->limit_hold.name = req->args[0];
	op->limit_hold.seconds = 0;
	if (rc == 0)
		rc = parse_number(req, "seconds", "", req->args[1], 0, SECONDS_MAX,
				  &op->limit_hold.seconds);
	return rc;
}

int native_limit_hold(struct request *req)
{
	return request_operation(req, decode_limit_hold, answer_ok);
}

/* ---- LIMIT.GET ---- */

int native_limit_get(struct request *req)
{
	struct qless_limit_info info;
	int rc = limit_check_argument(req, req->args[0], true);

	if (rc < 0)
		return rc;
	if (!qless_limit_get(req->engine, req->now, req->args[0], &info))
		return answer_null(req);
	limit_reply_whole(req, &info);
	return 0;
}
