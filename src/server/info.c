#include "server/info.h"

#include <sys/resource.h>
#include <unistd.h>

#include "command/databases.h"
#include "command/scripts.h"
#include "command/table.h"
#include "server/classes.h"
#include "server/figures.h"
#include "server/histogram.h"
#include "server/libraries.h"
#include "server/listen.h"
#include "server/member.h"
#include "server/names.h"
#include "server/persist.h"
#include "server/queues.h"
#include "sys/log.h"
#include "sys/memory.h"
#include "sys/process.h"

#define SECONDS_PER_DAY 86400

typedef void info_section_fn(struct server *s, struct buf *out);

static void section_server(struct server *s, struct buf *out)
{
	int64_t uptime_s = (s->clocks.mono_us - s->clocks.started_mono_us) / 1000000;
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
	buf_printf(out, "uptime_in_days:%lld\r\n", (long long)(uptime_s / SECONDS_PER_DAY));
	buf_printf(out, "executable:%s\r\n", process.executable);
	buf_printf(out, "config_file:%s\r\n",
		   s->reload.source.file != NULL ? s->reload.source.file : "");
	buf_done(&where);
}

static void section_clients(struct server *s, struct buf *out)
{
	struct libraries libraries;

	libraries_count(s, &libraries);
	for (unsigned i = 0; i < libraries.count; i++)
		buf_printf(out, "client_library%u:name=%s,clients=%zu\r\n", i, libraries.of[i].name,
			   libraries.of[i].clients);
}

static void section_memory(struct server *s, struct buf *out)
{
	(void)s;
	buf_printf(out, "maxmemory_policy:noeviction\r\n");
	buf_printf(out, "mem_allocator:%s\r\n", memory_allocator());
}

static void section_persistence(struct server *s, struct buf *out)
{
	persist_append_words(s, out);
}

static void section_replication(struct server *s, struct buf *out)
{
	if (s->member != NULL)
		member_append_info(s, out);
	else
		buf_printf(out, "role:%s\r\n", member_follows(s) ? "slave" : "master");
}

static void section_commandstats(struct server *s, struct buf *out)
{
	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct command_stats *stats = &s->stats.by_command[i];
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
	for (unsigned i = 0; i < s->stats.error_kinds; i++)
		buf_printf(out, "errorstat_%s:count=%llu\r\n", s->stats.errors[i].code,
			   (unsigned long long)s->stats.errors[i].count);
}

static void section_latencystats(struct server *s, struct buf *out)
{
	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct histogram *h = s->stats.by_command[i].histogram;

		if (h == NULL)
			continue;
		buf_printf(out, "latency_percentiles_usec_%s:p50=%.3f,p99=%.3f,p99.9=%.3f\r\n",
			   command_table_row(s->table, i)->name,
			   (double)histogram_percentile(h, 50) / 1000,
			   (double)histogram_percentile(h, 99) / 1000,
			   (double)histogram_percentile(h, 99.9) / 1000);
	}
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

/* A section has the figures of its groups, and lines that are not figures. */
static const struct info_section {
	const char *name;
	const char *title;
	enum figures_group groups[3];
	int group_count;
	info_section_fn *append; /* writes the other lines; NULL: there are none */
	bool in_default;
} sections[] = {
#define GROUPS(n, ...) { __VA_ARGS__ }, n
	{ "server", "Server", GROUPS(1, FIGURES_SERVER), section_server, true },
	{ "clients", "Clients", GROUPS(1, FIGURES_CLIENTS), section_clients, true },
	{ "tls", "TLS", GROUPS(1, FIGURES_TLS), NULL, true },
	{ "memory", "Memory", GROUPS(1, FIGURES_MEMORY), section_memory, true },
	{ "persistence", "Persistence",
	  GROUPS(3, FIGURES_PERSISTENCE, FIGURES_LOADING, FIGURES_LOG), section_persistence, true },
	{ "stats", "Stats", GROUPS(1, FIGURES_STATS), NULL, true },
	{ "replication", "Replication", GROUPS(1, FIGURES_REPLICATION), section_replication, true },
	{ "cpu", "CPU", GROUPS(1, FIGURES_CPU), NULL, true },
	{ "commandstats", "Commandstats", GROUPS(0, 0), section_commandstats, false },
	{ "errorstats", "Errorstats", GROUPS(0, 0), section_errorstats, true },
	{ "latencystats", "Latencystats", GROUPS(0, 0), section_latencystats, false },
	{ "cluster", "Cluster", GROUPS(1, FIGURES_CLUSTER), NULL, true },
	{ "queues", "Queues", GROUPS(1, FIGURES_QUEUES), queues_append_info, true },
	{ "classes", "Classes", GROUPS(0, 0), classes_append_info, false },
	{ "keyspace", "Keyspace", GROUPS(0, 0), section_keyspace, true },
#undef GROUPS
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

bool info_has_queues(const struct qless_str *names, int count)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (sections[i].append == queues_append_info)
			return is_wanted(&sections[i], names, count);
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
		for (int group = 0; group < sections[i].group_count; group++)
			figures_append_info(s, sections[i].groups[group], out);
		if (sections[i].append != NULL)
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
