-- KEYS: epochs of the group, the log, its snapshot, the lease. ARGV: topic, epoch, id of the first entry, name of the
-- writer, row, chunks of the seed, how long it is kept. -1: another owner; 0: it is there.
local seen = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
local epoch = tonumber(ARGV[2])
if epoch < seen then return -1 end
if epoch > seen then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then
    return redis.call('HGET', KEYS[3], 'writer') == ARGV[4] and 1 or 0
end
redis.call('XADD', KEYS[2], ARGV[3], 'o', '')
redis.call('HSET', KEYS[3], 'writer', ARGV[4], 'row', ARGV[5], 'through', 0, 'chunks', ARGV[6], 'epoch', ARGV[2],
    'leased', redis.call('EXISTS', KEYS[4]))
redis.call('PEXPIRE', KEYS[2], ARGV[7])
redis.call('PEXPIRE', KEYS[3], ARGV[7])
return 1
