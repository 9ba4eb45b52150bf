<?php

/* phpredis, as the PHP client of qless uses it, and what else it can do. */

declare(strict_types=1);

const SCRIPT_PATH = __DIR__ . '/qless.lua';
const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';

/* Warnings of the library are failures, too. */
set_error_handler(function (int $level, string $text): never {
    throw new ErrorException($text, 0, $level);
});

function connect(): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) getenv('QLESSD_PORT'), 10, null, 0, 10);
    return $redis;
}

/* What a script said went wrong, without what Redis says around it. */
class QlessException extends Exception
{
}

/* The client of qless, but for its job and queue objects. */
class Qless
{
    public readonly string $sha;

    public function __construct(private readonly Redis $redis)
    {
        $this->sha = sha1_file(SCRIPT_PATH);
    }

    public function call(string $command, mixed ...$arguments): mixed
    {
        $words = [$command, microtime(true), ...$arguments];
        $this->redis->clearLastError();
        $result = $this->redis->evalSha($this->sha, $words);
        if ($this->redis->getLastError() === NO_SCRIPT) {
            $this->redis->clearLastError();
            $this->redis->script('load', file_get_contents(SCRIPT_PATH));
            $result = $this->redis->evalSha($this->sha, $words);
        }
        $error = $this->redis->getLastError();
        if ($error !== null) {
            $matches = [$error, $error];
            preg_match('/user_script:\d+:\s*(\w+.+$)/', $error, $matches);
            throw new QlessException($matches[1] ?? $error);
        }
        return $result;
    }

    public function put(string $jid, mixed ...$options): mixed
    {
        $data = json_encode(['jid' => $jid]);
        return $this->call('put', 'w', 'q', $jid, 'klass', $data, 0, ...$options);
    }

    public function pop(string $worker = 'w', int $count = 1): array
    {
        return json_decode($this->call('pop', 'q', $worker, $count), true);
    }

    public function state(string $jid): string
    {
        return json_decode($this->call('get', $jid), true)['state'];
    }
}

function expect(mixed $expected, mixed $actual): void
{
    if ($expected !== $actual) {
        throw new Exception(json_encode($actual) . ' instead of ' . json_encode($expected));
    }
}

function expect_error(string $text, callable $function): void
{
    try {
        $value = $function();
    } catch (QlessException | RedisException $error) {
        expect($text, substr($error->getMessage(), 0, strlen($text)));
        return;
    }
    throw new Exception(json_encode($value) . ' instead of an error');
}

/* End the server, which is then started again, and wait for the new one. */
function restart(): void
{
    $before = connect()->info('server');
    posix_kill((int) $before['process_id'], SIGTERM);
    do {
        usleep(10000);
        try {
            $again = connect()->info('server')['run_id'] !== $before['run_id'];
        } catch (RedisException) {
            $again = false;
        }
    } while (!$again);
}

/* Start a child process that acts as soon as a condition holds. Both get a connection. */
function act_when(callable $condition, callable $act): int
{
    $child = pcntl_fork();
    if ($child !== 0) {
        return $child;
    }
    try {
        $redis = connect();
        while (!$condition($redis)) {
            usleep(10000);
        }
        $act($redis);
    } catch (Throwable $error) {
        fwrite(STDERR, "$error\n");
    }
    posix_kill(getmypid(), SIGKILL); // it has the connections of the parent, and must not end them
}

/* The reply to a BPOP without a timeout, if a child process acts while it waits. */
function wait_while(Redis $redis, callable $act): mixed
{
    $one_waits = fn (Redis $other) => (int) $other->info('clients')['blocked_clients'] === 1;
    $child = act_when($one_waits, $act);
    try {
        return $redis->rawCommand('BPOP', '0', 'w', '1', 'q');
    } finally {
        pcntl_waitpid($child, $status);
    }
}

/*
 * What is heard first by (p)subscribe()ing to a channel, once $cause has run. A subscriber of
 * phpredis blocks, and only the end of its connection makes it return.
 */
function listen(string $subscribe, string $channel, callable $cause): array
{
    $heard = [];
    $is_heard = fn (Redis $redis) =>
        $redis->pubsub('numpat') + count($redis->pubsub('channels')) !== 0;
    $child = act_when($is_heard, $cause);
    try {
        connect()->$subscribe([$channel], function (Redis $listener, ...$message) use (&$heard) {
            $heard = $message;
            $listener->close();
        });
    } catch (RedisException $error) {
        if ($heard === []) {
            throw $error;
        }
    }
    pcntl_waitpid($child, $status);
    return $heard;
}

$checks = [
    'the version in INFO is recent enough for qless' => function (Redis $redis): void {
        expect(true, version_compare($redis->info()['redis_version'], '2.5.5', '>='));
    },

    'a database is selected' => function (Redis $redis): void {
        foreach ([6, 11] as $database) {
            expect(true, $redis->select($database));
            expect('j', (new Qless($redis))->put('j'));
            expect(true, $redis->flushDb());
            expect([], $redis->keys('*'));
        }
    },

    'a connection says who it is' => function (Redis $redis): void {
        expect(true, $redis->client('setname', 'worker-1'));
        expect('worker-1', $redis->client('getname'));
        expect(true, in_array('worker-1', array_column($redis->client('list'), 'name'), true));
    },

    'a user needs the right password' => function (Redis $redis): void {
        $redis->acl('SETUSER', 'worker', 'on', '>secret', '+@all');
        $other = connect();
        expect_error('WRONGPASS', fn () => $other->auth(['worker', 'x']) ?:
            throw new RedisException($other->getLastError()));
        expect(true, $other->auth(['worker', 'secret']));
        expect('worker', $other->acl('WHOAMI'));
        $redis->acl('DELUSER', 'worker');
    },

    'a script is loaded when the whole text of an error says it is unknown' =>
    function (Redis $redis): void {
        $qless = new Qless($redis);
        expect(false, $redis->evalSha($qless->sha));
        expect(NO_SCRIPT, $redis->getLastError());
        expect(0, $qless->call('length', 'q'));
        expect([1], $redis->script('exists', $qless->sha));
        expect(true, $redis->script('flush'));
        expect([0], $redis->script('exists', $qless->sha));
        expect(0, $qless->call('length', 'q'));
    },

    'a job is popped, kept and completed' => function (Redis $redis): void {
        $qless = new Qless($redis);
        expect('j', $qless->put('j', 'priority', 5, 'tags', '["a"]'));
        [$job] = $qless->pop();
        expect(['j', 'running', 'w'], [$job['jid'], $job['state'], $job['worker']]);
        expect(['jid' => 'j'], json_decode($job['data'], true));
        expect(true, $qless->call('heartbeat', 'j', 'w', $job['data']) > time());
        expect('complete', $qless->call('complete', 'j', 'w', 'q', $job['data']));
        expect('complete', $qless->state('j'));
        expect([], $qless->pop());
    },

    'a job is failed and tried again' => function (Redis $redis): void {
        $qless = new Qless($redis);
        $qless->put('failing');
        $qless->put('retrying');
        $qless->pop('w', 2);
        expect('failing', $qless->call('fail', 'failing', 'w', 'group', 'message', '{}'));
        expect('failed', $qless->state('failing'));
        expect(['group' => 1], json_decode($qless->call('failed'), true));
        expect(4, $qless->call('retry', 'retrying', 'q', 'w', 0));
        expect(['retrying'], array_column($qless->pop(), 'jid'));
    },

    'the text of an error is cut out of its envelope' => function (Redis $redis): void {
        $qless = new Qless($redis);
        expect_error('Heartbeat(): Job none does not exist',
            fn () => $qless->call('heartbeat', 'none', 'w', '{}'));
        expect_error('Unknown command nope', fn () => $qless->call('nope'));
    },

    'a worker hears that it has lost a lock' => function (Redis $redis): void {
        $qless = new Qless($redis);
        $qless->put('j');
        $qless->pop('w1');
        [$channel, $text] = listen('subscribe', 'ql:w:w1',
            fn (Redis $other) => (new Qless($other))->call('timeout', 'j'));
        expect('ql:w:w1', $channel);
        expect(['jid' => 'j', 'event' => 'lock_lost', 'worker' => 'w1'], json_decode($text, true));
        expect(['w2'], array_column($qless->pop('w2'), 'worker'));
        expect_error('Complete(): Job', fn () => $qless->call('complete', 'j', 'w1', 'q', '{}'));
    },

    'channels and patterns are heard' => function (Redis $redis): void {
        $cause = fn (Redis $other) => $other->publish('ql:log', 'text');
        expect(['ql:log', 'text'], listen('subscribe', 'ql:log', $cause));
        expect(['ql:*', 'ql:log', 'text'], listen('psubscribe', 'ql:*', $cause));
    },

    'a transaction counts the jobs of a queue' => function (Redis $redis): void {
        $qless = new Qless($redis);
        foreach (['a', 'b', 'c'] as $jid) {
            $qless->put($jid);
        }
        $qless->pop();
        expect([1, 2, 0], $redis->multi()->zCard('ql:q:q-locks')->zCard('ql:q:q-work')
            ->zCard('ql:q:q-scheduled')->exec());
    },

    'a transaction is void if what it watches has changed' => function (Redis $redis): void {
        $redis->watch('ql:q:q-work');
        (new Qless(connect()))->put('j');
        expect(false, $redis->multi()->zCard('ql:q:q-work')->exec());
        expect(1, $redis->zCard('ql:q:q-work'));
    },

    'a thousand calls go out in one pipeline' => function (Redis $redis): void {
        $sha = $redis->script('load', file_get_contents(SCRIPT_PATH));
        $jids = [];
        $redis->pipeline();
        for ($i = 0; $i < 1000; $i++) {
            $jids[] = "j$i";
            $redis->evalSha($sha, ['put', $i, 'w', 'q', "j$i", 'klass', '{}', 0]);
        }
        expect($jids, $redis->exec());
        expect(1000, $redis->zCard('ql:q:q-work'));
    },

    'what is known of a job can be read as a hash' => function (Redis $redis): void {
        (new Qless($redis))->put('j');
        expect(true, in_array('ql:j:j', $redis->keys('ql:*'), true));
        $cursor = null;
        $redis->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
        expect(true, in_array('ql:j:j', $redis->scan($cursor, 'ql:j:*'), true));
        $fields = $redis->hGetAll('ql:j:j');
        expect(['q', 'waiting'], [$fields['queue'], $fields['state']]);
        expect('klass', $redis->hGet('ql:j:j', 'klass'));
        expect(['j'], $redis->zRange('ql:q:q-work', 0, -1));
        expect(true, $redis->flushDb());
        expect([], $redis->keys('*'));
    },

    'any bytes of a job come back as they were' => function (Redis $redis): void {
        $qless = new Qless($redis);
        $data = json_encode(['text' => "Grüße, \0 日本語 🎉", 'more' => str_repeat('x', 200000)],
            JSON_UNESCAPED_UNICODE);
        $qless->call('put', 'w', 'q', 'schlüssel', 'klass', $data, 0);
        [$job] = $qless->pop();
        expect(['schlüssel', $data], [$job['jid'], $job['data']]);
    },

    'a worker waits for a job' => function (Redis $redis): void {
        $jid = fn (string $reply) => json_decode($reply, true)[0]['jid'];
        expect([], $redis->rawCommand('BPOP', '0.01', 'w', '1', 'q'));
        $reply = wait_while($redis, fn (Redis $other) => (new Qless($other))->put('j'));
        expect('j', $jid($reply));
    },

    'a worker that waits is unblocked' => function (Redis $redis): void {
        $id = $redis->rawCommand('CLIENT', 'ID');
        foreach ([[], ['TIMEOUT']] as $how) {
            $unblock = fn (Redis $other) => expect(1,
                $other->rawCommand('CLIENT', 'UNBLOCK', "$id", ...$how));
            expect([], wait_while($redis, $unblock));
        }
        $unblock = fn (Redis $other) => $other->rawCommand('CLIENT', 'UNBLOCK', "$id", 'ERROR');
        expect_error('UNBLOCKED ', fn () => wait_while($redis, $unblock));
    },

    'a worker that waits learns of a restart of the server' => function (Redis $redis): void {
        $qless = new Qless($redis);
        expect_error('', fn () => wait_while($redis, fn () => restart()));
        $qless->put('j');
        expect('j', json_decode($redis->rawCommand('BPOP', '0', 'w', '1', 'q'), true)[0]['jid']);
    },

    'a client goes on after a restart of the server' => function (Redis $redis): void {
        $qless = new Qless($redis);
        expect('j', $qless->put('j'));
        restart();
        expect([1], $redis->script('exists', $qless->sha));
        expect(['j'], array_column($qless->pop(), 'jid'));
    },
];

echo '1..', count($checks), "\n";
$number = 0;
$failed = 0;
foreach ($checks as $name => $check) {
    $outcome = 'ok';
    try {
        $redis = connect();
        $redis->flushAll();
        $redis->script('flush');
        $check($redis);
        $redis->close();
    } catch (Throwable $error) { // whatever it is, the next case may do better
        $outcome = 'not ok';
        $failed++;
        fwrite(STDERR, "$error\n");
    }
    $number++;
    echo "$outcome $number - $name\n";
}
exit($failed === 0 ? 0 : 1);
