#include "server/info.h"

#include <sys/resource.h>
#include <unistd.h>

#include "command/scripts.h"
#include "command/databases.h"
#include "command/table.h"
#include "server/histogram.h"
#include "server/latency.h"
#include "server/listen.h"
#include "server/names.h"
#include "server/persist.h"
#include "server/pubsub.h"
#include "server/slowlog.h"
#include "server/tls.h"
#include "server/tls_session.h"
#include "sys/log.h"
#include "sys/memory.h"
#include "sys/process.h"

#define SECONDS_PER_DAY 86400

typedef void info_section_fn(struct server *s, struct buf *out);

/* A size for people: "1.50M". */
static void append_human(struct buf *out, const char *name, uint64_t bytes)
{
	static const char units[] = "BKMGTP";
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 5) {
		value /= 1024;
		unit++;
	}
	if (unit == 0)
		buf_printf(out, "%s:%lluB\r\n", name, (unsigned long long)bytes);
	else
		buf_printf(out, "%s:%.2f%c\r\n", name, value, units[unit]);
}

static void append_count(struct buf *out, const char *name, uint64_t value)
{
	buf_printf(out, "%s:%llu\r\n", name, (unsigned long long)value);
}

static void append_ratio(struct buf *out, const char *name, size_t above, size_t below)
{
	buf_printf(out, "%s:%.2f\r\n", name, below != 0 ? (double)above / (double)below : 0.0);
}

static void section_server(struct server *s, struct buf *out)
{
	int64_t uptime_s = (s->mono_us - s->started_mono_us) / 1000000;
	static const char *const supervised[] = {
		[CONFIG_SUPERVISED_NO] = "no",
		[CONFIG_SUPERVISED_SYSTEMD] = "systemd",
		[CONFIG_SUPERVISED_AUTO] = "auto",
	};
	struct process_info process;
	struct buf where = BUF_INIT(BUF_NO_MAX);

	process_info_read(&process);
	server_describe_listeners(s, &where);
	buf_printf(out, "redis_version:%s\r\n", REDIS_COMPATIBLE_VERSION);
	buf_printf(out, "qlessd_version:%s\r\n", QLESSD_VERSION);
	buf_printf(out, "redis_mode:standalone\r\n");
	buf_printf(out, "os:%s\r\n", process.os);
	buf_printf(out, "arch_bits:%d\r\n", process.bits);
	buf_printf(out, "multiplexing_api:%s\r\n", event_base_get_method(s->base));
	buf_printf(out, "libevent_version:%s\r\n", event_get_version());
	buf_printf(out, "gcc_version:%s\r\n", __VERSION__);
	buf_printf(out, "process_id:%lld\r\n", (long long)process.pid);
	buf_printf(out, "process_supervised:%s\r\n", supervised[s->config->supervised]);
	buf_printf(out, "run_id:%s\r\n", s->run_id);
	buf_printf(out, "tcp_port:%d\r\n", s->config->port);
	buf_printf(out, "listeners:%s\r\n", buf_cstr(&where));
	buf_printf(out, "server_time_usec:%lld\r\n", (long long)s->wall_us);
	buf_printf(out, "uptime_in_seconds:%lld\r\n", (long long)uptime_s);
	buf_printf(out, "uptime_in_days:%lld\r\n", (long long)(uptime_s / SECONDS_PER_DAY));
	buf_printf(out, "executable:%s\r\n", process.executable);
	buf_printf(out, "config_file:%s\r\n", s->config_file != NULL ? s->config_file : "");
	buf_done(&where);
}

static void section_clients(struct server *s, struct buf *out)
{
	size_t pubsub = 0, held = 0, input = 0, output = 0;
	struct conn *c;

	TAILQ_FOREACH(c, &s->conns, all) {
		pubsub += c->session.subscribed;
		held += c->state == CONN_HELD;
		if (c->in.len > input)
			input = c->in.len;
		if (c->out.len > output)
			output = c->out.len;
	}
	append_count(out, "connected_clients", s->conn_count);
	append_count(out, "maxclients", s->client_limit);
	append_count(out, "peak_clients", s->stats.peak_clients);
	append_count(out, "client_max_input_buffer", input);
	append_count(out, "client_max_output_buffer", output);
	append_count(out, "blocked_clients", held);
	append_count(out, "pubsub_clients", pubsub);
	buf_printf(out, "client_clock_skew_max_seconds:%.14g\r\n", s->stats.max_clock_skew_s);
}

static void section_tls(struct server *s, struct buf *out)
{
	size_t clients = 0;
	struct conn *c;

	TAILQ_FOREACH(c, &s->conns, all)
		clients += tls_session_version(&c->transport) != NULL;
	append_count(out, "tls_port", s->tls != NULL ? (uint64_t)s->config->tls_port : 0);
	append_count(out, "tls_clients", clients);
	append_count(out, "tls_handshakes", s->stats.tls_handshakes);
	append_count(out, "tls_handshakes_resumed", s->stats.tls_resumed);
	append_count(out, "tls_handshake_failures", s->stats.tls_failures);
	buf_printf(out, "tls_certificate_expires_unix_seconds:%lld\r\n",
		   s->tls != NULL ? (long long)tls_expires_s(s->tls) : 0);
}

static void section_memory(struct server *s, struct buf *out)
{
	size_t machine = memory_of_machine(), peak;
	struct memory_figures m;

	memory_read(&m);
	peak = server_peak_memory(s, m.allocated);
	append_count(out, "used_memory", m.allocated);
	append_human(out, "used_memory_human", m.allocated);
	append_count(out, "used_memory_rss", m.rss);
	append_human(out, "used_memory_rss_human", m.rss);
	append_count(out, "used_memory_peak", peak);
	append_human(out, "used_memory_peak_human", peak);
	append_count(out, "used_memory_startup", s->startup_allocated);
	append_count(out, "allocator_allocated", m.allocated);
	append_count(out, "allocator_active", m.active);
	append_count(out, "allocator_resident", m.resident);
	append_count(out, "allocator_mapped", m.mapped);
	append_count(out, "allocator_retained", m.retained);
	append_count(out, "total_system_memory", machine);
	append_human(out, "total_system_memory_human", machine);
	append_count(out, "maxmemory", 0);
	buf_printf(out, "maxmemory_policy:noeviction\r\n");
	append_count(out, "number_of_cached_scripts", scripts_count(s->env.scripts));
	append_ratio(out, "allocator_frag_ratio", m.active, m.allocated);
	append_ratio(out, "mem_fragmentation_ratio", m.rss, m.allocated);
	buf_printf(out, "mem_allocator:%s\r\n", memory_allocator());
}

static void section_persistence(struct server *s, struct buf *out)
{
	persist_append_info(s, out);
}

static void append_kbps(struct buf *out, const char *name, const struct rate *r)
{
	buf_printf(out, "%s:%.2f\r\n", name, (double)rate_per_second(r) / 1024);
}

static void section_stats(struct server *s, struct buf *out)
{
	const struct server_stats *stats = &s->stats;

	append_count(out, "total_connections_received", stats->connections);
	append_count(out, "total_commands_processed", stats->commands);
	append_count(out, "instantaneous_ops_per_sec", rate_per_second(&s->rate_commands));
	append_count(out, "total_net_input_bytes", stats->bytes_in);
	append_count(out, "total_net_output_bytes", stats->bytes_out);
	append_kbps(out, "instantaneous_input_kbps", &s->rate_in);
	append_kbps(out, "instantaneous_output_kbps", &s->rate_out);
	append_count(out, "rejected_connections", stats->rejected_connections);
	append_count(out, "pubsub_channels", pubsub_channel_count(s->pubsub));
	append_count(out, "pubsub_patterns", pubsub_pattern_count(s->pubsub));
	append_count(out, "total_error_replies", stats->error_replies);
	append_count(out, "total_reads_processed", stats->reads);
	append_count(out, "total_writes_processed", stats->writes);
	append_count(out, "client_query_buffer_limit_disconnections",
		     stats->query_limit_disconnects);
	append_count(out, "client_output_buffer_limit_disconnections",
		     stats->output_limit_disconnects);
	append_count(out, "acl_access_denied_auth", stats->auth_failures);
	append_count(out, "acl_access_denied_cmd", stats->denied_commands);
	append_count(out, "slowlog_len", s->slowlog->count);
	append_count(out, "log_lines_lost", log_lines_lost());
}

static void section_replication(struct server *s, struct buf *out)
{
	(void)s;
	buf_printf(out, "role:master\r\n");
	append_count(out, "connected_slaves", 0);
}

static void append_seconds(struct buf *out, const char *name, int64_t us)
{
	buf_printf(out, "%s:%lld.%06lld\r\n", name, (long long)(us / 1000000),
		   (long long)(us % 1000000));
}

static void section_cpu(struct server *s, struct buf *out)
{
	struct process_usage usage;

	(void)s;
	process_usage_read(&usage);
	append_seconds(out, "used_cpu_sys", usage.system_us);
	append_seconds(out, "used_cpu_user", usage.user_us);
	append_seconds(out, "used_cpu_sys_children", usage.children_system_us);
	append_seconds(out, "used_cpu_user_children", usage.children_user_us);
}

static void section_commandstats(struct server *s, struct buf *out)
{
	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct command_stats *stats = &s->command_stats[i];
		double us = (double)stats->total_ns / 1000;

		if (stats->calls == 0 && stats->rejected == 0)
			continue;
		buf_printf(out,
			   "cmdstat_%s:calls=%llu,usec=%.0f,usec_per_call=%.2f,rejected_calls=%llu,"
			   "failed_calls=%llu\r\n",
			   command_table_row(s->table, i)->name, (unsigned long long)stats->calls,
			   us, stats->calls != 0 ? us / (double)stats->calls : 0,
			   (unsigned long long)stats->rejected, (unsigned long long)stats->failed);
	}
}

static void section_errorstats(struct server *s, struct buf *out)
{
	for (unsigned i = 0; i < s->error_kinds; i++)
		buf_printf(out, "errorstat_%s:count=%llu\r\n", s->errors[i].code,
			   (unsigned long long)s->errors[i].count);
}

static void section_latencystats(struct server *s, struct buf *out)
{
	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct histogram *h = s->command_stats[i].histogram;

		if (h == NULL)
			continue;
		buf_printf(out, "latency_percentiles_usec_%s:p50=%.3f,p99=%.3f,p99.9=%.3f\r\n",
			   command_table_row(s->table, i)->name,
			   (double)histogram_percentile(h, 50) / 1000,
			   (double)histogram_percentile(h, 99) / 1000,
			   (double)histogram_percentile(h, 99.9) / 1000);
	}
}

static void section_cluster(struct server *s, struct buf *out)
{
	(void)s;
	append_count(out, "cluster_enabled", 0);
}

static void section_keyspace(struct server *s, struct buf *out)
{
	const struct databases *databases = s->env.databases;

	for (unsigned i = 0; i < databases_count(databases); i++) {
		size_t count = databases_count_keys(databases, i);

		if (count != 0)
			buf_printf(out, "db%u:keys=%zu,expires=0,avg_ttl=0\r\n", i, count);
	}
}

static const struct info_section {
	const char *name;
	const char *title;
	info_section_fn *append;
	bool in_default;
} sections[] = {
	{ "server", "Server", section_server, true },
	{ "clients", "Clients", section_clients, true },
	{ "tls", "TLS", section_tls, true },
	{ "memory", "Memory", section_memory, true },
	{ "persistence", "Persistence", section_persistence, true },
	{ "stats", "Stats", section_stats, true },
	{ "replication", "Replication", section_replication, true },
	{ "cpu", "CPU", section_cpu, true },
	{ "commandstats", "Commandstats", section_commandstats, false },
	{ "errorstats", "Errorstats", section_errorstats, true },
	{ "latencystats", "Latencystats", section_latencystats, false },
	{ "cluster", "Cluster", section_cluster, true },
	{ "keyspace", "Keyspace", section_keyspace, true },
};
#define SECTION_COUNT (sizeof sections / sizeof sections[0])

static bool is_wanted(const struct info_section *section, const struct qless_str *names, int count)
{
	if (count == 0)
		return section->in_default;
	for (int i = 0; i < count; i++) {
		if (str_equal_nocase(names[i], str_from(section->name)) ||
		    str_equal_nocase(names[i], STR("all")) ||
		    str_equal_nocase(names[i], STR("everything")) ||
		    (section->in_default && str_equal_nocase(names[i], STR("default"))))
			return true;
	}
	return false;
}

void info_append_sections(struct server *s, const struct qless_str *names, int count,
			  struct buf *out)
{
	bool first = true;

	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (!is_wanted(&sections[i], names, count))
			continue;
		buf_printf(out, "%s# %s\r\n", first ? "" : "\r\n", sections[i].title);
		sections[i].append(s, out);
		first = false;
	}
}

void info_report(struct server *s)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str everything = STR("everything"), rest;

	info_append_sections(s, &everything, 1, &text);
	rest = buf_str(&text);
	while (rest.len != 0) {
		const char *end = memchr(rest.ptr, '\r', rest.len);
		size_t len = (size_t)(end - rest.ptr);

		if (len != 0)
			log_notice("state: %.*s", (int)len, rest.ptr);
		rest = str_make(end + 2, rest.len - len - 2);
	}
	buf_done(&text);
}
