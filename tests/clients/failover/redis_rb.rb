# redis-rb: puts jobs through its Sentinel support, for failover.py.

require 'redis'

NODES = ENV.fetch('QLESSD_NODES').split(',').map do |node|
  host, port = node.split(':')
  { host: host, port: Integer(port) }
end

redis = Redis.new(url: 'redis://qlessd', sentinels: NODES, role: :master, timeout: 2)
$stdout.sync = true

0.step do |number|
  begin
    redis.call('PUT', 'w', 'q', "j#{number}", 'klass', '{}', '0')
  rescue Redis::BaseConnectionError, Redis::CommandError => e
    raise if e.is_a?(Redis::CommandError) && e.message !~ /\A(READONLY|MASTERDOWN|LOADING) /

    puts "error #{e.class} #{e.message.lines.first}"
    sleep 0.01
    retry
  end
  puts "ok j#{number}"
  sleep 0.002
end
