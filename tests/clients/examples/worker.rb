# frozen_string_literal: true

# A worker for qlessd with redis-rb. It first puts two jobs to work on.

require 'json'
require 'redis'

NAME = "worker-#{Process.pid}"
LOST = /\A(NOTRUNNING|NOTOWNER|WRONGQUEUE|NOJOB) /.freeze
QLESSD = Redis.new(port: Integer(ENV.fetch('QLESSD_PORT', '7537')))

def work(job)
  data = JSON.parse(job['data'])
  QLESSD.call('HEARTBEAT', job['jid'], NAME) # between the steps of a long job
  puts "hello #{data.fetch('name')}"
end

def report(job)
  work(job)
  puts QLESSD.call('COMPLETE', job['jid'], NAME, 'greetings', job['data'])
rescue KeyError
  QLESSD.call('FAIL', job['jid'], NAME, 'bad-data', 'there is no name')
  puts "failed #{job['jid']}"
end

QLESSD.call('PUT', NAME, 'greetings', 'j1', 'Greet', JSON.generate(name: 'ann'), 0)
QLESSD.call('PUT', NAME, 'greetings', 'j2', 'Greet', '{}', 0)

# A real worker would wait if there is no job.
until (jobs = JSON.parse(QLESSD.call('POP', 'greetings', NAME, 1))).empty?
  jobs.each do |job|
    report(job)
  rescue Redis::CommandError => e
    raise unless e.message.match?(LOST)

    puts "lost #{job['jid']}" # another worker has it by now
  end
end
