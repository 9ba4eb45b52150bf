// The headers in a program in C++.
#include <qless.h>
#include <qless_store.h>

#include <cstdio>

int main(int argc, char **argv)
{
	qless_store_options options = {};
	qless_store_error error;
	qless_store *store;

	options.size = sizeof options;
	options.sync = QLESS_STORE_SYNC_ALWAYS;
	if (argc != 2 || qless_store_open(argv[1], &options, &store, &error) != 0)
		return 1;
	qless_str ping[] = {qless_text("ECHO"), qless_text("hello from C++")};
	qless_reply *reply;
	if (qless_store_call(store, ping, 2, nullptr, &reply, &error) != 0)
		return 1;
	std::printf("%s\n", qless_reply_text(reply).ptr);
	qless_reply_free(reply);
	return qless_store_close(store, &error) == 0 ? 0 : 1;
}
