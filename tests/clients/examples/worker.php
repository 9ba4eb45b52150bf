<?php

/* A worker for qlessd with phpredis. It first puts two jobs to work on. */

declare(strict_types=1);

const LOST = '/^(NOTRUNNING|NOTOWNER|WRONGQUEUE|NOJOB) /';

$name = 'worker-' . getmypid();
$qlessd = new Redis();
$qlessd->connect('127.0.0.1', (int) (getenv('QLESSD_PORT') ?: 7537));

/* phpredis does not throw the errors of the server: ask for them. */
function call(string ...$words): mixed
{
    global $qlessd;
    $qlessd->clearLastError();
    $reply = $qlessd->rawCommand(...$words);
    if ($qlessd->getLastError() !== null) {
        throw new RuntimeException($qlessd->getLastError());
    }
    return $reply;
}

function work(array $job, string $name): void
{
    $data = json_decode($job['data'], true);
    call('HEARTBEAT', $job['jid'], $name); // between the steps of a long job
    if (!isset($data['name'])) {
        throw new DomainException('there is no name');
    }
    echo "hello {$data['name']}\n";
}

call('PUT', $name, 'greetings', 'j1', 'Greet', json_encode(['name' => 'ann']), '0');
call('PUT', $name, 'greetings', 'j2', 'Greet', '{}', '0');

// A real worker would wait if there is no job.
while ($jobs = json_decode(call('POP', 'greetings', $name, '1'), true)) {
    foreach ($jobs as $job) {
        try {
            try {
                work($job, $name);
                echo call('COMPLETE', $job['jid'], $name, 'greetings', $job['data']), "\n";
            } catch (DomainException $e) {
                call('FAIL', $job['jid'], $name, 'bad-data', $e->getMessage());
                echo "failed {$job['jid']}\n";
            }
        } catch (RuntimeException $e) {
            if (!preg_match(LOST, $e->getMessage())) {
                throw $e;
            }
            echo "lost {$job['jid']}\n"; // another worker has it by now
        }
    }
}
