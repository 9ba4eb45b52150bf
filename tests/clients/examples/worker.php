<?php

/* A worker for qlessd with phpredis. It waits for jobs, connects again when the server has restarted,
 * and on SIGTERM ends after the current job. A greeting takes a tenth of a second for each step. */

declare(strict_types=1);

const QUEUES = ['urgent', 'greetings'];
const WAIT = 2; // seconds; a worker that waits also needs this time to stop
const PERMANENT = '/^(?!LOADING|MISCONF|OOM)[A-Z]{2,} /'; // errors of the server that stay
define('NAME', gethostname() . '-' . getmypid());

function connect(Redis $redis): Redis
{
    $redis->connect('127.0.0.1', (int) (getenv('QLESSD_PORT') ?: 7537), 0, null, 0, WAIT + 10);
    return $redis;
}

/* Send a command until the server has replied. All commands of a worker may be repeated. */
function call(string ...$words): mixed
{
    static $qlessd = null;
    for (;; usleep(random_int(100000, 1000000))) {
        try {
            $qlessd ??= connect(new Redis());
            $reply = $qlessd->rawCommand(...$words);
            return $reply !== false ? $reply : throw new RuntimeException($qlessd->getLastError());
        } catch (RedisException $e) {
            $qlessd = null;
            preg_match(PERMANENT, $e->getMessage()) && throw new RuntimeException($e->getMessage());
        }
    }
}

function greet(array $job): void
{
    $data = json_decode($job['data'], true);
    $name = $data['name'] ?? throw new DomainException('there is no name');
    for ($step = 0; $step < ($data['steps'] ?? 0); $step++) {
        usleep(100000);
        call('HEARTBEAT', $job['jid'], NAME, 'lock', "{$job['lock']}"); // keep the lock of a long job
    }
    echo "hello $name\n";
}

/* The number of the hand-out tells this one from an earlier or later one. */
function work(array $job): void
{
    [$jid, $lock] = [$job['jid'], (string) $job['lock']];
    try {
        greet($job);
        call('COMPLETE', $jid, NAME, $job['queue'], $job['data'], 'lock', $lock);
    } catch (DomainException $e) {
        call('FAIL', $jid, NAME, 'bad-data', $e->getMessage(), 'lock', $lock);
    } catch (RuntimeException $e) {
        echo "$jid: {$e->getMessage()}\n"; // the lock is lost: another worker has the job
    }
}

$stopping = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$stopping) { $stopping = true; });
while (!$stopping) {
    $jobs = call('BPOP', (string) WAIT, NAME, (string) count(QUEUES), ...QUEUES);
    array_map('work', json_decode($jobs ?: '[]', true));
}
