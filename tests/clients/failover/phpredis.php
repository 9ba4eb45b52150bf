<?php

/* phpredis: puts jobs, for failover.py. RedisSentinel tells where the leader is, and the program
 * connects again. */

declare(strict_types=1);

/* Returns a connection to the leader. Throws RedisException if there is none. */
function connect_to_leader(): Redis
{
    foreach (explode(',', getenv('QLESSD_NODES')) as $node) {
        [$host, $port] = explode(':', $node);
        try {
            $sentinel = new RedisSentinel($host, (int) $port, 2, null, 0, 2);
            $address = $sentinel->getMasterAddrByName('qlessd');
            if ($address) {
                $redis = new Redis();
                $redis->connect($address[0], (int) $address[1], 2, null, 0, 2);
                return $redis;
            }
        } catch (RedisException) {
        }
    }
    throw new RedisException('no node knows a leader');
}

function put(Redis $redis, string $jid): void
{
    $redis->clearLastError();
    $redis->rawCommand('PUT', 'w', 'q', $jid, 'klass', '{}', '0');
    if ($redis->getLastError() !== null) {
        if (!preg_match('/^(READONLY|MASTERDOWN|LOADING) /', $redis->getLastError())) {
            throw new Exception($redis->getLastError());
        }
        throw new RedisException($redis->getLastError());
    }
}

$redis = null;
for ($number = 0;; $number++) {
    while (true) {
        try {
            $redis ??= connect_to_leader();
            put($redis, "j$number");
            break;
        } catch (RedisException $error) {
            echo 'error ', $error->getMessage(), "\n";
            $redis = null;
            usleep(10_000);
        }
    }
    echo "ok j$number\n";
    usleep(2_000);
}
