# frozen_string_literal: true

# redis-rb, as the Ruby client of qless uses it, and what else it can do. It has no use for RESP3.

require 'digest/sha1'
require 'json'
require 'redis'
require 'timeout'

PORT = Integer(ENV.fetch('QLESSD_PORT'))
SCRIPT = File.read(File.join(__dir__, 'qless.lua'))
NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.'
PATIENCE = 60 # seconds, for each reply
LONGEST = 120 # seconds, for each check

def connect(**options)
  Redis.new(url: "redis://127.0.0.1:#{PORT}", timeout: PATIENCE, **options)
end

# What a script said went wrong, without what Redis says around it.
LuaScriptError = Class.new(StandardError)

# What the server said. The library adds where it was, since version 5.
def text_of(error)
  error.message.sub(%r{ \(redis://[\d.:/]+\)\z}, '')
end

# The client of qless, but for its job and queue objects.
class Qless
  attr_reader :sha

  def initialize(redis)
    @redis = redis
    @sha = Digest::SHA1.hexdigest(SCRIPT)
  end

  def call(command, *arguments)
    with_script { @redis.evalsha(@sha, keys: [], argv: [command, Time.now.to_f, *arguments]) }
  rescue Redis::CommandError => e
    match = text_of(e).match(/user_script:\d+:\s*(\w+.+$)/)
    raise match ? LuaScriptError.new(match[1]) : e
  end

  def put(jid, *options)
    call('put', 'w', 'q', jid, 'klass', JSON.generate('jid' => jid), 0, *options)
  end

  def pop(worker = 'w', count = 1)
    JSON.parse(call('pop', 'q', worker, count)).to_a
  end

  def state(jid)
    JSON.parse(call('get', jid))['state']
  end

  private

  def with_script
    yield
  rescue Redis::CommandError => e
    raise unless text_of(e) == NO_SCRIPT

    @sha = @redis.script(:load, SCRIPT)
    yield
  end
end

# Holds when `value === actual`: ranges, classes and patterns will do.
def expect(value, actual)
  raise "#{actual.inspect} instead of #{value.inspect}" unless value === actual
end

def expect_error(kind, text)
  value = yield
  raise "#{value.inspect} instead of an error"
rescue kind => e
  raise unless e.message.start_with?(text)
end

# End the server, which is then started again, and wait for the new one.
def restart
  redis = connect(reconnect_attempts: 0)
  before = redis.info('server')
  Process.kill(:TERM, Integer(before['process_id']))
  begin
    sleep 0.01
    again = redis.info('server')['run_id'] != before['run_id']
  rescue Redis::BaseConnectionError
    again = false
  end until again
  redis.close
end

# Subscribe in a thread, as workers do, and let the block cause what is to be heard. Returns as many
# messages, as arrays of what the library tells.
def listen(count, channels: [], patterns: [])
  heard = Queue.new
  listener = connect
  thread = Thread.new do
    note = lambda do |on|
      on.subscribe { heard << :ready }
      on.psubscribe { heard << :ready }
      on.message { |*message| heard << message }
      on.pmessage { |*message| heard << message }
    end
    channels.empty? ? listener.psubscribe(*patterns, &note) : listener.subscribe(*channels, &note)
  end
  thread.report_on_exception = false
  (channels + patterns).each { expect :ready, heard.pop }
  yield
  Array.new(count) { heard.pop }
ensure
  thread.kill.join(PATIENCE)
  listener.close
end

CHECKS = [
  ['the version in INFO is recent enough for qless', lambda do |redis|
    version = Gem::Version.new(redis.info['redis_version'])
    expect Gem::Version.new('2.5.5').., version
  end],

  ['a URL selects a database', lambda do |_redis|
    [6, 11].each do |database|
      other = Redis.new(url: "redis://127.0.0.1:#{PORT}/#{database}")
      Qless.new(other).put('j')
      expect 'OK', other.flushdb
      expect [], other.keys('*')
      other.close
    end
  end],

  ['a connection says who it is', lambda do |redis|
    redis.call('CLIENT', 'SETNAME', 'worker-1')
    expect 'worker-1', redis.call('CLIENT', 'GETNAME')
    expect true, redis.client(:list).any? { |client| client['name'] == 'worker-1' }
  end],

  ['a user needs the right password', lambda do |redis|
    redis.call('ACL', 'SETUSER', 'worker', 'on', '>secret', '+@all')
    other = connect(username: 'worker', password: 'secret')
    expect 'worker', other.call('ACL', 'WHOAMI')
    expect_error(Redis::BaseError, 'WRONGPASS') do
      connect(username: 'worker', password: 'x').ping
    end
    redis.call('ACL', 'DELUSER', 'worker')
  end],

  ['a script is loaded when the whole text of an error says it is unknown', lambda do |redis|
    qless = Qless.new(redis)
    expect_error(Redis::CommandError, NO_SCRIPT) { redis.evalsha(qless.sha) }
    expect 0, qless.call('length', 'q')
    expect true, redis.script(:exists, qless.sha)
    expect 'OK', redis.script(:flush)
    expect [false], redis.script(:exists, [qless.sha])
    expect 0, qless.call('length', 'q')
  end],

  ['a job is popped, kept and completed', lambda do |redis|
    qless = Qless.new(redis)
    expect 'j', qless.put('j', 'priority', 5, 'tags', '["a"]')
    job, *more = qless.pop
    expect [], more
    expect %w[j running w], job.values_at('jid', 'state', 'worker')
    expect({ 'jid' => 'j' }, JSON.parse(job['data']))
    expect Time.now.to_i.., qless.call('heartbeat', 'j', 'w', job['data'])
    expect 'complete', qless.call('complete', 'j', 'w', 'q', job['data'])
    expect 'complete', qless.state('j')
    expect [], qless.pop
  end],

  ['a job is failed and tried again', lambda do |redis|
    qless = Qless.new(redis)
    qless.put('failing')
    qless.put('retrying')
    qless.pop('w', 2)
    expect 'failing', qless.call('fail', 'failing', 'w', 'group', 'message', '{}')
    expect 'failed', qless.state('failing')
    expect({ 'group' => 1 }, JSON.parse(qless.call('failed')))
    expect 4, qless.call('retry', 'retrying', 'q', 'w', 0)
    expect(['retrying'], qless.pop.map { |job| job['jid'] })
  end],

  ['the text of an error is cut out of its envelope', lambda do |redis|
    qless = Qless.new(redis)
    expect_error(LuaScriptError, 'Heartbeat(): Job none does not exist') do
      qless.call('heartbeat', 'none', 'w', '{}')
    end
    expect_error(LuaScriptError, 'Unknown command nope') { qless.call('nope') }
  end],

  ['a worker hears that it has lost a lock', lambda do |redis|
    qless = Qless.new(redis)
    qless.put('j')
    qless.pop('w1')
    ((channel, text)) = listen(1, channels: ['ql:w:w1']) { qless.call('timeout', 'j') }
    expect 'ql:w:w1', channel
    expect({ 'jid' => 'j', 'event' => 'lock_lost', 'worker' => 'w1' }, JSON.parse(text))
    expect(['w2'], qless.pop('w2').map { |job| job['worker'] })
    expect_error(LuaScriptError, 'Complete(): Job') do
      qless.call('complete', 'j', 'w1', 'q', '{}')
    end
  end],

  ['channels and patterns are heard', lambda do |redis|
    heard = listen(2, channels: %w[ql:log other]) do
      expect 1, redis.publish('other', 'one')
      expect 1, redis.publish('ql:log', 'two')
    end
    expect [%w[other one], %w[ql:log two]], heard
    heard = listen(1, patterns: ['ql:*']) { redis.publish('ql:log', 'text') }
    expect [%w[ql:* ql:log text]], heard
  end],

  ['channels are left', lambda do |redis|
    heard = []
    listener = connect
    listener.subscribe('ql:log') do |on|
      on.subscribe { redis.publish('ql:log', 'text') }
      on.message { |_, text| heard << text && listener.unsubscribe }
      on.unsubscribe { |_, left| heard << left }
    end
    expect ['text', 0], heard
    expect 'PONG', listener.ping
    listener.close
  end],

  ['a transaction counts the jobs of a queue', lambda do |redis|
    qless = Qless.new(redis)
    %w[a b c].each { |jid| qless.put(jid) }
    qless.pop
    counts = redis.multi do |transaction|
      %w[locks work scheduled].each { |kind| transaction.zcard("ql:q:q-#{kind}") }
    end
    expect [1, 2, 0], counts
  end],

  ['a transaction is void if what it watches has changed', lambda do |redis|
    outcome = redis.watch('ql:q:q-work') do
      Qless.new(connect).put('j')
      redis.multi { |transaction| transaction.zcard('ql:q:q-work') }
    end
    expect nil, outcome
    expect 1, redis.zcard('ql:q:q-work')
  end],

  ['a thousand calls go out in one pipeline', lambda do |redis|
    sha = redis.script(:load, SCRIPT)
    jids = Array.new(1000) { |i| "j#{i}" }
    replies = redis.pipelined do |pipeline|
      jids.each_with_index do |jid, i|
        pipeline.evalsha(sha, argv: ['put', i, 'w', 'q', jid, 'klass', '{}', 0])
      end
    end
    expect jids, replies
    expect 1000, redis.zcard('ql:q:q-work')
  end],

  ['what is known of a job can be read as a hash', lambda do |redis|
    Qless.new(redis).put('j')
    expect true, redis.keys('ql:*').include?('ql:j:j')
    expect %w[ql:j:j ql:j:j-history], redis.scan_each(match: 'ql:j:*').sort
    expect %w[q waiting], redis.hgetall('ql:j:j').values_at('queue', 'state')
    expect 'klass', redis.hget('ql:j:j', 'klass')
    expect Float, redis.zscore('ql:q:q-work', 'j')
    expect ['j'], redis.zrange('ql:q:q-work', 0, -1)
    expect 'OK', redis.flushdb
    expect [], redis.keys('*')
  end],

  ['any bytes of a job come back as they were', lambda do |redis|
    qless = Qless.new(redis)
    data = JSON.generate('text' => "Grüße, \0 日本語 🎉", 'more' => 'x' * 200_000)
    qless.call('put', 'w', 'q', 'schlüssel', 'klass', data, 0)
    expect [['schlüssel', data]], (qless.pop.map { |job| job.values_at('jid', 'data') })
  end],

  ['a worker waits for a job', lambda do |redis|
    qless = Qless.new(redis)
    worker = connect(reconnect_attempts: 0)
    id = worker.call('CLIENT', 'ID')
    wait = lambda do
      thread = Thread.new { worker.call('BPOP', '0', 'w', '1', 'q') }
      thread.report_on_exception = false
      sleep 0.01 until redis.info('clients')['blocked_clients'] == '1'
      thread
    end
    expect nil, worker.call('BPOP', '0.01', 'w', '1', 'q')
    thread = wait.call
    qless.put('j')
    expect(['j'], JSON.parse(thread.value).map { |job| job['jid'] })
    thread = wait.call
    expect 1, redis.call('CLIENT', 'UNBLOCK', id)
    expect nil, thread.value
    thread = wait.call
    expect 1, redis.call('CLIENT', 'UNBLOCK', id, 'ERROR')
    expect_error(Redis::CommandError, 'UNBLOCKED ') { thread.value }
    thread = wait.call
    restart
    expect_error(Redis::BaseConnectionError, '') { thread.value }
    worker.close
  end],

  ['a client goes on after a restart of the server', lambda do |redis|
    qless = Qless.new(redis)
    expect 'j', qless.put('j')
    restart
    expect true, redis.script(:exists, qless.sha)
    expect(['j'], qless.pop.map { |job| job['jid'] })
  end]
]

$stdout.sync = true
puts "1..#{CHECKS.size}"
results = CHECKS.map.with_index(1) do |(name, check), number|
  begin
    redis = connect
    redis.flushall
    redis.script(:flush)
    Timeout.timeout(LONGEST) { check.call(redis) }
    passed = true
  rescue StandardError => e # whatever it is, the next case may do better
    warn e.full_message(highlight: false)
    passed = false
  end
  redis.close
  puts "#{passed ? 'ok' : 'not ok'} #{number} - #{name}"
  passed
end
exit results.all?
