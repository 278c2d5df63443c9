-- Ends a log in the place of its writer. KEYS: epochs of the group, the log, its snapshot. ARGV: topic, epoch, id, what it
-- holds, how long the log is kept. -1: another owner.
local seen = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
local epoch = tonumber(ARGV[2])
if epoch < seen then return -1 end
if epoch > seen then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
if not last or last[2][1] == 't' or last[2][3] == 't' then return 0 end
redis.call('XADD', KEYS[2], ARGV[3], 't', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 1
