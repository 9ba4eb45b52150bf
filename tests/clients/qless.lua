-- What the tests load where a client would load its copy of qless: an outline with the marks of the
-- classic API. qlessd looks at a script and runs its own commands instead, so that nothing here has
-- to work.

local Qless = { ns = 'ql:' }
local QlessAPI = {}

QlessAPI.put = function(now, me, queue, jid, klass, data, delay, ...) end
QlessAPI.get = function(now, jid) end
QlessAPI.pop = function(now, queue, worker, count) end
QlessAPI.peek = function(now, queue, count) end
QlessAPI.heartbeat = function(now, jid, worker, data) end
QlessAPI.complete = function(now, jid, worker, queue, data, ...) end
QlessAPI.fail = function(now, jid, worker, group, message, data) end
QlessAPI.retry = function(now, jid, queue, worker, delay, ...) end
QlessAPI.cancel = function(now, ...) end

local command_name = assert(table.remove(ARGV, 1), 'Must provide a command')
local command = assert(QlessAPI[command_name], 'Unknown command ' .. command_name)
local now = tonumber(table.remove(ARGV, 1))

return command(now, unpack(ARGV))
