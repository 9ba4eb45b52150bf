/*
 * Functions that the commands about endpoints share.
 */
#ifndef COMMAND_NATIVE_ENDPOINT_H
#define COMMAND_NATIVE_ENDPOINT_H

#include <stdbool.h>

#include "command/acl.h"
#include "command/endpoints.h"
#include "command/request.h"

/* The name of an endpoint follows this in the name of the worker that takes its jobs. */
#define PUSH_WORKER_PREFIX "push:"

/* The endpoint that the first argument names, or NULL. */
const struct endpoint *endpoint_of_request(const struct request *req);

/* Returns whether the user of the request may use all queues of an endpoint in these ways. If not,
 * *ret_queue is one that it may not. */
bool endpoint_is_permitted(const struct request *req, const struct endpoint *endpoint,
			   unsigned access, struct qless_str *ret_queue);

int native_endpoint_set(struct request *req);
int native_endpoint_delete(struct request *req);
int native_endpoint_pause(struct request *req);
int native_endpoint_unpause(struct request *req);
int native_endpoint_test(struct request *req);

/* native_endpoint_list.c */
int native_endpoint_get(struct request *req);
int native_endpoint_list(struct request *req);

#endif
