#include "listing.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

/* Bytes of requests, replies and names that are printed. */
#define TEXT_MAX 160

static const char *const names[TRACE_KINDS] = {
	[TRACE_START] = "start",
	[TRACE_OPEN] = "open",
	[TRACE_WRITE] = "write",
	[TRACE_TRUNCATE] = "truncate",
	[TRACE_SYNC_BEGIN] = "sync begin",
	[TRACE_SYNC_END] = "sync end",
	[TRACE_RENAME] = "rename",
	[TRACE_UNLINK] = "unlink",
	[TRACE_LINK] = "link",
	[TRACE_ACCEPT] = "accept",
	[TRACE_RECEIVE] = "receive",
	[TRACE_SEND] = "send",
	[TRACE_UNKNOWN] = "unknown",
};

static void print_text(const struct trace_event *event)
{
	const unsigned char *text = (const unsigned char *)(event + 1);

	putchar(' ');
	for (uint32_t i = 0; i < event->data_bytes && i < TEXT_MAX; i++)
		putchar(isprint(text[i]) ? text[i] : ' ');
	if (event->data_bytes > TEXT_MAX)
		printf("... (%" PRIu32 " bytes)", event->data_bytes);
}

void listing_print(const struct trace_event *event, uint64_t at, uint64_t began_us)
{
	printf("%10" PRIu64 " %9.3f ms %-10s %4" PRIu32, at,
	       (double)(event->time_us - began_us) / 1000, names[event->kind], event->handle);
	switch ((enum trace_kind)event->kind) {
	case TRACE_WRITE:
		printf(" %" PRIu64 " bytes at %" PRIu64 "%s", event->value, event->offset,
		       event->is_zero ? ", zeros" : "");
		break;
	case TRACE_TRUNCATE:
		printf(" to %" PRIu64, event->value);
		break;
	case TRACE_SYNC_END:
		printf(" of %" PRIu64 "%s", event->offset, event->value != 0 ? ", failed" : "");
		break;
	default:
		print_text(event);
	}
	putchar('\n');
}
