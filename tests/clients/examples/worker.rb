# frozen_string_literal: true

# A worker for qlessd with redis-rb. It waits for jobs, connects again when the server has restarted,
# and on SIGTERM ends after the current job. The server keeps its locks while it is connected.

require 'json'
require 'redis'
require 'socket'

NAME = "#{Socket.gethostname}-#{Process.pid}"
QUEUES = %w[urgent greetings].freeze
WAIT = 2 # seconds; a worker that waits also needs this time to stop
LATER = /\A(LOADING|MISCONF|OOM) /.freeze # errors that pass
BadJob = Class.new(StandardError)

def connect
  port = Integer(ENV.fetch('QLESSD_PORT', '7537'))
  redis = Redis.new(host: "127.0.0.1", port: port, timeout: WAIT + 10, reconnect_attempts: 0)
  redis.tap { redis.call('WORKER.ATTACH', NAME) }
end

# Send a command. Returns false if the reply is lost, or the server cannot do this now.
def ask(*words)
  (@qlessd ||= connect).call(*words)
rescue Redis::BaseConnectionError, Redis::CommandError => e
  raise if e.is_a?(Redis::CommandError) && !e.message.match?(LATER)

  @qlessd = nil
  sleep rand(0.1..1)
  false
end

def ask_until_done(*words)
  nil until ask(*words)
end

# The number of the hand-out, `lock`, tells this one from an earlier or later one.
def work(job)
  data = JSON.parse(job['data'])
  raise BadJob, 'there is no name' unless data['name']

  sleep data.fetch('seconds', 0)
  puts "hello #{data['name']}"
  ask_until_done('COMPLETE', job['jid'], NAME, job['queue'], job['data'], 'lock', job['lock'])
rescue BadJob => e
  ask_until_done('FAIL', job['jid'], NAME, 'bad-data', e.message, 'lock', job['lock'])
rescue Redis::CommandError => e
  puts "#{job['jid']}: #{e.message}" # the lock is lost: another worker has the job by now
end

$stdout.sync = true
stopping = false
trap('TERM') { stopping = true }
until stopping
  # A lost reply may have had a job, which the server would keep for this worker. Release it.
  next unless ask('WORKER.RELEASE', NAME)

  jobs = ask('BPOP', WAIT, NAME, QUEUES.size, *QUEUES)
  JSON.parse(jobs || '[]').each { |job| work(job) }
end
