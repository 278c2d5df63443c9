local id, input, title = ARGV[2], ARGV[3], ARGV[4]
local known = redis.call('HGET', INPUTS, 'n' .. id)
if known then return {known, redis.call('HGET', INPUTS, 'f' .. known), 1} end
local is_new = redis.call('EXISTS', TOPIC) == 0
local now = touch()
if is_new then redis.call('HSET', TOPIC, 'created', now) end
if title ~= '' and (redis.call('HGET', TOPIC, 'title') or '') == '' then redis.call('HSET', TOPIC, 'title', title) end
local seq = redis.call('HINCRBY', TOPIC, 'inputs', 1)
redis.call('HSET', INPUTS, 'n' .. id, seq, 'i' .. seq, input, 'f' .. seq, QUEUED, '@' .. seq, now)
redis.call('ZADD', QUEUE, seq, seq)
redis.call('SADD', WAITING, name)
return {seq, QUEUED, 0}
