-- Whether somebody may still write a log. KEYS: the log, its snapshot, the lease, epochs of the group. ARGV: topic.
-- 0: the log is gone; 1: yes, as far as can be told; 2: no.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local snapshot = redis.call('HMGET', KEYS[2], 'epoch', 'leased')
if not snapshot[1] then return 1 end
if tonumber(redis.call('HGET', KEYS[4], ARGV[1]) or '0') > tonumber(snapshot[1]) then return 2 end
-- A writer whose leases are kept elsewhere has none here.
if snapshot[2] == '1' and redis.call('EXISTS', KEYS[3]) == 0 then return 2 end
return 1
