/*
 * Commands on lists: the history of a job, and the failed jobs of a group.
 */
#include "command/handlers.h"
#include "command/key.h"

void cmd_llen(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_LIST, KEY_MISSING_ZERO, &key))
		reply_integer(req->reply, (int64_t)keyspace_list_length(&key));
}

void cmd_lindex(struct request *req)
{
	struct keyspace_key key;
	size_t first, count;
	int64_t index;

	if (!key_open(req, KEYSPACE_LIST, KEY_MISSING_NULL, &key) ||
	    !key_parse_integer(req, req->args[1], &index))
		return;
	/* A range may begin before the list, an index may not. */
	if (index < -(int64_t)keyspace_list_length(&key) ||
	    !key_index_range(keyspace_list_length(&key), index, index, &first, &count))
		reply_null(req->reply);
	else
		keyspace_each_element(&key, first, count, key_write_value, req->reply);
}

void cmd_lrange(struct request *req)
{
	struct keyspace_key key;
	int64_t start, stop;
	size_t first, count;

	if (!key_parse_integer(req, req->args[1], &start) ||
	    !key_parse_integer(req, req->args[2], &stop) ||
	    !key_open(req, KEYSPACE_LIST, KEY_MISSING_ARRAY, &key))
		return;
	if (!key_index_range(keyspace_list_length(&key), start, stop, &first, &count)) {
		reply_array(req->reply, 0);
		return;
	}
	reply_array(req->reply, count);
	keyspace_each_element(&key, first, count, key_write_value, req->reply);
}
