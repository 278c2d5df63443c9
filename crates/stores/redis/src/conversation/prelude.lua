-- Keys of every script of conversations.
local EPOCHS, TOPICS, OPEN, WAITING = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TOPIC, ROWS, INPUTS, QUEUE, PENDING = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
-- TOPIC: hash of title, created, updated, inputs (how many), rows (how many).
-- ROWS: hash; before the id of a row: h head, s status, t turn, a attempt, r whether it has a run, c content,
--       @ created at, w written at, p place.
-- INPUTS: hash; n before the id of an input: its number; before its number: i input, f fate, @ accepted at.
-- QUEUE: numbers of the inputs that wait, in order. PENDING: ids of open rows, by their places.
local name = ARGV[1]
local QUEUED = '{"type":"queued"}'

local function fenced(epoch)
    local seen = tonumber(redis.call('HGET', EPOCHS, name) or '0')
    if tonumber(epoch) < seen then return true end
    if tonumber(epoch) > seen then redis.call('HSET', EPOCHS, name, epoch) end
    return false
end

local function touch()
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local before = tonumber(redis.call('HGET', TOPIC, 'updated') or '0')
    if now < before then now = before end
    now = string.format('%.0f', now)
    redis.call('HSET', TOPIC, 'updated', now)
    redis.call('ZADD', TOPICS, now, name)
    return now
end

-- Gives an input a fate, if it still waits.
local function settle_input(id, fate)
    local seq = redis.call('HGET', INPUTS, 'n' .. id)
    if not seq or redis.call('ZREM', QUEUE, seq) == 0 then return false end
    redis.call('HSET', INPUTS, 'f' .. seq, fate)
    if redis.call('EXISTS', QUEUE) == 0 then redis.call('SREM', WAITING, name) end
    return true
end

local function stored_input(seq)
    local fields = redis.call('HMGET', INPUTS, 'i' .. seq, 'f' .. seq, '@' .. seq)
    return {seq, fields[1], fields[2], fields[3]}
end

local function is_open(id, status)
    if status == '"open"' then
        redis.call('ZADD', PENDING, redis.call('HGET', ROWS, 'p' .. id), id)
        redis.call('SADD', OPEN, name)
    elseif redis.call('ZREM', PENDING, id) == 1 and redis.call('EXISTS', PENDING) == 0 then
        redis.call('SREM', OPEN, name)
    end
end
