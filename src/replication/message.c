#include "replication/message.h"

const char *core_message_name(enum core_message_kind kind)
{
	switch (kind) {
	case CORE_VOTE:
		return "vote";
	case CORE_VOTE_RESULT:
		return "vote result";
	case CORE_ENTRIES:
		return "entries";
	case CORE_ENTRIES_RESULT:
		return "entries result";
	case CORE_BASE_OFFER:
		return "offer of a snapshot";
	case CORE_TIMEOUT_NOW:
		return "timeout now";
	}
	return "unknown";
}
