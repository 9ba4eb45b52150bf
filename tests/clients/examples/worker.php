<?php
/* A worker for qlessd with phpredis. It waits for jobs, connects again when the server has restarted,
 * and on SIGTERM ends after the current job. The server keeps its locks while it is connected. */
declare(strict_types=1);

const QUEUES = ['urgent', 'greetings'];
const WAIT = 2; // seconds; a worker that waits also needs this time to stop
const PERMANENT = '/^(?!LOADING|MISCONF|OOM)[A-Z]{2,} /'; // errors of the server that stay
define('NAME', gethostname() . '-' . getmypid());

function connect(Redis $redis): Redis
{
    $redis->connect('127.0.0.1', (int) (getenv('QLESSD_PORT') ?: 7537), 0, null, 0, WAIT + 10);
    $redis->rawCommand('WORKER.ATTACH', NAME);
    return $redis;
}

/* Send a command. Returns false if the reply is lost, or the server cannot do this now. */
function ask(string ...$words): mixed
{
    static $qlessd = null;
    try {
        $qlessd ??= connect(new Redis());
        $reply = $qlessd->rawCommand(...$words);
        return $reply !== false ? $reply : throw new RuntimeException($qlessd->getLastError());
    } catch (RedisException $e) {
        $qlessd = null;
        preg_match(PERMANENT, $e->getMessage()) && throw new RuntimeException($e->getMessage());
        usleep(random_int(100000, 1000000));
        return false;
    }
}

/* The number of the hand-out, `lock`, tells this one from an earlier or later one. */
function work(array $job): void
{
    $data = json_decode($job['data'], true);
    $report = ['COMPLETE', $job['jid'], NAME, $job['queue'], $job['data'], 'lock', "{$job['lock']}"];
    if (isset($data['name'])) {
        usleep((int) (1000000 * ($data['seconds'] ?? 0)));
        echo "hello {$data['name']}\n";
    } else {
        array_splice($report, 0, 5, ['FAIL', $job['jid'], NAME, 'bad-data', 'there is no name']);
    }
    try {
        while (ask(...$report) === false);
    } catch (RuntimeException $e) { // the lock is lost: another worker has the job by now
        echo "{$job['jid']}: {$e->getMessage()}\n";
    }
}

$stopping = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$stopping) { $stopping = true; });
while (!$stopping) {
    /* A lost reply may have had a job, which the server would keep for this worker. Release it. */
    if (ask('WORKER.RELEASE', NAME) === false) continue;
    $jobs = ask('BPOP', (string) WAIT, NAME, (string) count(QUEUES), ...QUEUES);
    array_map('work', json_decode($jobs ?: '[]', true));
}
