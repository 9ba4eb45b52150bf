#include "command/foreign.h"

#include <stdbool.h>
#include <stddef.h>

static const struct family {
	const char *advice;
	const char *names; /* separated by blanks */
} families[] = {
	{ "use PUT to add a job", "lpush rpush lpushx rpushx linsert xadd addjob sadd" },
	{ "use PUT with a delay to schedule a job", "zadd zincrby geoadd" },
	{ "use PUT to add a job with data",
	  "set setex setnx psetex mset msetnx getset getex append setrange setbit bitfield incr "
	  "incrby incrbyfloat decr decrby hset hsetnx hmset hincrby hincrbyfloat pfadd" },
	{ "use POP to get a job, and BPOP to wait for one",
	  "lpop rpop lmpop rpoplpush lmove spop zpopmin zpopmax zmpop getjob reserve" },
	{ "use BPOP to wait for a job",
	  "blpop brpop blmpop brpoplpush blmove bzpopmin bzpopmax bzmpop xread xreadgroup" },
	{ "use COMPLETE or FAIL to end a job", "xack ackjob fastack nack" },
	{ "use RETRY, or let the lock of the job expire", "xclaim xautoclaim enqueue" },
	{ "use CANCEL to delete a job",
	  "del unlink getdel xdel xtrim ltrim lrem hdel srem zrem zremrangebyrank "
	  "zremrangebyscore zremrangebylex deljob" },
	{ "use QUEUES, JOBS and GET to look at jobs",
	  "mget strlen getrange substr getbit bitcount xlen xrange xrevrange xinfo xpending xgroup "
	  "sort sort_ro qlen qpeek qstat" },
	{ "use TAG to find jobs by their tags",
	  "sinter sintercard sinterstore sunion sunionstore sdiff sdiffstore smove" },
	{ "use SUBSCRIBE and PUBLISH", "ssubscribe sunsubscribe spublish" },
	{ "it runs no scripts but those of qless", "fcall fcall_ro function" },
	{ "it runs alone, without replicas and clusters",
	  "cluster replicaof slaveof psync sync replconf failover sentinel readonly readwrite "
	  "asking "
	  "migrate" },
	{ "move data with qlessd-import and qlessd-export", "dump restore copy move" },
};

static bool has_name(const char *names, struct qless_str name)
{
	while (*names != '\0') {
		size_t len = strcspn(names, " ");

		if (str_equal_nocase(str_make(names, len), name))
			return true;
		names += len;
		names += *names == ' ';
	}
	return false;
}

const char *foreign_advice(struct qless_str name)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		if (has_name(families[i].names, name))
			return families[i].advice;
	}
	return NULL;
}
