#include "server/memory_watch.h"

#include "server/server_int.h"
#include "sys/log.h"

size_t memory_watch_peak(struct server *s)
{
	size_t allocated = memory_gauge_read(&s->memory.gauge);

	if (allocated > s->memory.peak_bytes)
		s->memory.peak_bytes = allocated;
	return s->memory.peak_bytes;
}

static void note_limit(struct server *s)
{
	bool is_full;

	/* Spare chunks of output are not worth refusing a job. */
	if (server_is_out_of_memory(s))
		chunk_pool_done(&s->clients.chunks);
	is_full = server_is_out_of_memory(s);
	if (is_full == s->memory.is_full)
		return;
	s->memory.is_full = is_full;
	if (is_full)
		log_warning("memory in use has reached maxmemory, %zu bytes: commands that need "
			    "more are refused until jobs are completed, canceled or purged",
			    s->config->maxmemory_bytes);
	else
		log_notice("memory in use is below maxmemory again");
}

void memory_watch_tick(struct server *s)
{
	memory_gauge_sync(&s->memory.gauge);
	memory_watch_peak(s);
	note_limit(s);
}
