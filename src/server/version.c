#include "server/version.h"

#include <event2/event.h>
#include <openssl/crypto.h>

#include "build_config.h"
#include "command/json.h"
#include "journal/record.h"
#include "sys/memory.h"
#include "util/buf.h"
#include "util/hash.h"

void version_describe(struct buf *out)
{
	buf_printf(out, "qlessd %s\n", QLESSD_VERSION);
	buf_printf(out, "log format %d, reads %d to %d\n", RECORD_FORMAT_VERSION,
		   RECORD_FORMAT_OLDEST, RECORD_FORMAT_NEWEST);
	buf_printf(out, "built with %s, %s\n", QLESSD_COMPILER, QLESSD_BUILD);
	buf_printf(out, "libevent %s, %s, %s, %s, %s\n", event_get_version(),
		   OpenSSL_version(OPENSSL_VERSION), memory_allocator(), json_library(),
		   hash_library());
}
