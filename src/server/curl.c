#include "server/curl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "util/buf.h"

/* The oldest version that has all options: 7.85, which first named protocols by a text. */
#define OLDEST_VERSION 0x075500
/* The oldest version whose HTTP/2 is known to work with an event loop: 8.14. In 7.88, a request may
 * miss the end of its answer, and then takes until its timeout. */
#define OLDEST_HTTP2_VERSION 0x080e00

static const struct {
	const char *name;
	size_t offset; /* in struct curl_api */
} functions[] = {
#define FUNCTION(name)                                         \
	{                                                      \
		"curl_" #name, offsetof(struct curl_api, name) \
	}
	FUNCTION(global_init),	       FUNCTION(global_cleanup),   FUNCTION(version_info),
	FUNCTION(easy_init),	       FUNCTION(easy_cleanup),	   FUNCTION(easy_setopt),
	FUNCTION(easy_getinfo),	       FUNCTION(easy_strerror),	   FUNCTION(slist_append),
	FUNCTION(slist_free_all),      FUNCTION(multi_init),	   FUNCTION(multi_cleanup),
	FUNCTION(multi_setopt),	       FUNCTION(multi_add_handle), FUNCTION(multi_remove_handle),
	FUNCTION(multi_socket_action), FUNCTION(multi_assign),	   FUNCTION(multi_info_read),
#undef FUNCTION
};

static int find_functions(struct curl_api *api, struct buf *ret_error)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *function = dlsym(api->library, functions[i].name);

		if (function == NULL) {
			buf_printf(ret_error, "libcurl has no function %s", functions[i].name);
			return -1;
		}
		memcpy((char *)api + functions[i].offset, &function, sizeof function);
	}
	return 0;
}

int curl_load(struct curl_api *ret_api, struct buf *ret_error)
{
	curl_version_info_data *version;

	*ret_api = (struct curl_api){ .library = NULL };
	ret_api->library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (ret_api->library == NULL) {
		buf_printf(ret_error, "libcurl cannot be loaded (%s); on Debian it is in libcurl4",
			   dlerror());
		return -1;
	}
	if (find_functions(ret_api, ret_error) < 0)
		goto fail;
	version = ret_api->version_info(CURLVERSION_NOW);
	if (version->version_num < OLDEST_VERSION) {
		buf_printf(ret_error, "libcurl %s is too old; 7.85 is the oldest that works",
			   version->version);
		goto fail;
	}
	ret_api->has_http2 = version->version_num >= OLDEST_HTTP2_VERSION;
	if (ret_api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		return 0;
	buf_append_str(ret_error, STR("libcurl cannot be initialised"));

fail:
	dlclose(ret_api->library);
	ret_api->library = NULL;
	return -1;
}

void curl_unload(struct curl_api *api)
{
	if (api->library == NULL)
		return;
	api->global_cleanup();
	dlclose(api->library);
	api->library = NULL;
}
