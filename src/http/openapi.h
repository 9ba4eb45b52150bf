/*
 * The description of the API, /v1/openapi.json, made from the rows of the routes.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_OPENAPI_H
#define HTTP_OPENAPI_H

#include "util/buf.h"
#include "util/str.h"

/* Appends a document of OpenAPI 3.0. `version` is that of the server. */
void openapi_append(struct buf *b, struct qless_str version);

#endif
