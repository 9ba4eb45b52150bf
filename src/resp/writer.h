/*
 * RESP2 and RESP3, the protocols of Redis, as operations of a reply.
 *
 * RESP2 has no word for most things and gets what Redis sends there instead:
 *
 *				RESP2			RESP3
 *	null			$-1			_
 *	null array		*-1			_
 *	map of n pairs		*2n			%n
 *	set of n		*n			~n
 *	push of n		*n			>n
 *	boolean			:1 or :0		#t or #f
 *	double			bulk string		,
 *	big number		bulk string		(
 *	verbatim string		bulk string		=
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef RESP_WRITER_H
#define RESP_WRITER_H

#include "resp/reply.h"

#define RESP_PROTO_MIN 2
#define RESP_PROTO_MAX 3

/* A reply in a version of RESP, which may change between two replies (HELLO). */
void resp_writer_init(struct reply *r, struct chain *out, int proto);
void resp_writer_set_proto(struct reply *r, int proto);

#endif
