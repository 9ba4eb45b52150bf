/*
 * Texts of replies that become JSON.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_JSON_TEXT_H
#define HTTP_JSON_TEXT_H

#include "util/buf.h"
#include "util/chain.h"
#include "util/str.h"

/* Appends a JSON text. Bytes in its strings that are not UTF-8 become \u00xx. */
void json_text_write(struct chain *out, struct qless_str text);

/* Append the text of INFO as an object of sections with lower-case names. Each is an object of
 * fields. A field with members, such as `db0:keys=1,expires=0`, is an object, too. A decimal number
 * is a number, and other values are strings. */
void json_text_append_info(struct buf *b, struct qless_str text);

/* Append the lines of CLIENT LIST as an array of objects. */
void json_text_append_clients(struct buf *b, struct qless_str text);

#endif
