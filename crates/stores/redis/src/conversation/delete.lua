if fenced(ARGV[2]) then return -1 end
local was = redis.call('EXISTS', TOPIC)
redis.call('UNLINK', TOPIC, ROWS, INPUTS, QUEUE, PENDING)
redis.call('ZREM', TOPICS, name)
redis.call('SREM', OPEN, name)
redis.call('SREM', WAITING, name)
return was
