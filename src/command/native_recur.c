#include "command/native_recur.h"

#include <assert.h>
#include <stdlib.h>

#include "calendar/cron.h"
#include "calendar/zone.h"
#include "command/classic_int.h"
#include "util/json.h"
#include "util/mem.h"

bool native_recur_has_cron(const struct qless_str *args, size_t nargs)
{
	return nargs >= NATIVE_RECUR_CRON_OPTIONS && str_equal_nocase(args[4], STR("cron"));
}

/* ---- values ---- */

static int check_cron(struct request *req, struct qless_str text)
{
	struct buf why = BUF_INIT(BUF_NO_MAX);
	struct cron cron;
	int rc = 0;

	if (!cron_parse(text, &cron, &why))
		rc = request_fail(req, QLESS_EBADARG, "%S", buf_str(&why));
	buf_done(&why);
	return rc;
}

static int find_missed(struct request *req, struct qless_str text, unsigned *ret_missed)
{
	for (unsigned missed = 0; missed <= QLESS_MISSED_ALL; missed++) {
		if (str_equal_nocase(text, qless_missed_text(missed))) {
			*ret_missed = missed;
			return 0;
		}
	}
	return request_fail(req, QLESS_EBADARG,
			    "missed must be \"skip\", \"one\" or \"all\"; found \"%S\"", text);
}

static int find_overlap(struct request *req, struct qless_str text, unsigned *ret_overlap)
{
	for (unsigned overlap = 0; overlap <= QLESS_OVERLAP_SKIP; overlap++) {
		if (str_equal_nocase(text, qless_overlap_text(overlap))) {
			*ret_overlap = overlap;
			return 0;
		}
	}
	return request_fail(req, QLESS_EBADARG,
			    "overlap must be \"allow\" or \"skip\"; found \"%S\"", text);
}

/* Find the rule of a zone. It stays valid until the end of the request. */
static int find_rule(struct request *req, struct qless_str zone, struct qless_str *ret_rule)
{
	struct buf why = BUF_INIT(BUF_NO_MAX);
	struct decoded *lists = request_lists(req);
	int rc = 0;

	/* A request reads one zone. */
	assert(lists->rule.mem == NULL);
	buf_init(&lists->rule, ZONE_RULE_MAX);
	if (!zone_is_name(zone))
		rc = request_fail(req, QLESS_EBADARG,
				  "tz must be the name of a time zone such as Europe/Berlin; "
				  "found \"%S\"",
				  zone);
	else if (req->env->find_zone == NULL)
		rc = request_fail(req, QLESS_EBADARG, "There are no time zones here");
	else if (!req->env->find_zone(req->env->arg, zone, req->now, &lists->rule, &why))
		rc = request_fail(req, QLESS_EBADARG, "tz cannot be \"%S\": %S", zone,
				  buf_str(&why));
	*ret_rule = buf_str(&lists->rule);
	buf_done(&why);
	return rc;
}

/* ---- RECUR ---- */

int native_schedule_read(struct request *req, struct qless_str cron,
			 const struct native_schedule *options,
			 const struct qless_schedule **ret_schedule)
{
	struct qless_schedule *schedule = &request_lists(req)->schedule;
	unsigned missed = QLESS_MISSED_ONE, overlap = QLESS_OVERLAP_ALLOW;
	int rc = check_cron(req, cron);

	*schedule =
		(struct qless_schedule){ .cron = cron, .zone = STR("UTC"), .rule = STR("UTC0") };
	if (rc == 0 && options->missed != NULL)
		rc = find_missed(req, *options->missed, &missed);
	if (rc == 0 && options->overlap != NULL)
		rc = find_overlap(req, *options->overlap, &overlap);
	if (rc == 0 && options->zone != NULL) {
		schedule->zone = *options->zone;
		rc = find_rule(req, schedule->zone, &schedule->rule);
	}
	schedule->missed = missed;
	schedule->overlap = overlap;
	*ret_schedule = schedule;
	return rc;
}

/* ---- RECUR.UPDATE ---- */

int native_schedule_change(struct request *req, struct qless_recur_change *change,
			   struct qless_str *ret_rule)
{
	unsigned choice = 0;
	int rc = 0;

	switch (change->field) {
	case QLESS_RECUR_CRON:
		return check_cron(req, change->text);
	case QLESS_RECUR_ZONE:
		return find_rule(req, change->text, ret_rule);
	case QLESS_RECUR_MISSED:
		rc = find_missed(req, change->text, &choice);
		break;
	default:
		rc = find_overlap(req, change->text, &choice);
		break;
	}
	change->number = choice;
	return rc;
}

/* ---- RECUR.NEXT ---- */

/* Times that RECUR.NEXT shows, unless the client asks for another number, and at most. */
#define TIMES_SHOWN 5
#define TIMES_MAX   1000

int native_recur_next(struct request *req)
{
	const struct qless_recur *recur;
	double count = TIMES_SHOWN, *times;
	struct buf *json;
	size_t found, begin;

	if (req->nargs > 1 && (!request_reads_number(req, req->args[1], &count) ||
			       !(count >= 1 && count <= TIMES_MAX) || count != (double)(int)count))
		return request_fail(req, QLESS_EBADARG,
				    "count must be a whole number from 1 to %g; found \"%S\"",
				    (double)TIMES_MAX, req->args[1]);
	recur = qless_recur_get(req->engine, req->args[0]);
	if (recur == NULL)
		return answer_null(req);
	times = mem_realloc_array(NULL, (size_t)count, sizeof *times);
	found = qless_recur_times(recur, req->now, times, (size_t)count);
	json = request_json_buf(req);
	begin = json_begin_list(json);
	for (size_t i = 0; i < found; i++) {
		json_next_item(json, begin);
		json_append_number(json, times[i]);
	}
	json_end_list(json, begin, req->style->whole);
	free(times);
	return answer_json(req);
}
