# frozen_string_literal: true

# A worker for qlessd with redis-rb. It waits for jobs, connects again when the server has restarted,
# and on SIGTERM ends after the current job. A greeting takes a tenth of a second for each step.

require 'json'
require 'redis'
require 'socket'

NAME = "#{Socket.gethostname}-#{Process.pid}"
QUEUES = %w[urgent greetings].freeze
WAIT = 2 # seconds; a worker that waits also needs this time to stop
LATER = /\A(LOADING|MISCONF|OOM) /.freeze # errors that pass
BadJob = Class.new(StandardError)

def connection
  port = Integer(ENV.fetch('QLESSD_PORT', '7537'))
  @connection ||= Redis.new(port: port, timeout: WAIT + 10, reconnect_attempts: 0)
end

# Send a command until the server has replied. All commands of a worker may be repeated.
def call(*words)
  connection.call(*words)
rescue Redis::BaseConnectionError, Redis::CommandError => e
  raise if e.is_a?(Redis::CommandError) && !e.message.match?(LATER)

  sleep rand(0.1..1)
  retry
end

def greet(job)
  data = JSON.parse(job['data'])
  raise BadJob, 'there is no name' unless data['name']

  data.fetch('steps', 0).times do
    sleep 0.1
    call('HEARTBEAT', job['jid'], NAME, 'lock', job['lock']) # keep the lock of a long job
  end
  puts "hello #{data['name']}"
end

# The number of the hand-out tells this one from an earlier or later one.
def work(job)
  greet(job)
  call('COMPLETE', job['jid'], NAME, job['queue'], job['data'], 'lock', job['lock'])
rescue BadJob => e
  call('FAIL', job['jid'], NAME, 'bad-data', e.message, 'lock', job['lock'])
rescue Redis::CommandError => e
  puts "#{job['jid']}: #{e.message}" # the lock is lost: another worker has the job by now
end

$stdout.sync = true
stopping = false
trap('TERM') { stopping = true }
until stopping
  jobs = call('BPOP', WAIT, NAME, QUEUES.size, *QUEUES) || '[]'
  JSON.parse(jobs).each { |job| work(job) }
end
