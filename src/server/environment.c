#include "server/environment.h"

#include "calendar/tzif.h"
#include "command/acl.h"
#include "command/databases.h"
#include "command/rotation.h"
#include "command/scripts.h"
#include "command/table.h"
#include "server/acl_log.h"
#include "server/commands.h"
#include "server/hints.h"
#include "server/member.h"
#include "server/persist.h"
#include "server/pubsub.h"
#include "server/push.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "server/users_log.h"
#include "sys/entropy.h"
#include "sys/log.h"
#include "sys/zonefile.h"
#include "util/hex.h"

/*
 * Time
 */

static double native_now(void *arg)
{
	struct server *s = arg;

	return clock_seconds(steady_clock_read_us(&s->clocks.native));
}

static void native_pass(void *arg, double now)
{
	struct server *s = arg;

	steady_clock_pass(&s->clocks.native, clock_from_seconds(now));
}

/*
 * Log lines for the operator
 */

static void warn(void *arg, struct qless_str line)
{
	(void)arg;
	log_warning("%.*s", (int)line.len, line.ptr);
}

/*
 * Whether commands may run
 */

static void tell_conditions(void *arg, struct conditions *ret)
{
	const struct server *s = arg;
	const char *elsewhere = s->member != NULL ? member_refusal(s) : NULL;

	*ret = (struct conditions){
		.pause = s->pause.mode,
		.loading = s->loading,
		.elsewhere = elsewhere,
		.is_copy = elsewhere != NULL && member_has_copy(s),
		.is_full = server_is_out_of_memory(s),
		.is_unsynced = sync_watch_must_hold(s),
	};
}

bool environment_may_change(const struct server *s)
{
	return !s->loading && s->pause.mode == PAUSE_NONE && !sync_watch_must_hold(s) &&
	       persist_refusal((void *)(uintptr_t)s, 0) == NULL;
}

void environment_maintain(struct server *s)
{
	if (environment_may_change(s))
		databases_maintain(s->env.databases);
}

static void begin_group(void *arg)
{
	recording_begin_group(arg);
}

static void end_group(void *arg)
{
	recording_end_group(arg);
}

/*
 * Ids, time zones and random numbers
 */

static void make_jid(void *arg, char to[COMMAND_JID_BYTES])
{
	struct server *s = arg;

	if (s->jids.left == 0) {
		entropy_bytes(s->jids.entropy, sizeof s->jids.entropy);
		s->jids.left = sizeof s->jids.entropy;
	}
	s->jids.left -= COMMAND_JID_BYTES / 2;
	hex_write(to, s->jids.entropy + s->jids.left, COMMAND_JID_BYTES / 2);
}

static bool find_zone(void *arg, struct qless_str name, double now, struct buf *ret_rule,
		      struct buf *ret_error)
{
	struct buf file = BUF_INIT(BUF_NO_MAX);
	struct qless_str rule;
	bool is_found = zonefile_read(name, &file, ret_error) &&
			tzif_find_rule(buf_str(&file), (int64_t)now, &rule, ret_error);

	(void)arg;
	if (is_found)
		buf_append_str(ret_rule, rule);
	buf_done(&file);
	return is_found;
}

static uint64_t random_number(void *arg)
{
	(void)arg;
	return entropy_u64();
}

/*
 * Events and users
 */

static void publish_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	struct server *s = arg;

	if (s->event_streams.is_on && str_equal(channel, STR("ql:log")))
		event_ring_add(&s->event_streams.ring, payload);
	pubsub_publish(s, channel, payload, NULL);
}

static void publish_to_queue(void *arg, struct qless_str queue, struct qless_str payload)
{
	struct server *s = arg;
	struct buf *channel = &s->queue_channel;

	/* The engine has published the event on ql:log just before. */
	if (s->event_streams.is_on)
		event_ring_add_queue(&s->event_streams.ring, queue);
	if (!pubsub_hears_queues(s->pubsub))
		return;
	buf_clear(channel);
	buf_append_str(channel, STR(PUBSUB_QUEUE_PREFIX));
	buf_append_str(channel, queue);
	buf_append_str(channel, STR(":events"));
	pubsub_publish(s, buf_str(channel), payload, NULL);
}

/* Loading repeats commands whose events were published when they ran first. */
static bool has_listeners(void *arg)
{
	const struct server *s = arg;

	return !s->loading && (s->event_streams.is_on || !pubsub_is_empty(s->pubsub));
}

/* End the sessions of a user that is about to be deleted. */
static void on_user_gone(void *arg, const struct user *user)
{
	struct server *s = arg;
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->client.session.user != user)
			continue;
		c->client.session.user = NULL;
		if (&c->client == s->clients.running)
			conn_finish(c);
		else
			conn_kill(c, "its user was deleted");
	}
	submissions_forget_user(s, user);
	http_sessions_forget_user(s, user);
}

/* The rights of the client's user have changed. */
static void check_listener(struct server *s, struct conn *c)
{
	if (!c->client.is_monitor || !acl_limits_keys(c->client.session.user))
		pubsub_check(&c->client);
	else if (&c->client == s->clients.running)
		conn_finish(c);
	else
		conn_kill(c, "its user may no longer receive all commands");
}

static void on_user_changed(void *arg, struct qless_str name)
{
	struct server *s = arg;
	const struct user *user = acl_find(s->env.acl, name);
	struct conn *c, *next;

	users_log_note_change(s, name);
	http_sessions_check(s);
	for (c = TAILQ_FIRST(&s->conns.all); c != NULL && user != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->client.session.user == user)
			check_listener(s, c);
	}
	if (user == NULL)
		return;
	pubsub_check_now(s);
	waitings_check_user(s, user);
	presence_check_user(s, user);
}

/*
 * Birth and death
 */

void environment_init(struct server *s)
{
	struct qless_hooks hooks = {
		.publish = publish_event,
		.publish_to_queue = publish_to_queue,
		.listens = has_listeners,
		.tell_worker = presence_tell,
		.tell_end = awaited_note_end,
		.arg = s,
		.hash_seed = s->hash_seed,
	};
	struct scripts_hooks hooks_of_scripts = recording_scripts_hooks;

	hooks_of_scripts.arg = s;
	scratch_init(&s->command_scratch);
	buf_init(&s->queue_channel, BUF_NO_MAX);
	s->table = commands_new(s->config->replication_port != 0);
	s->env = (struct command_env){
		.table = s->table,
		.user_gone = on_user_gone,
		.user_changed = on_user_changed,
		.denied = acl_log_note_denial,
		.show_denials = acl_log_reply,
		.user_gone_arg = s,
		.databases = databases_new((unsigned)s->config->databases, &hooks),
		.scripts = scripts_new(s->hash_seed, &hooks_of_scripts),
		.rotations = rotations_new(s->hash_seed),
		.scratch = &s->command_scratch,
		.now = native_now,
		.pass = native_pass,
		.now_refusal = clock_watch_refusal,
		.swapped = hints_note_swapped,
		.warn = warn,
		.conditions = tell_conditions,
		.log_refusal = persist_refusal,
		.spread = waiting_spread,
		.start_child = child_work_start,
		.begin_group = begin_group,
		.end_group = end_group,
		.is_next = lines_is_next,
		.wait_for_jobs = lines_wait,
		.wait_for_ends = awaited_begin,
		.presence = &presence_attach_ops,
		.push = &push_ops,
		.make_jid = make_jid,
		.find_zone = find_zone,
		.random = random_number,
		.arg = s,
	};
}

void environment_done(struct server *s)
{
	databases_free(s->env.databases);
	scripts_free(s->env.scripts);
	rotations_free(s->env.rotations);
	scratch_done(&s->command_scratch);
	buf_done(&s->queue_channel);
	acl_free(s->env.acl);
	command_table_free(s->table);
}

void environment_apply_config(struct server *s)
{
	const struct config *config = s->config;

	/* The log may hold values that exceed the current limits, so there are none while it is
	 * loaded, or while another server of the group leads. */
	if (s->member != NULL && !member_leads(s))
		databases_set_limits(s->env.databases, NULL);
	else if (!s->loading)
		databases_set_limits(s->env.databases,
				     &(struct databases_limits){
				     .engine = {
					     .is_strict = true,
					     .max_name_bytes = config->max_name_bytes,
					     .max_data_bytes = config->max_data_bytes,
					     .max_tags = config->max_tags,
					     .max_job_bytes = config->max_job_bytes,
					     .max_dependencies = config->max_dependencies,
					     .max_dependency_steps =
						     config->max_dependency_steps,
					     .max_jobs = config->max_jobs_per_call,
					     .max_dependents = config->max_dependents,
					     .max_limits = config->max_limits_per_job,
					     .max_class_indexes = config->max_class_indexes,
					     .max_result_bytes = config->max_result_bytes,
					     .max_note_bytes = config->max_note_bytes,
					     .max_meta_fields = config->max_meta_fields,
					     .max_meta_bytes = config->max_meta_bytes,
				     },
				     .max_json_depth = config->max_json_depth,
				     .metered_classes = config->metrics_max_classes,
			     });
	s->env.limits = (struct call_limits){
		.names = config->max_names_per_call,
		.links = config->max_links_per_call,
		.change_bytes = config->max_call_bytes,
		.script_bytes = config->max_script_bytes,
		.pattern_bytes = config->max_pattern_bytes,
		.endpoints = config->max_endpoints,
		.endpoint_bytes = config->max_endpoint_bytes,
		.endpoint_headers = config->max_endpoint_headers,
		.endpoint_concurrency = config->max_endpoint_concurrency,
	};
	s->env.envelope = config->script_error_format == CONFIG_SCRIPT_ERRORS_REDIS6
				  ? SCRIPT_ENVELOPE_REDIS6
				  : SCRIPT_ENVELOPE_REDIS7;
}
