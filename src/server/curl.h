/*
 * libcurl, loaded when the first endpoint is there.
 *
 * It brings some thirty other libraries along, which would take memory and time at each start. So
 * the program is not linked to it: a server without endpoints never loads it.
 */
#ifndef SERVER_CURL_H
#define SERVER_CURL_H

#include <curl/curl.h>
#include <stdbool.h>

struct buf;

/* The functions that are used, by their names without `curl_`. */
struct curl_api {
	void *library;
	bool has_http2; /* it is known to work */
	CURLcode (*global_init)(long flags);
	void (*global_cleanup)(void);
	curl_version_info_data *(*version_info)(CURLversion age);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *easy);
	CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
	CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_socket_action)(CURLM *multi, curl_socket_t fd, int events, int *running);
	CURLMcode (*multi_assign)(CURLM *multi, curl_socket_t fd, void *arg);
	CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
};

/* Loads the library. Returns -1, with a sentence in `ret_error`, if it is not there or too old. */
int curl_load(struct curl_api *ret_api, struct buf *ret_error);
/* The library stays in memory: its own libraries cannot be unloaded. */
void curl_unload(struct curl_api *api);

#endif
