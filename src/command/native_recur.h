/*
 * Schedules of recurring jobs: what RECUR and RECUR.UPDATE take in the native form.
 */
#ifndef COMMAND_NATIVE_RECUR_H
#define COMMAND_NATIVE_RECUR_H

#include "command/request.h"

/* Index of the options of RECUR with a cron expression: queue jid klass data cron expression */
#define NATIVE_RECUR_CRON_OPTIONS 6

/* Whether the arguments of a native RECUR have a cron expression. */
bool native_recur_has_cron(const struct qless_str *args, size_t nargs);

/* The options of a schedule; NULL if the client did not send one. */
struct native_schedule {
	const struct qless_str *zone;
	const struct qless_str *missed;
	const struct qless_str *overlap;
};

/* Read a schedule. The result is valid until the end of the request. Returns 0, or the code of
 * request_fail(). */
int native_schedule_read(struct request *req, struct qless_str cron,
			 const struct native_schedule *options,
			 const struct qless_schedule **ret_schedule);

/* Fill in a change of the schedule from its text. QLESS_RECUR_ZONE leaves the rule of the zone in
 * *ret_rule, for a second change; it stays valid until the end of the request. */
int native_schedule_change(struct request *req, struct qless_recur_change *change,
			   struct qless_str *ret_rule);

#endif
