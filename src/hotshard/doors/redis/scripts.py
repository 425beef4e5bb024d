"""The Lua scripts by which the detector writes. Every key they touch is in KEYS, and all are in one slot."""

from __future__ import annotations

from typing import Final

#: What both scripts need: whole numbers as the registry writes them (anything else counts as absent), and time.
_COMMON: Final = """
local function whole(text)
  if text and #text <= 15 and string.match(text, '^%d+$') then return tonumber(text) end
  return -1
end
local function now_ms()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local function kind(key) return redis.call('TYPE', key).ok end
"""

#: KEYS: meta, routes, hot, log, orders.
#: ARGV: schema, topic, epoch, version, log length, largest log entry, number of routes, orders, mode, then field and
#: value of every route, then of every hot entry.
#: Answers 1, or 0 when an equal or higher state stands.
PUBLISH: Final = (
    _COMMON
    + """
local meta, routes, hot, log, orders = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local topic, epoch, version = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local first, last_route = 10, 9 + 2 * tonumber(ARGV[7])

local function own(key, wanted)
  local found = kind(key)
  if found ~= 'none' and found ~= wanted then redis.call('DEL', key) end
end
own(meta, 'hash')

local held_epoch = whole(redis.call('HGET', meta, 'epoch:' .. topic))
local held_version = whole(redis.call('HGET', meta, 'version:' .. topic))
if held_epoch > epoch or (held_epoch == epoch and held_version >= version) then return 0 end
own(routes, 'hash') own(hot, 'hash') own(log, 'stream') own(orders, 'hash')

local function many(command, key, parts)
  for from = 1, #parts, 1000 do
    redis.call(command, key, unpack(parts, from, math.min(from + 999, #parts)))
  end
end

local function replace(key, from, to, entry)
  local old, flat, set, gone = {}, redis.call('HGETALL', key), {}, {}
  for i = 1, #flat, 2 do old[flat[i]] = flat[i + 1] end
  for i = from, to, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if old[field] ~= value then
      set[#set + 1] = field
      set[#set + 1] = value
      entry[#entry + 1] = 'set:' .. field
      entry[#entry + 1] = value
    end
    old[field] = nil
  end
  for field in pairs(old) do
    gone[#gone + 1] = field
    entry[#entry + 1] = 'del:' .. field
    entry[#entry + 1] = ''
  end
  many('HSET', key, set)
  many('HDEL', key, gone)
end

local changes, heat = {}, {}
replace(routes, first, last_route, changes)
replace(hot, last_route + 1, #ARGV, heat)

if redis.call('HGET', orders, 'orders') ~= ARGV[8] or redis.call('HGET', orders, 'mode') ~= ARGV[9] then
  redis.call('HSET', orders, 'orders', ARGV[8], 'mode', ARGV[9])
end
local now = now_ms()
redis.call('HSET', meta, 'schema', ARGV[1], 'epoch:' .. topic, ARGV[3], 'version:' .. topic, ARGV[4],
  'time:' .. topic, now, 'routes:' .. topic, redis.call('HLEN', routes), 'hot:' .. topic, redis.call('HLEN', hot))

local previous = '-1'
if held_epoch == epoch and held_version >= 0 then previous = string.format('%.0f', held_version) end
local entry = {'XADD', log, 'MAXLEN', '~', ARGV[5], '*', 'topic', topic, 'epoch', ARGV[3], 'version', ARGV[4],
  'previous', previous, 'at', now}
if #heat > 0 then entry[#entry + 1] = 'hot' entry[#entry + 1] = '1' end
local size = 0
for i = 1, #changes do size = size + #changes[i] end
if size > tonumber(ARGV[6]) or #changes > 1000 then
  entry[#entry + 1] = 'reread' entry[#entry + 1] = '1'
else
  for i = 1, #changes do entry[#entry + 1] = changes[i] end
end
local added = redis.pcall(unpack(entry))
if type(added) == 'table' and added.err then
  redis.call('DEL', log)
  redis.call(unpack(entry))
end
return 1
"""
)

#: KEYS: meta, then routes and hot of every topic. ARGV: schema, then topic, epoch and version of every topic.
#: Answers for each topic 1, or 0 when Redis does not hold just this state. Where it says that it does but the topic's
#: hashes were lost or damaged, the mark is taken away, so that the same state can be published again. The time of all
#: that are held is one write.
BEAT: Final = (
    _COMMON
    + """
local meta, answers, times = KEYS[1], {}, {}
local is_hash, now = kind(meta) == 'hash', now_ms()
local function whole_hash(key, field)
  local found = kind(key)
  if found ~= 'hash' and found ~= 'none' then return false end
  return redis.call('HLEN', key) == whole(redis.call('HGET', meta, field))
end
local function beat(topic, epoch, version, routes, hot)
  if not is_hash then return 0 end
  if redis.call('HGET', meta, 'epoch:' .. topic) ~= epoch
    or redis.call('HGET', meta, 'version:' .. topic) ~= version then return 0 end
  if not (whole_hash(routes, 'routes:' .. topic) and whole_hash(hot, 'hot:' .. topic)) then
    redis.call('HDEL', meta, 'epoch:' .. topic, 'version:' .. topic)
    return 0
  end
  times[#times + 1] = 'time:' .. topic
  times[#times + 1] = now
  return 1
end
for i = 1, (#KEYS - 1) / 2 do
  answers[i] = beat(ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1], KEYS[2 * i], KEYS[2 * i + 1])
end
if #times > 0 then redis.call('HSET', meta, 'schema', ARGV[1], unpack(times)) end
return answers
"""
)

#: KEYS: commands. ARGV: the entry to read after, how many at most, the most bytes a command may have.
#: Answers the id of the stream's last entry, then id and command of each entry read; one that is too large is empty.
COMMANDS: Final = (
    _COMMON
    + """
local commands = KEYS[1]
local found = kind(commands)
if found ~= 'none' and found ~= 'stream' then redis.call('DEL', commands) end
if found ~= 'stream' then return {'0-0'} end
local last = redis.call('XREVRANGE', commands, '+', '-', 'COUNT', 1)
if #last == 0 then return {'0-0'} end
local answer = {last[1][1]}
if ARGV[1] == last[1][1] then return answer end
local entries = redis.pcall('XRANGE', commands, '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
if entries.err then return answer end
for _, entry in ipairs(entries) do
  local value = ''
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'command' and #entry[2][i + 1] <= tonumber(ARGV[3]) then value = entry[2][i + 1] end
  end
  answer[#answer + 1] = entry[1]
  answer[#answer + 1] = value
end
return answer
"""
)
